// Three reviewers answer side by side; their words stand in the order in which they were declared, whoever is
// ready first.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

int main() {
  auto engine = Engine::open({.store = std::shared_ptr<Store>(open_memory_store())}).value();
  const auto reviewer = [&](const std::string& id, const std::string& answer) {
    return AgentBuilder()
        .with_id(id)
        .with_engine(engine)
        .with_model(scripted_model({ModelStep().say(answer)}))
        .build()
        .value();
  };
  const Workflow workflow =
      ConcurrentBuilder("review")
          .add(reviewer("legal", "Name the controller."))
          .add(reviewer("technical", "Say how long data is kept."))
          .add(reviewer("plain-language", "Shorter sentences."))
          .with_aggregator([](const std::vector<ConversationUpdate>& answers, NodeContext&) -> Result<Json> {
            std::string list;
            for (const ConversationUpdate& one : answers) list += "- " + one.text + " (" + one.from + ")\n";
            return Json(list);
          })
          .build()
          .value();
  auto workflows = WorkflowEngine::open({.engine = engine}).value();
  std::cout << workflows->run(workflow, "Review this privacy notice.").result().value().text();
}
