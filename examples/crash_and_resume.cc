// A process is killed in the middle of a turn, while a tool runs. The next one goes on: the tool that must
// not run twice does not, and says so.
#include <csignal>
#include <fstream>
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include <tertulia/tertulia.h>

using namespace tertulia;

namespace {

// What really happened, outside of the conversation.
void write_down(const std::filesystem::path& ledger, const std::string& what) {
  std::ofstream(ledger, std::ios::app) << what << std::endl;
}

Agent agent_with(const std::filesystem::path& data, bool dies) {
  // crash
  ToolPtr pay = make_tool("pay", "Pays an amount.", {"amount"}, [data, dies](double amount) {
    write_down(data / "ledger", "paid " + std::to_string(static_cast<int>(amount)));
    if (dies) ::kill(::getpid(), SIGKILL);  // the money is gone, and nobody has heard of it
    return std::string("paid");
  });
  // end
  return AgentBuilder().with_tool(pay).with_session_store(data / "store").build().value();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path data = argc > 1 ? argv[1] : "./conversations";
  std::filesystem::create_directories(data);
  if (::fork() == 0) {
    agent_with(data, true).run("pay amount 30", "shop").result().value();
    return 0;  // not reached
  }
  int status = 0;
  ::wait(&status);
  std::cout << "the first process " << (WIFSIGNALED(status) ? "was killed" : "ended by itself") << "\n";

  const Agent agent = agent_with(data, false);
  // The interrupted turn is finished when its agent is there again; this waits for it.
  (void)agent.resume("shop").result();
  for (const ToolCallRecord& call :
       agent.engine()->unknown_outcomes(local_key({}).tenant, local_key({}).owner).value()) {
    std::cout << call.tool << ": outcome unknown, for a person to look at\n";
  }
  std::ifstream ledger(data / "ledger");
  for (std::string line; std::getline(ledger, line);) std::cout << line << "\n";
}
