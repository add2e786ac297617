// Code of one's own in a turn: a middleware that counts the answers of a session, beside two that come with
// Tertulia.
#include <iostream>
#include <string>

#include <tertulia/model/scripted_model.h>
#include <tertulia/tertulia.h>

using namespace tertulia;

// middleware
struct Tally {
  int answers = 0;
};
TERTULIA_FIELDS(Tally, answers)

class Counter final : public Middleware {
 public:
  std::string_view name() const override { return "counter"; }

  // What the model reads, and nobody stores.
  Result<void> before_iteration(TurnContext& turn) override {
    TERTULIA_TRY_AS(const Tally tally, tally_.read(turn));
    turn.show("You have answered " + std::to_string(tally.answers) + " times in this session.");
    return {};
  }
  // Written with the turn, or not at all.
  Result<void> after_turn(TurnContext& turn, TurnStatus /*status*/) override {
    return tally_.change(turn, [](Tally& tally) { ++tally.answers; });
  }

 private:
  const MiddlewareStateOf<Tally> tally_{"counter", StateScope::kSession};
};
// end

// A model that tells what it was shown.
ModelStep tells(const std::string& answer) {
  return ModelStep()
      .expect([](const ModelRequest& request) -> Result<void> {
        for (const Message& message : request.view) {
          if (message.role() == Role::kContext) std::cout << "shown: " << message.text_content() << "\n";
        }
        return {};
      })
      .say(answer);
}

int main(int argc, char** argv) {
  const auto model = scripted_model(
      {tells("Good evening."), tells("Good night, [email] will be told."), tells("Never said.")});
  const Agent agent =
      AgentBuilder()
          .with_model(model, "script")
          .with_middleware(std::make_shared<Counter>())
          .with_middleware(redaction_middleware({.rules = common_redaction_rules(), .stored = true}).value())
          .with_middleware(limits_middleware({.session = {.requests = 2}}))
          .with_session_store(argc > 1 ? argv[1] : "./conversations")
          .build()
          .value();
  for (const char* message : {"Hello", "Tell ada@example.org that I sleep", "Are you there?"}) {
    const Result<TurnOutcome> turn = agent.run(message, "evening").result();
    if (!turn) {
      std::cout << turn.error().message() << "\n";
      continue;
    }
    std::cout << turn->messages.front().text_content() << " -> " << turn->text << "\n";
  }
}
