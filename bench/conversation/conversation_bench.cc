// Figures of the conversation layer: what a fork, an append and a cut cost, and what a session weighs.
//
//   bench_conversation [dialogues.jsonl.gz]
//
// The dialogues (Schema-Guided Dialogue in chat form) are weighed too if the file is there.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <malloc.h>

#include "tertulia/base/json.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/view.h"

#include "figure.h"

namespace tertulia {
namespace {

using bench::print_figure;

// Rounds are many and short: other work on the machine then spoils some of them, and not the median.
constexpr int kRounds = 201;

MessageId message_id(std::uint64_t n) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return MessageId(Uuid(bytes));
}

template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The nanoseconds that one of `count` runs of `work` takes.
template <class Work>
double nanoseconds(std::size_t count, Work work) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < count; ++i) work(i);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(count);
}

template <class Measure>
double median_of_rounds(Measure measure) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) rounds.push_back(measure());
  return median(std::move(rounds));
}

// Two things measured in turn, so that what else the machine does falls on both.
struct Pair {
  double first;
  double second;
  double ratio;  // the second to the first; the median of the rounds' own
};

template <class First, class Second>
Pair median_of_pairs(First first, Second second) {
  std::vector<double> firsts;
  std::vector<double> seconds;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    firsts.push_back(first());
    seconds.push_back(second());
    ratios.push_back(seconds.back() / firsts.back());
  }
  return {median(std::move(firsts)), median(std::move(seconds)), median(std::move(ratios))};
}

// Text of this many bytes that differs from message to message.
std::string text_of(std::size_t bytes, std::uint64_t n) {
  std::string text = std::to_string(n) + " ";
  while (text.size() < bytes) text += "what was said is kept as it was said ";
  text.resize(bytes);
  return text;
}

Message says(std::uint64_t n, Role role, std::size_t bytes) {
  const std::string text = text_of(bytes, n);
  return Message::make({.id = message_id(n),
                        .role = role,
                        .source = role == Role::kAssistant ? "gpt-4o-mini" : "",
                        .tokens = Tokens{bytes / 4 + 4},
                        .counted = Counted::kEstimate,
                        .parts = {Part::text_of(text)}})
      .value();
}

// A question of 200 bytes, a call with arguments of 80, its output of 400, an answer of 400.
constexpr std::size_t kTurnText = 200 + 80 + 400 + 400;

Turn tool_turn(std::uint64_t n) {
  const std::string arguments = "\"" + text_of(78, n) + "\"";
  const std::string output = text_of(400, n);
  const std::string call_id = "call_" + std::to_string(n);
  std::vector<Message> messages;
  messages.push_back(says(n, Role::kUser, 200));
  messages.push_back(Message::make({.id = message_id(n + 1),
                                    .role = Role::kAssistant,
                                    .source = "gpt-4o-mini",
                                    .tokens = Tokens{30},
                                    .counted = Counted::kEstimate,
                                    .parts = {Part::tool_call(call_id, "search", arguments)}})
                         .value());
  messages.push_back(Message::make({.id = message_id(n + 2),
                                    .role = Role::kTool,
                                    .tokens = Tokens{100},
                                    .counted = Counted::kEstimate,
                                    .parts = {Part::tool_result(call_id, "search", output)}})
                         .value());
  messages.push_back(says(n + 3, Role::kAssistant, 400));
  return Turn::from_messages(TurnId(), std::move(messages)).value();
}

// `size` messages made of the same turn of one user message and one answer.
Transcript long_transcript(std::size_t size) {
  const Turn turn =
      Turn::from_messages(TurnId(), {says(1, Role::kUser, 150), says(2, Role::kAssistant, 200)}).value();
  Transcript transcript;
  for (std::size_t i = 0; i < size / 2; ++i) transcript.append(turn, Revision{i + 1});
  return transcript;
}

// A fork at the last message, checked as a caller's would be.
double fork_at_end(const Transcript& transcript) {
  return nanoseconds(1'000, [&](std::size_t) {
    const auto last = static_cast<std::int64_t>(transcript.size()) - 1;
    const Transcript fork = transcript.prefix(check_fork_point(transcript, last).value());
    keep(fork);
  });
}

