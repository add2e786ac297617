// One conversation, two ways to go on: editing is forking, and nothing is copied.
#include <iostream>

#include <tertulia/tertulia.h>

using namespace tertulia;

int main(int argc, char** argv) {
  const Agent agent =
      AgentBuilder().with_session_store(argc > 1 ? argv[1] : "./conversations").build().value();
  // branches
  agent.run("My name is Ada", "trip").result().value();
  agent.run("My name is Grace", "trip").result().value();

  const Branch main = agent.load_session_and_branch("trip", "main").value().branch;
  Branch experiment = agent.fork_branch(main, "experiment", 1).value();  // keeps messages 0 and 1

  for (const char* branch : {"main", "experiment"}) {
    const TurnOutcome outcome =
        agent.run("What is my name?", "trip", {.branch = BranchId::parse(branch).value()}).result().value();
    std::cout << branch << ": " << outcome.text << "\n";
  }
  // end
  // With two branches one must say which is meant.
  const Result<TurnOutcome> ambiguous = agent.run("Hello?", "trip").result();
  std::cout << name_of(ambiguous.error().code()) << "\n";
  // A branch that others were forked from is not deleted by accident, and `main` never is.
  std::cout << name_of(agent.delete_branch(main).error().code()) << "\n";
  agent.delete_branch(experiment).value();
  std::cout << agent.list_branches("trip").value().size() << " branch left\n";
}
