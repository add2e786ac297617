// A person decides which tools run. Here the program itself is that person: it allows what is cheap.
#include <iostream>
#include <string>

#include <tertulia/model/scripted_model.h>
#include <tertulia/tertulia.h>

using namespace tertulia;

ToolPtr pay_tool() {
  return make_tool("pay", "Pays an amount.", {"amount", "to"}, [](int amount, const std::string& to) {
    std::cout << "  paid " << amount << " to " << to << "\n";
    return std::string("paid");
  });
}

// A question is durable: its answer may come from another process, days later.
// permissions
Answer decide(const Question& question) {
  const Json arguments = question.arguments.value();
  const Json* amount = arguments.as_object()->find("amount");
  const bool cheap = amount != nullptr && amount->as_int() != nullptr && *amount->as_int() <= 20;
  return {.choice = cheap ? Answer::Choice::kOnce : Answer::Choice::kDeny};
}

void answer_questions(Engine& engine, const SessionKey& key) {
  for (const Question& question : engine.questions(key.tenant, key.owner).value()) {
    const Answer answer = decide(question);
    std::cout << "  " << question.tool << " " << question.arguments.text() << "? " << name_of(answer.choice)
              << "\n";
    engine.answer(key, question.id(), answer).value();
  }
}
// end

int main(int argc, char** argv) {
  const auto model = scripted_model({
      ModelStep().call("pay", R"({"amount":20,"to":"Ada"})").call("pay", R"({"amount":900,"to":"Eve"})"),
      ModelStep().say("Ada has her 20. I may not pay 900."),
  });
  const Agent agent = AgentBuilder()
                          .with_model(model, "script")
                          .with_permissions({})  // what only reads runs; the rest is asked about
                          .with_tool(pay_tool())
                          .with_session_store(argc > 1 ? argv[1] : "./conversations")
                          .build()
                          .value();
  const SessionKey key = local_key(SessionId::parse("bills").value());
  Run run = agent.run("Pay the bills", "bills");
  for (const Event& event : run) {
    if (event.kind == EventKind::kPermissionAsked) answer_questions(*agent.engine(), key);
  }
  for (const Message& message : run.result().value().messages) {
    if (message.role() == Role::kTool) std::cout << "pay: " << message.part(0).text << "\n";
  }
  std::cout << run.result().value().text << "\n";
}
