// A team inside of a team: two researchers work side by side, and the writer hears what came of it as one
// voice. The whole is drawn, too.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

int main() {
  auto engine = Engine::open({.store = std::shared_ptr<Store>(open_memory_store())}).value();
  const auto agent = [&](const std::string& id, const std::string& answer) {
    return AgentBuilder()
        .with_id(id)
        .with_engine(engine)
        .with_model(scripted_model({ModelStep().say(answer)}))
        .build()
        .value();
  };
  const Workflow research =
      ConcurrentBuilder("research")
          .add(agent("archives", "Founded in 1123."))
          .add(agent("statistics", "231,800 people live there."))
          .with_aggregator([](const std::vector<ConversationUpdate>& found, NodeContext&) -> Result<Json> {
            return Json(found[0].text + " " + found[1].text);
          })
          .build()
          .value();
  const Workflow team = SequentialBuilder("team")
                            .add(workflow_node("researchers", research))
                            .add(agent("writer", "An old town of a quarter of a million."))
                            .build()
                            .value();
  auto workflows = WorkflowEngine::open({.engine = engine}).value();
  const WorkflowOutcome outcome = workflows->run(team, "A line about Porto.").result().value();
  for (const Message& message : View(outcome.snapshot.transcript)) {
    std::cout << (message.author().empty() ? name_of(message.role()) : message.author()) << ": "
              << message.text_content() << "\n";
  }
  std::cout << to_mermaid(team);
}
