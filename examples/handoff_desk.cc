// A desk: triage hands the customer over to whoever can help, who then talks with the customer.
#include <iostream>

#include <tertulia/workflows.h>

using namespace tertulia;

int main() {
  auto engine = Engine::open({.store = std::shared_ptr<Store>(open_memory_store())}).value();
  auto workflows = WorkflowEngine::open({.engine = engine}).value();
  const auto agent = [&](const std::string& id, std::vector<ModelStep> steps) {
    return AgentBuilder()
        .with_id(id)
        .with_engine(engine)
        .with_model(scripted_model(std::move(steps)))
        .build()
        .value();
  };
  const Workflow desk = HandoffBuilder("desk")
                            .add(agent("triage", {ModelStep().call("handoff_to_refunds", "{}"),
                                                  ModelStep().say("I hand you over to refunds.")}))
                            .add(agent("refunds", {ModelStep().say("Which order is it?"),
                                                   ModelStep().say("Order 7 is refunded.")}))
                            .add(agent("orders", {}))
                            .start_with("triage")
                            .build()
                            .value();
  WorkflowOutcome outcome = workflows->run(desk, "I want my money back.").result().value();
  for (const char* answer : {"Order 7.", ""}) {
    std::cout << outcome.requests.at(0).node << " asks: " << outcome.text() << "\n";
    workflows->answer(outcome.key, outcome.run, outcome.requests[0].id, answer).value();
    outcome = workflows->resume(desk, outcome.key, outcome.run).result().value();
  }
  std::cout << name_of(outcome.status) << "\n";
}
