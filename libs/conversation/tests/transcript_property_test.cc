// Random sequences of appends, forks and cuts, each step compared with lists that simply hold everything.
//
// A failure prints the seed of its sequence; TERTULIA_SEED=<seed> runs from there again.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/view.h"

#include "sample.h"

namespace tertulia {
namespace transcript_property_test {

// A branch twice: as the engine has it, and as a list of messages with their revisions.
struct Twin {
  struct Entry {
    Message message;
    Revision revision;
  };
  Transcript real;
  std::vector<Entry> naive;
};

std::uint64_t tokens_of(const std::vector<Twin::Entry>& entries, std::size_t begin, std::size_t end) {
  std::uint64_t tokens = 0;
  for (std::size_t i = begin; i < end; ++i) tokens += number(entries[i].message.tokens());
  return tokens;
}

// Turns of many shapes: 1 to 9 messages, with and without tool groups, tokens from 0 to 49.
std::vector<Turn> make_turns(std::mt19937& random) {
  std::vector<Turn> turns;
  std::uint64_t n = 0;
  for (int i = 0; i < 40; ++i) {
    std::vector<Message> messages = {sample::says(n++, Role::kUser, random() % 50)};
    for (auto groups = random() % 3; groups > 0; --groups) {
      messages.push_back(sample::calls(n++, {"a", "b"}));
      if (random() % 2 == 0) {
        messages.push_back(sample::results(n++, {"a", "b"}));
      } else {
        messages.push_back(sample::results(n++, {"a"}));
        messages.push_back(sample::results(n++, {"b"}));
      }
      if (random() % 2 == 0) messages.push_back(sample::says(n++, Role::kAssistant, random() % 50));
    }
    turns.push_back(sample::turn(std::move(messages)));
  }
  return turns;
}

std::size_t naive_group_start(const std::vector<Twin::Entry>& entries, std::size_t index) {
  while (entries[index].message.role() == Role::kTool) --index;
  return index;
}

std::size_t naive_group_end(const std::vector<Twin::Entry>& entries, std::size_t index) {
  ++index;
  while (index < entries.size() && entries[index].message.role() == Role::kTool) ++index;
  return index;
}

std::size_t naive_first_within(const std::vector<Twin::Entry>& entries, std::uint64_t budget) {
  std::size_t index = entries.size();
  for (std::uint64_t left = budget; index > 0; --index) {
    const std::uint64_t cost = number(entries[index - 1].message.tokens());
    if (cost > left) break;
    left -= cost;
  }
  return index;
}

// The budget rule in its simplest words: take whole turns from the end while they fit, else whole groups.
std::size_t naive_cut(const std::vector<Twin::Entry>& entries, std::uint64_t budget) {
  const auto fits = [&](std::size_t from) { return tokens_of(entries, from, entries.size()) <= budget; };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool turn_begins = i == 0 || entries[i].revision != entries[i - 1].revision;
    if (turn_begins && fits(i)) return i;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].message.role() != Role::kTool && fits(i)) return i;
  }
  return entries.size();
}

void compare_at(const Twin& twin, std::size_t index) {
  const auto& entries = twin.naive;
  ASSERT_EQ(twin.real[index].block().data(), entries[index].message.block().data());
  ASSERT_EQ(twin.real.revision_at(index), entries[index].revision);
  ASSERT_EQ(twin.real.tokens_before(index), Tokens{tokens_of(entries, 0, index)});
  ASSERT_EQ(twin.real.group_start(index), naive_group_start(entries, index));
  ASSERT_EQ(twin.real.group_end(index), naive_group_end(entries, index));
  const auto same_turn = [&](const Twin::Entry& entry) { return entry.revision == entries[index].revision; };
  const auto start = std::find_if(entries.begin(), entries.end(), same_turn);
  ASSERT_EQ(twin.real.turn_start(index), static_cast<std::size_t>(start - entries.begin()));
  const auto later = std::find_if(start, entries.end(), [&](const auto& entry) { return !same_turn(entry); });
  ASSERT_EQ(twin.real.first_after(entries[index].revision),
            static_cast<std::size_t>(later - entries.begin()));
}

