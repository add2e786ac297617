#include "sqlite/packing.h"

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/store/crc32c.h"

#include "sqlite/turn_blob.h"
#include "sqlite_fixture.h"
#include "tree.h"

namespace tertulia {
namespace packing_test {

const std::string kProse =
    "The tide was out when we arrived, so the children walked to the wreck and came back with crabs in a "
    "bucket, which had to be carried all the way home.";

// Bytes that nothing can make shorter.
std::string noise(std::size_t size) {
  std::string bytes;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 1664525U + 1013904223U;
    bytes.push_back(static_cast<char>(state >> 24U));
  }
  return bytes;
}

AppendTurn turn_saying(std::string_view text) {
  const auto id = [](std::uint8_t last) { return Uuid(std::array<std::uint8_t, 16>{last}); };
  std::vector<Message> messages;
  messages.push_back(Message::text(MessageId(id(1)), Role::kUser, text, Time(Duration(5))).value());
  return {.branch = main_branch(),
          .turn = Turn::from_messages(TurnId(id(2)), std::move(messages)).value(),
          .state = MiddlewareState{{"mood", JsonText::parse("\"calm\"").value()}}};
}

TEST(Packing, ProseGetsShorterAndComesBack) {
  std::string out = "before";
  ASSERT_TRUE(append_packed(out, kProse));
  ASSERT_EQ(out.substr(0, 6), "before");
  EXPECT_LT(out.size() - 6, kProse.size() * 3 / 4);
  std::string back(kProse.size(), '\0');
  ASSERT_TRUE(unpack(std::string_view(out).substr(6), back.data(), back.size()).ok());
  EXPECT_EQ(back, kProse);
}

TEST(Packing, WhatGetsNoShorterIsLeftAlone) {
  std::string out = "before";
  EXPECT_FALSE(append_packed(out, noise(300)));
  EXPECT_FALSE(append_packed(out, "x"));
  EXPECT_EQ(out, "before");
}

TEST(Packing, WhatWasCutChangedOrHasAnotherSizeIsDamaged) {
  std::string packed;
  ASSERT_TRUE(append_packed(packed, kProse));
  std::string back(kProse.size() + 1, '\0');
  const auto code = [&](std::string_view bytes, std::size_t size) {
    return unpack(bytes, back.data(), size).error().code();
  };
  EXPECT_EQ(code(packed, kProse.size() + 1), ErrorCode::kDamaged);
  EXPECT_EQ(code(packed, kProse.size() - 1), ErrorCode::kDamaged);
  EXPECT_EQ(code({}, kProse.size()), ErrorCode::kDamaged);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(code(std::string_view(packed).substr(0, size), kProse.size()), ErrorCode::kDamaged) << size;
  }
}

// Rows that were written with it cannot be read with another: a better one gets another number.
TEST(Packing, TheFirstDictionaryIsTheOneThatWasReleased) {
  std::ifstream in(trial::source_dir() / "libs/store/data/turn_dictionary_1", std::ios::binary);
  const std::string dictionary((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(dictionary.size(), 2048U);
  EXPECT_EQ(crc32c(dictionary), 2721758454U);
}

TEST(TurnBlob, ComesBackWhetherPackedOrNot) {
  const AppendTurn append = turn_saying(kProse);
  const std::string packed =
      encode_turn({.revision = Revision{300}, .first_index = 7, .state_turn = 9, .time = Time(Duration(11))},
                  append, encode_texts(append));
  std::string scratch;
  const std::string plain(unpack_turn(packed, scratch).value());
  EXPECT_LT(packed.size(), plain.size());
  for (const std::string& content : {packed, plain}) {
    const std::string_view unpacked = unpack_turn(content, scratch).value();
    EXPECT_EQ(unpacked, plain);
    EXPECT_EQ(decode_turn(unpacked).value().messages()[0].text_content(), kProse);
    EXPECT_EQ(decode_state(unpacked).value(), append.state);
    const TurnHeader header = decode_turn_header(content).value();
    EXPECT_EQ(header.revision, Revision{300});
    EXPECT_EQ(header.first_index, 7U);
    EXPECT_EQ(header.messages, 1U);
  }
  EXPECT_EQ(decode_turn(packed).error().code(), ErrorCode::kDamaged);
}

// Whoever commits packs, and many may commit at once.
TEST(TurnBlob, IsPackedTheSameByManyThreads) {
  const AppendTurn append = turn_saying(kProse);
  const std::string alone = encode_texts(append);
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) same += encode_texts(append) == alone ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 8 * 50);
}

TEST(TurnBlob, IsDamagedIfItSaysASizeThatNoTurnHas) {
  const AppendTurn append = turn_saying(kProse);
  std::string content = encode_turn({}, append, encode_texts(append));
  std::string scratch;
  const std::size_t header = 3 + 16 + 8 + 1;
  const std::size_t head = 2 + 4 + 16 + 1 + 1;
  content.replace(header + head, 2, std::string("\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 7));
  EXPECT_EQ(unpack_turn(content, scratch).error().code(), ErrorCode::kDamaged);
  EXPECT_TRUE(scratch.empty());
}

}  // namespace packing_test
}  // namespace tertulia
