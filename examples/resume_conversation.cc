// A conversation is gone on with, from its handle and without a new prompt, by another process.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

namespace {

// Kept by whoever gives out handles; here it is made up.
HandleKey secret_key() { return {1, 2, 3}; }

WorkflowOutcome run(const std::filesystem::path& data, const std::string& answer, const std::string& prompt,
                    const std::string& handle) {
  auto store = open_sqlite_store(real_env(), data).value();
  auto engine = Engine::open({.store = std::shared_ptr<Store>(std::move(store))}).value();
  const Agent poet = AgentBuilder()
                         .with_id("poet")
                         .with_engine(engine)
                         .with_model(scripted_model({ModelStep().say(answer)}))
                         .build()
                         .value();
  const Workflow workflow = SequentialBuilder().add(poet).build().value();
  auto workflows = WorkflowEngine::open({.engine = engine, .handle_key = secret_key()}).value();
  return workflows->run(workflow, prompt, {.handle = handle}).result().value();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path data = argc > 1 ? argv[1] : "./conversations";
  const std::string handle =
      run(data, "The river carries the evening,", "A poem about the Douro.", {}).snapshot.handle;
  // Everything of the first run is gone but the handle and the store.
  const WorkflowOutcome outcome = run(data, "and the evening carries us.", {}, handle);
  for (const Message& message : View(outcome.snapshot.transcript)) {
    std::cout << (message.author().empty() ? name_of(message.role()) : message.author()) << ": "
              << message.text_content() << "\n";
  }
}
