// A conversation as a value: grow it, fork it, cut it to a budget.
#include <iostream>

#include <tertulia/base/env.h>
#include <tertulia/conversation/view.h>
#include <tertulia/text/tokenizer.h>

using namespace tertulia;

int main() {
  UuidMaker ids(real_env().clock(), real_env().random());
  auto tokenizer = tokenizer_for_model("gpt-4o");

  auto turn = [&](std::string_view question, std::string_view answer) {
    TurnDraft draft{TurnId(ids.make())};
    for (auto [role, text] : {std::pair{Role::kUser, question}, {Role::kAssistant, answer}}) {
      Message message = Message::text(MessageId(ids.make()), role, text, real_env().clock().now()).value();
      draft.add(message.with_tokens(Tokens{tokenizer->count(text)}, Counted::kO200k)).value();
    }
    return Turn::seal(std::move(draft)).value();
  };

  Transcript main_branch;
  main_branch.append(turn("Add 10 and 20", "That makes 30."), Revision{1});
  main_branch.append(turn("Now multiply the result by 5", "150."), Revision{2});

  Transcript formal = main_branch.prefix(2);  // a fork: shares everything, copies nothing
  formal.append(turn("Say it formally, please", "The sum of ten and twenty is thirty."), Revision{3});

  for (const Message& message : View(formal)) {
    std::cout << name_of(message.role()) << ": " << message.text_content() << "\n";
  }
  std::cout << "main has " << main_branch.size() << " messages of " << number(main_branch.tokens())
            << " tokens; "
            << "under 10 tokens fit " << View(main_branch).within(Tokens{10}).size() << "\n";
}
