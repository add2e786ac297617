#include "tertulia/conversation/message.h"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sample.h"

namespace tertulia {
namespace message_test {

using sample::message_id;

MessageDraft rich_draft() {
  return {.id = message_id(7),
          .role = Role::kAssistant,
          .time = Time(Duration(1'700'000'000'123'456)),
          .author = "planner",
          .origin = Origin::kModel,
          .source = "gpt-4o",
          .source_id = "resp_1",
          .tokens = Tokens{42},
          .counted = Counted::kO200k,
          .interrupted = true,
          .internal = true,
          .parts = {Part::text_of("Grüße"),
                    Part::reasoning("hm", "signed"),
                    Part::tool_call("c1", "search", R"({"q":"ñandú"})"),
                    {.kind = PartKind::kImage, .name = "image/png", .text = "https://example.org/a.png"},
                    {.kind = PartKind::kFile,
                     .name = "text/plain",
                     .call_id = "asset",
                     .text = "a.txt",
                     .extra = R"({"pages":3})"}},
          .extra = R"({"mood":"calm"})"};
}

ErrorCode code_of(const MessageDraft& draft) {
  const Result<Message> made = Message::make(draft);
  EXPECT_FALSE(made.ok());
  return made.ok() ? ErrorCode::kClosed : made.error().code();
}

TEST(Message, GivesBackEverythingItWasMadeFrom) {
  const MessageDraft draft = rich_draft();
  const Message message = Message::make(draft).value();
  EXPECT_EQ(message.id(), draft.id);
  EXPECT_EQ(message.role(), draft.role);
  EXPECT_EQ(message.time(), draft.time);
  EXPECT_EQ(message.author(), draft.author);
  EXPECT_EQ(message.origin(), draft.origin);
  EXPECT_EQ(message.source(), draft.source);
  EXPECT_EQ(message.source_id(), draft.source_id);
  EXPECT_EQ(message.tokens(), draft.tokens);
  EXPECT_EQ(message.counted(), draft.counted);
  EXPECT_TRUE(message.interrupted());
  EXPECT_TRUE(message.internal());
  EXPECT_EQ(message.extra(), draft.extra);
  ASSERT_EQ(message.part_count(), draft.parts.size());
  for (std::size_t i = 0; i < draft.parts.size(); ++i) EXPECT_EQ(message.part(i), draft.parts[i]) << i;
  EXPECT_TRUE(message.has_tool_calls());
}

TEST(Message, OfOnePlainTextNeedsThirtySixBytesBesideIt) {
  const Message message = Message::text(message_id(1), Role::kUser, "hello", Time{}).value();
  EXPECT_EQ(message.block().size(), 36 + 5);
  EXPECT_EQ(message.part_count(), 1U);
  EXPECT_EQ(message.part(0), Part::text_of("hello"));
  EXPECT_EQ(message.text_content(), "hello");
  EXPECT_FALSE(message.has_tool_calls());
}

TEST(Message, MayBeEmptyInEveryField) {
  const Message message = Message::make({}).value();
  EXPECT_EQ(message.part_count(), 0U);
  EXPECT_EQ(message.text_content(), "");
  EXPECT_EQ(Message::from_block(message.block()).value(), message);
  const Message blank = Message::text({}, Role::kUser, "", Time{}).value();
  EXPECT_EQ(blank.part_count(), 1U);
  EXPECT_NE(blank, message);
}

TEST(Message, CopiesShareOneBlock) {
  const Message message = Message::make(rich_draft()).value();
  const Message copy = message;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.block().data(), message.block().data());
  Message moved = copy;
  const Message target = std::move(moved);
  EXPECT_EQ(target.block().data(), message.block().data());
  EXPECT_FALSE(moved.valid());  // NOLINT(bugprone-use-after-move)
}

TEST(Message, IsEqualByContent) {
  const Message a = Message::make(rich_draft()).value();
  const Message b = Message::make(rich_draft()).value();
  EXPECT_NE(a.block().data(), b.block().data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, a.with_tokens(Tokens{43}, Counted::kO200k));
}

TEST(Message, WithTokensChangesNothingElse) {
  const Message message = Message::make(rich_draft()).value();
  const Message counted = message.with_tokens(Tokens{9}, Counted::kEstimate);
  EXPECT_EQ(counted.tokens(), Tokens{9});
  EXPECT_EQ(counted.counted(), Counted::kEstimate);
  EXPECT_EQ(counted.origin(), message.origin());
  EXPECT_EQ(counted.with_tokens(message.tokens(), message.counted()), message);
  EXPECT_EQ(message.tokens(), Tokens{42});
}

TEST(Message, TextContentJoinsTextPartsOnly) {
  const Message message =
      Message::make({.parts = {Part::text_of("one "), Part::reasoning("hidden"), Part::text_of("two")}})
          .value();
  std::string scratch = "old";
  EXPECT_EQ(message.text_content(scratch), "one two");
  const Message single = Message::make({.parts = {Part::reasoning("hidden"), Part::text_of("two")}}).value();
  const std::string_view view = single.text_content(scratch);
  EXPECT_EQ(view.data(), single.part(1).text.data()) << "one part is not copied";
}

TEST(Message, BlockSurvivesAStore) {
  const Message message = Message::make(rich_draft()).value();
  const std::string stored(message.block());
  const Message loaded = Message::from_block(stored).value();
  EXPECT_EQ(loaded, message);
  EXPECT_EQ(loaded.part(4).extra, R"({"pages":3})");
}

TEST(Message, RefusesTextThatIsNotUtf8AndSaysWhere) {
  const Result<Message> made = Message::make({.parts = {Part::text_of("ok"), Part::text_of("ab\xC3(")}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kBadUnicode);
  EXPECT_EQ(std::get<std::int64_t>(*made.error().fact("offset")), 2);
  EXPECT_NE(made.error().message().find("part 1"), std::string::npos) << made.error().message();
  EXPECT_EQ(code_of({.author = "\xFF"}), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of({.parts = {Part::text_of("\xED\xA0\x80")}}), ErrorCode::kBadUnicode)
      << "a lone surrogate";
}

TEST(Message, RefusesArgumentsAndExtrasThatAreNotJson) {
  EXPECT_EQ(code_of({.parts = {Part::tool_call("c", "t", "{\"a\":")}}), ErrorCode::kBadJson);
  EXPECT_EQ(code_of({.parts = {Part::tool_call("c", "t", R"({"a":1,"a":2})")}}), ErrorCode::kDuplicateKey);
  EXPECT_EQ(code_of({.extra = "[1]"}), ErrorCode::kBadJson);
  EXPECT_EQ(code_of({.extra = "{"}), ErrorCode::kBadJson);
  EXPECT_EQ(code_of({.parts = {{.text = "x", .extra = "nope"}}}), ErrorCode::kBadJson);
}

TEST(Message, RefusesFieldsThatAPartOfItsKindDoesNotHave) {
  EXPECT_EQ(code_of({.parts = {{.name = "x", .text = "y"}}}), ErrorCode::kUnknownField);
  EXPECT_EQ(code_of({.parts = {{.call_id = "x", .text = "y"}}}), ErrorCode::kUnknownField);
  EXPECT_EQ(code_of({.parts = {{.outcome = ToolOutcome::kError, .text = "y"}}}), ErrorCode::kUnknownField);
  EXPECT_EQ(code_of({.parts = {Part::tool_call("c", "", "{}")}}), ErrorCode::kMissingField);
  EXPECT_EQ(code_of({.role = Role{9}}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code_of({.parts = {{.kind = PartKind{9}}}}), ErrorCode::kOutOfRange);
}

TEST(Message, RefusesWhatIsTooLargeAndSaysTheLimit) {
  const std::string long_name(65'536, 'n');
  const Result<Message> made = Message::make({.author = long_name});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(std::get<std::int64_t>(*made.error().fact("limit")), 65'535);
  EXPECT_EQ(std::get<std::int64_t>(*made.error().fact("actual")), 65'536);
  EXPECT_TRUE(Message::make({.author = std::string_view(long_name).substr(1)}).ok());

  EXPECT_EQ(code_of({.tokens = Tokens{1ULL << 32U}}), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of({.parts = std::vector<Part>(65'536)}), ErrorCode::kTooLarge);
  const std::string text(64U << 20U, 'x');
  EXPECT_EQ(code_of({.parts = {Part::text_of(text)}}), ErrorCode::kTooLarge);
  EXPECT_TRUE(Message::make({.parts = {Part::text_of(std::string_view(text).substr(36))}}).ok());
}

TEST(Message, HoldsAsManyPartsAsItSays) {
  std::vector<Part> parts(65'535, Part::text_of("x"));
  parts.back() = Part::tool_call("last", "t", "{}");
  const Message message = Message::make({.role = Role::kAssistant, .parts = parts}).value();
  EXPECT_EQ(message.part_count(), 65'535U);
  EXPECT_EQ(message.part(65'534).call_id, "last");
  EXPECT_EQ(Message::from_block(message.block()).value(), message);
}

TEST(Message, EachRoleIsFoundByItsName) {
  for (const Role role : {Role::kSystem, Role::kContext, Role::kUser, Role::kAssistant, Role::kTool}) {
    EXPECT_EQ(role_named(name_of(role)).value(), role);
  }
  EXPECT_EQ(role_named("robot").error().code(), ErrorCode::kOutOfRange);
}

// Damage ----------------------------------------------------------------------------------------------------

TEST(MessageBlock, IsTheWorkedExampleOfItsFormatPage) {
  const Message message = Message::make({.id = message_id(1),
                                         .role = Role::kAssistant,
                                         .time = Time(Duration(2)),
                                         .author = "ann",
                                         .origin = Origin::kModel,
                                         .tokens = Tokens{3},
                                         .counted = Counted::kO200k,
                                         .parts = {Part::text_of("Hi"), Part::tool_call("c", "t", "{}")}})
                              .value();
  std::string hex;
  for (const char byte : message.block()) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4U];
    hex += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  EXPECT_EQ(hex,
            "4d000000"
            "01"
            "03"
            "04"
            "31"
            "00000000000000000000000000000001"
            "0200000000000000"
            "03000000"
            "030000000000"
            "0200"
            "0000000000000000"
            "02000000"
            "0200010001000000"
            "06000000"
            "616e6e"
            "4869"
            "74"
            "63"
            "7b7d");
}

TEST(MessageBlock, CutAnywhereIsDamaged) {
  const std::string block(Message::make(rich_draft()).value().block());
  for (std::size_t size = 0; size < block.size(); ++size) {
    const Result<Message> read = Message::from_block(std::string_view(block).substr(0, size));
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().code(), ErrorCode::kDamaged);
  }
  EXPECT_EQ(Message::from_block(block + "x").error().code(), ErrorCode::kDamaged);
}

TEST(MessageBlock, WithBytesBehindItsLastPartIsDamaged) {
  std::string block(Message::make({.parts = {Part::text_of("a"), Part::text_of("b")}}).value().block());
  block += 'c';
  block[0] = static_cast<char>(block.size());
  EXPECT_EQ(Message::from_block(block).error().code(), ErrorCode::kDamaged);
}

TEST(MessageBlock, OfANewerVersionIsRefusedAsSuch) {
  std::string block(Message::make(rich_draft()).value().block());
  block[4] = 2;
  const Result<Message> read = Message::from_block(block);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kNeedsVersion);
  block[4] = 0;
  EXPECT_EQ(Message::from_block(block).error().code(), ErrorCode::kDamaged);
}

TEST(MessageBlock, FieldsThatSplitACharacterAreDamaged) {
  std::string block(Message::make({.author = "ä", .source = "b"}).value().block());
  block[36] = 1;  // the author's length
  block[38] = 2;  // the source's
  EXPECT_EQ(Message::from_block(block).error().code(), ErrorCode::kDamaged);
}

TEST(MessageBlock, HasExactlyOneForm) {
  // One plain text part with a table, names announced but empty, extras announced but empty.
  const std::string plain(Message::text(message_id(1), Role::kUser, "hello", Time{}).value().block());
  std::string with_table = plain;
  with_table[6] = 0;
  with_table.insert(36, std::string("\1\0"
                                    "\0\0\0\0\0\0\0\0"
                                    "\5\0\0\0",
                                    14));
  with_table[0] = static_cast<char>(with_table.size());
  EXPECT_EQ(Message::from_block(with_table).error().code(), ErrorCode::kDamaged);
  std::string named = plain;
  named[6] = static_cast<char>(named[6] | 4);
  named.insert(36, std::string(6, '\0'));
  named[0] = static_cast<char>(named.size());
  EXPECT_EQ(Message::from_block(named).error().code(), ErrorCode::kDamaged);
  std::string extended = plain;
  extended[6] = static_cast<char>(extended[6] | 8);
  extended.insert(36, std::string(4, '\0'));
  extended[0] = static_cast<char>(extended.size());
  EXPECT_EQ(Message::from_block(extended).error().code(), ErrorCode::kDamaged);
}

// Whatever from_block accepts can be read in full, and make() would have written the same bytes.
TEST(MessageBlock, ChangedAtRandomIsRefusedOrSound) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  MessageDraft draft = rich_draft();
  const std::string original(Message::make(draft).value().block());
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string block = original;
    for (unsigned i = 0; i <= random() % 3; ++i) block[random() % block.size()] = static_cast<char>(random());
    const Result<Message> read = Message::from_block(block);
    if (!read) continue;
    ++accepted;
    MessageDraft again{.id = read->id(),
                       .role = read->role(),
                       .time = read->time(),
                       .author = read->author(),
                       .origin = read->origin(),
                       .source = read->source(),
                       .source_id = read->source_id(),
                       .tokens = read->tokens(),
                       .counted = read->counted(),
                       .interrupted = read->interrupted(),
                       .internal = read->internal(),
                       .extra = read->extra()};
    for (std::size_t i = 0; i < read->part_count(); ++i) again.parts.push_back(read->part(i));
    const Result<Message> remade = Message::make(again);
    if (remade) {
      ASSERT_EQ(remade->block(), block);
    } else {
      const ErrorCode code = remade.error().code();
      ASSERT_NE(code, ErrorCode::kBadUnicode);
      ASSERT_NE(code, ErrorCode::kUnknownField);
      ASSERT_NE(code, ErrorCode::kTooLarge);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(Message, IsSharedByThreads) {
  const Message message = Message::make(rich_draft()).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = message] {
      for (int round = 0; round < 1'000; ++round) {
        const Message mine = copy;  // NOLINT(performance-unnecessary-copy-initialization)
        EXPECT_EQ(mine.author(), "planner");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace message_test
}  // namespace tertulia
