// What one participant is shown of a branch: a table of policies against messages.
#include "tertulia/conversation/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"
#include "tertulia/base/uuid.h"

namespace tertulia {
namespace projection_test {

using testing::ElementsAre;
using testing::IsEmpty;

class ProjectionTest : public testing::Test {
 protected:
  Message said(Role role, const std::string& author, const std::string& text) {
    const std::vector<Part> parts{Part::text_of(text)};
    return Message::make({.id = MessageId(ids_.make()),
                          .role = role,
                          .author = author,
                          .tokens = Tokens{10},
                          .parts = parts})
        .value();
  }
  std::vector<Message> group(const std::string& author, const std::string& call) {
    const std::vector<Part> calls{Part::tool_call(call, "look", "{}")};
    const std::string seen = "seen by " + author;
    const std::vector<Part> results{Part::tool_result(call, "look", seen, ToolOutcome::kOk)};
    return {Message::make({.id = MessageId(ids_.make()),
                           .role = Role::kAssistant,
                           .author = author,
                           .tokens = Tokens{10},
                           .parts = calls})
                .value(),
            Message::make({.id = MessageId(ids_.make()),
                           .role = Role::kTool,
                           .author = author,
                           .tokens = Tokens{10},
                           .parts = results})
                .value()};
  }
  void add(std::vector<Message> messages) {
    branch_.append(Turn::from_messages(TurnId(ids_.make()), std::move(messages)).value(),
                   Revision{++revision_});
  }
  std::vector<std::string> shown(const Projection& projection, std::uint64_t current = 0) {
    std::vector<std::string> lines;
    const Transcript seen = project(branch_, projection, Tokens{current}).value();
    seen.for_each(0, seen.size(), [&](std::size_t, const Message& message) {
      std::string line(name_of(message.role()));
      for (std::size_t i = 0; i < message.part_count(); ++i) line += " " + std::string(message.part(i).text);
      lines.push_back(std::move(line));
    });
    return lines;
  }

  UuidMaker ids_{real_env().clock(), real_env().random()};
  Transcript branch_;
  std::uint64_t revision_ = 0;
};

TEST_F(ProjectionTest, NeverShowsAnothersWordsOrToolsAsOnesOwn) {
  add({said(Role::kUser, "", "Go.")});
  std::vector<Message> turn = group("scout", "c1");
  turn.push_back(said(Role::kAssistant, "scout", "Found."));
  add(turn);
  add({said(Role::kAssistant, "writer", "Written.")});
  EXPECT_THAT(shown({.participant = "writer", .shared = branch_.size()}),
              ElementsAre("user Go.", "user scout: Found.", "assistant Written."));
  EXPECT_THAT(shown({.participant = "scout", .shared = branch_.size()}),
              ElementsAre("user Go.", "assistant {}", "tool seen by scout", "assistant Found.",
                          "user writer: Written."));
}

TEST_F(ProjectionTest, ShowsAThreadOfOnesOwnAsItIs) {
  add({said(Role::kUser, "", "Go."), said(Role::kUser, "scout", "scout: Found."),
       said(Role::kAssistant, "", "Written.")});
  EXPECT_TRUE(shows_all({.participant = "writer"}));
  EXPECT_THAT(shown({.participant = "writer"}),
              ElementsAre("user Go.", "user scout: Found.", "assistant Written."));
}

TEST_F(ProjectionTest, CountsTheMessageThatComesAsTheNewestTurn) {
  for (const char* text : {"One.", "Two.", "Three."})
    add({said(Role::kUser, "", text), said(Role::kAssistant, "", "Yes.")});
  Projection projection{.participant = "p"};
  projection.policy.max_turns = 1;
  EXPECT_THAT(shown(projection), IsEmpty());
  projection.policy.max_turns = 2;
  EXPECT_THAT(shown(projection), ElementsAre("user Three.", "assistant Yes."));
}

TEST_F(ProjectionTest, LeavesRoomForTheMessageThatComes) {
  for (const char* text : {"One.", "Two."}) add({said(Role::kUser, "", text)});
  Projection projection{.participant = "p"};
  projection.policy.max_tokens = Tokens{25};
  EXPECT_THAT(shown(projection, 5), ElementsAre("user One.", "user Two."));
  EXPECT_THAT(shown(projection, 6), ElementsAre("user Two."));
  EXPECT_THAT(shown(projection, 1'000), IsEmpty());
}

TEST_F(ProjectionTest, LatestOnlyIsWhatThisRunBrought) {
  add({said(Role::kUser, "", "One.")});
  add({said(Role::kUser, "", "Two.")});
  Projection projection{.participant = "p", .before = Revision{1}};
  projection.policy.retention = Retention::kLatestOnly;
  EXPECT_THAT(shown(projection), ElementsAre("user Two."));
}

TEST_F(ProjectionTest, RolesThatAreNotAdmittedAreNotThereAndGroupsGoWhole) {
  std::vector<Message> turn{said(Role::kUser, "", "Go.")};
  for (Message& message : group("", "c")) turn.push_back(std::move(message));
  turn.push_back(said(Role::kAssistant, "", "Done."));
  add(turn);
  Projection projection{.participant = "p"};
  projection.policy.roles = {Role::kUser};
  EXPECT_THAT(shown(projection), ElementsAre("user Go."));
  projection.policy.roles = {Role::kUser, Role::kAssistant};
  EXPECT_THAT(shown(projection), ElementsAre("user Go.", "assistant Done."));
}

TEST_F(ProjectionTest, OtherContextsThanTheWholeShowNoPast) {
  add({said(Role::kUser, "", "One.")});
  for (const ContextMode mode : {ContextMode::kDelta, ContextMode::kLastAgent}) {
    Projection projection{.participant = "p"};
    projection.policy.context = mode;
    EXPECT_THAT(shown(projection), IsEmpty());
  }
}

}  // namespace projection_test
}  // namespace tertulia
