// The turn that every figure of a store is measured with: user 200 characters, a tool call, its result,
// assistant 400 characters. The words are windows into prose.txt, at places that a fixed sequence gives, and
// ids are as random as real ones are: a store that packs what it keeps finds no more to save than in a real
// conversation.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/store.h"

namespace tertulia::bench {

// A number that looks like any other: the n-th of a sequence that is the same in every run.
inline std::uint64_t scattered(std::uint64_t n) {
  n = (n + 1) * 0x9E3779B97F4A7C15U;
  n = (n ^ (n >> 30U)) * 0xBF58476D1CE4E5B9U;
  n = (n ^ (n >> 27U)) * 0x94D049BB133111EBU;
  return n ^ (n >> 31U);
}

inline const std::string& prose() {
  static const std::string text = [] {
    std::ifstream in(TERTULIA_BENCH_PROSE, std::ios::binary);
    std::string all((std::istreambuf_iterator<char>(in)), {});
    if (all.size() < 2000) std::abort();
    return all;
  }();
  return text;
}

inline bool inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Whole characters of about `size` bytes.
inline std::string_view words(std::uint64_t n, std::size_t size) {
  const std::string& text = prose();
  std::size_t begin = scattered(n) % (text.size() - size - 4);
  while (inside_character(text[begin])) ++begin;
  std::size_t end = begin + size;
  while (inside_character(text[end])) ++end;
  return std::string_view(text).substr(begin, end - begin);
}

// Of version 7: the time, then chance.
inline Uuid uuid_of(std::uint64_t n, Time time) {
  std::array<std::uint8_t, 16> bytes{};
  const auto milliseconds = static_cast<std::uint64_t>(time.time_since_epoch().count() / 1000);
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(milliseconds >> (8 * (5 - i)));
  for (std::size_t i = 6; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(scattered(n * 16 + i));
  bytes[6] = static_cast<std::uint8_t>(0x70U | (bytes[6] & 15U));
  bytes[8] = static_cast<std::uint8_t>(0x80U | (bytes[8] & 63U));
  return Uuid(bytes);
}

inline Time time_of_turn(std::uint64_t n) {
  return Time(
      Duration(1'763'000'000'000'000 + static_cast<std::int64_t>(n * 41'000'000 + scattered(n) % 1'000'000)));
}

inline Turn turn_of(std::uint64_t n) {
  Time time = time_of_turn(n);
  std::uint64_t index = 4 * n;
  std::vector<Message> messages;
  const auto add = [&](Role role, Origin origin, const Part& part) {
    messages.push_back(Message::make({.id = MessageId(uuid_of(index++, time)),
                                      .role = role,
                                      .time = time,
                                      .origin = origin,
                                      .tokens = Tokens{part.text.size() / 4},
                                      .counted = Counted::kO200k,
                                      .parts = {part}})
                           .value());
    time += Duration(900'000 + static_cast<std::int64_t>(scattered(index) % 100'000));
  };
  const std::string call = "call_" + std::to_string(scattered(n) % 1'000'000);
  const std::string days = std::to_string(scattered(n) % 9 + 1);
  const std::string input = R"({"query":"weather )" + std::to_string(n % 977) + R"(","days":)" + days + "}";
  const std::string output = R"({"sky":"clear","high":)" + days + R"(1,"low":)" + days + R"(,"wind":12})";
  add(Role::kUser, Origin::kUser, Part::text_of(words(3 * n, 200)));
  add(Role::kAssistant, Origin::kModel, Part::tool_call(call, "search", input));
  add(Role::kTool, Origin::kTool, Part::tool_result(call, "search", output));
  add(Role::kAssistant, Origin::kModel, Part::text_of(words(3 * n + 1, 400)));
  return Turn::from_messages(TurnId(uuid_of(index, time)), std::move(messages)).value();
}

// The blocks of the messages: what a store cannot but keep.
inline std::size_t payload_bytes(std::uint64_t n = 1) {
  std::size_t bytes = 0;
  const Turn turn = turn_of(n);
  for (const Message& message : turn.messages()) bytes += message.block().size();
  return bytes;
}

inline SessionKey key_of(std::size_t n) {
  return local_key(SessionId::parse("s" + std::to_string(n)).value());
}

inline Revision create(Store& store, const SessionKey& key) {
  Commit first{
      .key = key, .changes = {PutSession{}, PutBranch{{.id = main_branch()}}}, .time = time_of_turn(0)};
  return commit(store, std::move(first)).value();
}

inline Commit turn_commit(const SessionKey& key, Revision seen, std::uint64_t n,
                          const BranchId& branch = main_branch()) {
  return {.key = key,
          .expected = seen,
          .changes = {AppendTurn{.branch = branch, .turn = turn_of(n)}},
          .time = time_of_turn(n)};
}

// One turn after the other, each waited for.
inline Revision grow(Store& store, const SessionKey& key, Revision seen, std::size_t turns) {
  for (std::size_t i = 0; i < turns; ++i) seen = commit(store, turn_commit(key, seen, number(seen))).value();
  return seen;
}

// Grows without waiting for each turn: for histories that are not measured. The revisions are known
// beforehand.
inline Revision fill(Store& store, const SessionKey& key, Revision seen, std::size_t turns) {
  std::atomic<std::size_t> done = 0;
  for (std::size_t i = 0; i < turns; ++i) {
    while (i - done.load() >= 512) std::this_thread::yield();
    store.commit(turn_commit(key, Revision{number(seen) + i}, number(seen) + i),
                 [&](Result<Revision> result) {
                   result.value();
                   ++done;
                 });
  }
  while (done.load() < turns) std::this_thread::yield();
  return Revision{number(seen) + turns};
}

inline Revision fork(Store& store, const SessionKey& key, Revision seen, const std::string& name,
                     std::size_t at) {
  const BranchId id = BranchId::parse(name).value();
  return commit(store, {.key = key,
                        .expected = seen,
                        .changes = {PutBranch{{.id = id, .forked_from = ForkOrigin{main_branch(), at}}}},
                        .time = time_of_turn(number(seen))})
      .value();
}

// Everything that this process has handed to write(2) and its kin, whatever the file.
inline std::uint64_t written_bytes() {
  std::ifstream in("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == "wchar:") return value;
  }
  return 0;
}

}  // namespace tertulia::bench
