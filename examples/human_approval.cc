// A person looks at what an agent wrote before it goes on. The program may end while somebody thinks: the
// question is in the store, and another process takes up the answer.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

namespace {

struct Desk {
  explicit Desk(const std::filesystem::path& data, std::vector<ModelStep> answers) {
    auto store = open_sqlite_store(real_env(), data).value();
    engine = Engine::open({.store = std::shared_ptr<Store>(std::move(store))}).value();
    workflows = WorkflowEngine::open({.engine = engine}).value();
    const Agent writer = AgentBuilder()
                             .with_id("writer")
                             .with_engine(engine)
                             .with_model(scripted_model(std::move(answers)))
                             .build()
                             .value();
    workflow = SequentialBuilder("letter").add(writer).request_info().build().value();
  }
  std::shared_ptr<Engine> engine;
  std::unique_ptr<WorkflowEngine> workflows;
  std::optional<Workflow> workflow;
};

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path data = argc > 1 ? argv[1] : "./conversations";
  WorkflowOutcome asked;
  {
    Desk first(data, {ModelStep().say("Dear Sir, no.")});
    asked = first.workflows->run(*first.workflow, "Answer the complaint.").result().value();
  }
  Desk second(data, {ModelStep().say("Dear Ms Silva, we are sorry.")});
  for (const char* answer : {"Be kinder.", ""}) {
    const StoredRun waiting = second.workflows->list(asked.key.tenant, asked.key.owner).value().at(0);
    const InfoRequest& request = waiting.requests.at(0);
    std::cout << "waiting: " << *request.data.as_object()->find("text")->as_string() << "\n";
    second.workflows->answer(waiting.key, waiting.run, request.id, answer).value();
    asked = second.workflows->resume(*second.workflow, waiting.key, waiting.run).result().value();
  }
  std::cout << name_of(asked.status) << ": " << asked.text() << "\n";
}