void compare(const Twin& twin, std::mt19937& random) {
  const auto& entries = twin.naive;
  ASSERT_EQ(twin.real.size(), entries.size());
  ASSERT_EQ(twin.real.tokens(), Tokens{tokens_of(entries, 0, entries.size())});
  if (entries.empty()) return;
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(compare_at(twin, random() % entries.size()));
  ASSERT_NO_FATAL_FAILURE(compare_at(twin, entries.size() - 1));

  const std::uint64_t budget = random() % (number(twin.real.tokens()) + 10);
  ASSERT_EQ(twin.real.first_within(Tokens{budget}), naive_first_within(entries, budget));

  const std::size_t cut = naive_cut(entries, budget);
  const View view = View(twin.real).within(Tokens{budget});
  ASSERT_EQ(view.size(), entries.size() - cut);
  ASSERT_EQ(view.tokens(), Tokens{tokens_of(entries, cut, entries.size())});
  std::size_t at = cut;
  for (const Message& message : view) {
    ASSERT_EQ(message.block().data(), entries[at++].message.block().data());
  }
  ASSERT_EQ(at, entries.size());
}

void compare_all(const Twin& twin) {
  std::size_t next = 0;
  twin.real.for_each(0, twin.real.size(), [&](std::size_t index, const Message& message) {
    ASSERT_EQ(index, next++);
    ASSERT_EQ(message.block().data(), twin.naive[index].message.block().data());
  });
  ASSERT_EQ(next, twin.naive.size());
}

void append(Twin& twin, const Turn& turn, std::mt19937& random) {
  const Revision last = twin.naive.empty() ? Revision{} : twin.naive.back().revision;
  const Revision revision{number(last) + 1 + (random() % 16 == 0 ? random() : 0)};
  twin.real.append(turn, revision);
  for (const Message& message : turn.messages()) twin.naive.push_back({message, revision});
}

// One step: append to some branch, fork one, or cut one down to a prefix of itself.
void step(std::vector<Twin>& twins, const std::vector<Turn>& turns, std::mt19937& random) {
  Twin& twin = twins[random() % twins.size()];
  const auto choice = random() % 10;
  if (choice < 6) {
    append(twin, turns[random() % turns.size()], random);
    ASSERT_NO_FATAL_FAILURE(compare(twin, random));
    return;
  }
  const std::size_t count = choice < 8 ? twin.naive.size() : random() % (twin.naive.size() + 1);
  Twin fork{twin.real.prefix(count),
            {twin.naive.begin(), twin.naive.begin() + static_cast<std::ptrdiff_t>(count)}};
  ASSERT_TRUE(fork.real.shares_prefix_with(twin.real, count));
  ASSERT_NO_FATAL_FAILURE(compare(fork, random));
  if (choice == 9 || twins.size() > 8) {
    twin = std::move(fork);
  } else {
    twins.push_back(std::move(fork));
  }
}

void run_sequence(std::uint32_t seed, const std::vector<Turn>& turns) {
  std::mt19937 random(seed);
  std::vector<Twin> twins(1);
  for (auto steps = 5 + random() % 30; steps > 0; --steps)
    ASSERT_NO_FATAL_FAILURE(step(twins, turns, random));
  for (const Twin& twin : twins) ASSERT_NO_FATAL_FAILURE(compare_all(twin));
}

std::uint32_t given_or_random_seed() {
  const char* given = std::getenv("TERTULIA_SEED");
  return given != nullptr ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device{}();
}

TEST(TranscriptProperty, TenThousandRandomSequencesAgreeWithPlainLists) {
  const std::uint32_t seed = given_or_random_seed();
  std::mt19937 shapes(1);
  const std::vector<Turn> turns = make_turns(shapes);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    SCOPED_TRACE("TERTULIA_SEED=" + std::to_string(seed + i));
    ASSERT_NO_FATAL_FAILURE(run_sequence(seed + i, turns));
  }
}

// Long chains, where the jumps are many: one sequence with thousands of steps.
TEST(TranscriptProperty, ALongSequenceAgreesWithPlainLists) {
  const std::uint32_t seed = given_or_random_seed();
  SCOPED_TRACE("TERTULIA_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<Turn> turns = make_turns(random);
  Twin twin;
  for (int i = 0; i < 3'000; ++i) {
    append(twin, turns[random() % turns.size()], random);
    if (random() % 7 == 0) {
      Transcript other = twin.real;
      other.append(turns[0], next(other.last_revision()));
    }
    if (i % 100 == 99) ASSERT_NO_FATAL_FAILURE(compare(twin, random));
  }
  ASSERT_NO_FATAL_FAILURE(compare_all(twin));
}

}  // namespace transcript_property_test
}  // namespace tertulia
