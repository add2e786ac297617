#include "prompt_trail.h"

#include <gtest/gtest.h>

#include "tertulia/conversation/transcript.h"

namespace tertulia {
namespace prompt_trail_test {

class PromptTrailTest : public testing::Test {
 protected:
  void say(Role role, std::string_view text) {
    const MessageId id(Uuid(std::array<std::uint8_t, 16>{++ids_}));
    Turn turn =
        Turn::from_messages(TurnId(id.uuid()), {Message::text(id, role, text, Time{}).value()}).value();
    transcript_.append(turn, Revision{ids_});
  }

  // What a trail tells is what hashing and comparing everything tells.
  void follow_and_compare(const std::string& model, const View& view) {
    const PromptTrail::Followed followed = trail_.follow(model, view, tools_);
    EXPECT_EQ(followed.hash, hash_of_prompt(model, view, tools_));
    SentPrompt now{view, tools_.empty() ? std::string() : hash_of(text_of_tools(tools_))};
    EXPECT_EQ(followed.shared.has_value(), before_.has_value());
    if (before_) EXPECT_DOUBLE_EQ(*followed.shared, shared_prefix(*before_, now));
    before_ = std::move(now);
  }

  PromptTrail trail_;
  Transcript transcript_;
  std::vector<ToolDefinition> tools_;
  std::optional<SentPrompt> before_;
  std::uint8_t ids_ = 0;
};

TEST_F(PromptTrailTest, APromptThatGrowsIsHashedAsAWhole) {
  follow_and_compare("m", View());
  for (int i = 0; i < 5; ++i) {
    say(Role::kUser, "question " + std::to_string(i));
    follow_and_compare("m", View(transcript_));
    say(Role::kAssistant, "answer " + std::to_string(i));
    follow_and_compare("m", View(transcript_));
    follow_and_compare("m", View(transcript_));
  }
}

TEST_F(PromptTrailTest, APromptThatBeginsOtherwiseIsHashedAnew) {
  for (int i = 0; i < 4; ++i)
    say(i % 2 == 0 ? Role::kUser : Role::kAssistant, "message " + std::to_string(i));
  const View whole(transcript_);
  follow_and_compare("m", whole);
  follow_and_compare("m", whole.last_turns(2));
  follow_and_compare("m", whole);
  follow_and_compare("another", whole);
  tools_ = {{.name = "search", .description = "Finds."}};
  follow_and_compare("another", whole);
  follow_and_compare(
      "another",
      whole
          .with_leading(
              {Message::make({.role = Role::kSystem, .parts = {Part::text_of("Be brief.")}}).value()})
          .value());
}

}  // namespace prompt_trail_test
}  // namespace tertulia