double fork_anywhere(const Transcript& transcript, std::size_t round) {
  return nanoseconds(1'000, [&](std::size_t i) {
    const auto point = static_cast<std::int64_t>((1'000 * round + i) * 7'919'777 % transcript.size());
    const Transcript fork = transcript.prefix(check_fork_point(transcript, point).value());
    keep(fork);
  });
}

void measure_forks() {
  const Transcript small = long_transcript(10);
  const Transcript large = long_transcript(1'000'000);
  const Pair forks = median_of_pairs([&] { return fork_at_end(small); }, [&] { return fork_at_end(large); });
  print_figure("conversation.fork.1000000", forks.second, "ns", "< 1000",
               "fork of a 1,000,000-message transcript");
  print_figure("conversation.fork.ratio", forks.ratio, "x", "<= 1.2", "1,000,000 messages to 10");
  std::size_t round = 0;
  const double anywhere = median_of_rounds([&] { return fork_anywhere(large, ++round); });
  print_figure("conversation.fork.anywhere", anywhere, "ns", "< 1000",
               "fork at a random message of 1,000,000");
}

// Each message's share of appending all the turns. `ends` keeps what was built, so that it is freed later.
double append_to(const Transcript& start, const std::vector<Turn>& turns, std::vector<Transcript>& ends) {
  const std::uint64_t first = number(start.last_revision()) + 1;
  Transcript& transcript = ends.emplace_back(start);
  const double per_turn =
      nanoseconds(turns.size(), [&](std::size_t i) { transcript.append(turns[i], Revision{first + i}); });
  return per_turn / 4;
}

void measure_appends() {
  std::vector<Turn> turns;
  for (std::uint64_t i = 0; i < 1'000; ++i) turns.push_back(tool_turn(4 * i));
  const Transcript large = long_transcript(1'000'000);
  std::vector<Transcript> ends;
  const Pair appends = median_of_pairs([&] { return append_to(Transcript(), turns, ends); },
                                       [&] { return append_to(large, turns, ends); });
  print_figure("conversation.append", appends.second, "ns", "< 1000",
               "per message, beside making it, behind 1,000,000 others");
  print_figure("conversation.append.ratio", appends.ratio, "x", "",
               "behind 1,000,000 messages to behind none");
}

void measure_cuts() {
  const Transcript history = long_transcript(100'000);
  const double cut = median_of_rounds([&] {
    return nanoseconds(100, [&](std::size_t) {
      const View view = View(history).within(Tokens{8'000});
      keep(view);
    });
  });
  print_figure("conversation.cut", cut / 1'000, "us", "< 20", "100,000 messages to a budget of 8,000 tokens");
  const double cut_and_read = median_of_rounds([&] {
    return nanoseconds(100, [&](std::size_t) {
      std::uint64_t tokens = 0;
      const View view = View(history).within(Tokens{8'000});
      for (const Message& message : view) tokens += number(message.tokens());
      keep(tokens);
    });
  });
  print_figure("conversation.cut_and_read", cut_and_read / 1'000, "us", "< 20",
               "the cut, and a look at each message that is left");
}

// What a session costs in memory, with the allocator's own share: in use now, less what was before.
std::size_t heap_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct LoadedSession {
  Session session;
  Branch main;
};

std::unique_ptr<LoadedSession> begin_session(std::size_t n) {
  auto loaded = std::make_unique<LoadedSession>();
  loaded->session.id = SessionId::of(message_id(n).uuid());
  loaded->session.owner = OwnerId::parse("owner-" + std::to_string(n)).value();
  loaded->main.id = main_branch();
  loaded->main.session = loaded->session.id;
  return loaded;
}

void measure_memory() {
  constexpr std::size_t kSessions = 1'000;
  constexpr std::size_t kTurns = 10;
  std::vector<std::unique_ptr<LoadedSession>> sessions(kSessions);
  const std::size_t before = heap_in_use();
  for (std::size_t s = 0; s < kSessions; ++s) {
    sessions[s] = begin_session(s);
    for (std::size_t t = 0; t < kTurns; ++t) {
      sessions[s]->main.transcript.append(tool_turn(1'000 * s + 4 * t), Revision{t + 1});
    }
  }
  const auto used = static_cast<double>(heap_in_use() - before);
  print_figure("conversation.memory.ratio", used / static_cast<double>(kSessions * kTurns * kTurnText), "x",
               "<= 1.5", "heap of 1,000 sessions of 40 messages to the bytes of their text");
}

// One dialogue of the data set as turns. Adds the bytes of its text to `text`.
void load_dialogue(const JsonArray& messages, Transcript& transcript, std::size_t& text) {
  std::vector<Message> turn;
  std::uint64_t revision = 0;
  const auto commit = [&] {
    if (turn.empty()) return;
    transcript.append(Turn::from_messages(TurnId(), std::exchange(turn, {})).value(), Revision{++revision});
  };
  for (const Json& json : messages) {
    const JsonObject& object = *json.as_object();
    const auto string_at = [](const JsonObject& in, std::string_view key) {
      const Json* value = in.find(key);
      return value == nullptr || value->as_string() == nullptr ? std::string() : *value->as_string();
    };
    const std::string content = string_at(object, "content");
    const std::string call_id = string_at(object, "tool_call_id");
    MessageDraft draft{.id = message_id(text + 1), .role = role_named(string_at(object, "role")).value()};
    std::vector<std::string> owned;
    owned.reserve(16);
    text += content.size();
    if (draft.role == Role::kUser) commit();
    if (draft.role == Role::kTool) draft.parts.push_back(Part::tool_result(call_id, "", content));
    if (draft.role != Role::kTool && !content.empty()) draft.parts.push_back(Part::text_of(content));
    if (const Json* calls = object.find("tool_calls")) {
      for (const Json& call : *calls->as_array()) {
        const JsonObject& fields = *call.as_object();
        const std::string& id = owned.emplace_back(string_at(fields, "id"));
        const std::string& name = owned.emplace_back(string_at(fields, "name"));
        const std::string& arguments = owned.emplace_back(to_text(*fields.find("arguments")));
        text += arguments.size();
        draft.parts.push_back(Part::tool_call(id, name, arguments));
      }
    }
    turn.push_back(Message::make(draft).value());
  }
  commit();
}

std::vector<JsonArray> read_dialogues(const std::string& path) {
  std::string text;
  if (FILE* unpacked = popen(("gzip -dc '" + path + "' 2>/dev/null").c_str(), "r")) {
    std::array<char, 65'536> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), unpacked))
      text.append(buffer.data(), got);
    pclose(unpacked);
  }
  std::vector<JsonArray> dialogues;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json line = parse_json(std::string_view(text).substr(begin, end - begin)).value();
    dialogues.push_back(*line.as_object()->find("messages")->as_array());
    begin = end + 1;
  }
  return dialogues;
}

void weigh_dialogues(const std::string& path) {
  const std::vector<JsonArray> dialogues = read_dialogues(path);
  if (dialogues.empty()) {
    std::fprintf(stderr, "There are no dialogues at %s\n", path.c_str());
    std::exit(1);
  }
  std::vector<std::unique_ptr<LoadedSession>> sessions(dialogues.size());
  std::size_t text = 0;
  std::size_t count = 0;
  const std::size_t before = heap_in_use();
  for (std::size_t i = 0; i < dialogues.size(); ++i) {
    sessions[i] = begin_session(i);
    load_dialogue(dialogues[i], sessions[i]->main.transcript, text);
    count += sessions[i]->main.transcript.size();
  }
  const auto used = static_cast<double>(heap_in_use() - before);
  print_figure("conversation.memory.dialogues", used / static_cast<double>(text), "x", "",
               std::to_string(dialogues.size()) + " short task dialogues, " + std::to_string(text / count) +
                   " bytes of text a message");
  print_figure("conversation.memory.overhead",
               (used - static_cast<double>(text)) / static_cast<double>(count), "bytes/message", "",
               "the same dialogues, all that is not text");
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) {
  tertulia::measure_forks();
  tertulia::measure_appends();
  tertulia::measure_cuts();
  tertulia::measure_memory();
  if (argc > 2 && std::string_view(argv[1]) == "--dialogues") tertulia::weigh_dialogues(argv[2]);
  return 0;
}
