// Two agents, one after the other, in one conversation. What is kept of it is a handle.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

int main() {
  auto engine = Engine::open({.store = std::shared_ptr<Store>(open_memory_store())}).value();
  // sequential
  const Agent writer =
      AgentBuilder()
          .with_id("writer")
          .with_engine(engine)
          .with_model(scripted_model({ModelStep().say("Porto: wine, tiles and steep streets.")}))
          .build()
          .value();
  const Agent reviewer = AgentBuilder()
                             .with_id("reviewer")
                             .with_engine(engine)
                             .with_model(scripted_model({ModelStep().say("Good. Mention the river.")}))
                             .build()
                             .value();
  const Workflow workflow = SequentialBuilder().add(writer).add(reviewer).build().value();

  auto workflows = WorkflowEngine::open({.engine = engine}).value();
  const WorkflowOutcome outcome = workflows->run(workflow, "One sentence about Porto.").result().value();
  for (const Message& message : View(outcome.snapshot.transcript)) {
    std::cout << (message.author().empty() ? name_of(message.role()) : message.author()) << ": "
              << message.text_content() << "\n";
  }
  std::cout << "handle: " << outcome.snapshot.handle.substr(0, 4) << "…\n";
  // end
}
