// How fast a view is made, and how alike the prompts of consecutive turns begin.
//
//   bench_view            figures
//   bench_view --trim N   only the seconds that cutting N messages to a budget takes, for
//   bench/memory/trim.mjs
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>

#include "tertulia/memory/hybrid_index.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/memory/working_memory.h"
#include "tertulia/model/embedder.h"

#include "figure.h"
#include "timing.h"

namespace tertulia::bench {
namespace {

constexpr std::string_view kSubjects[] = {"garden",  "invoice", "train", "violin",
                                          "harbour", "recipe",  "tax",   "dog"};

std::string sentence(std::size_t number) {
  return "Note " + std::to_string(number) + " about the " + std::string(kSubjects[number % 8]) + " and the " +
         std::string(kSubjects[number / 8 % 8]) + " that was mentioned on day " +
         std::to_string(number % 365) + ".";
}

class Talk {
 public:
  explicit Talk(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  Message say(Role role, std::string_view text) {
    const Message message =
        Message::make({.id = MessageId(next()), .role = role, .parts = {Part::text_of(text)}}).value();
    return message.with_tokens(count_tokens(message, tokenizer_), counted_by(tokenizer_));
  }
  void add_turn(Transcript& transcript) {
    TurnDraft draft{TurnId(next())};
    draft.add(say(Role::kUser, sentence(count_) + " What do you make of it?")).value();
    draft.add(say(Role::kAssistant, sentence(count_ + 1) + " " + sentence(count_ + 2))).value();
    transcript.append(Turn::seal(std::move(draft)).value(), Revision{count_});
  }
  Transcript of(std::size_t messages) {
    Transcript transcript;
    while (transcript.size() < messages) add_turn(transcript);
    return transcript;
  }

 private:
  Uuid next() {
    std::array<std::uint8_t, 16> bytes{};
    ++count_;
    for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(count_ >> (8 * i));
    return Uuid(bytes);
  }

  const Tokenizer& tokenizer_;
  std::uint64_t count_ = 0;
};

// Of the processor's time: the machine may be shared.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double assembly_seconds(const ViewParts& parts, const MemoryConfig& config, const Tokenizer& tokenizer) {
  constexpr int kCalls = 200;
  const double start = thread_seconds();
  for (int i = 0; i < kCalls; ++i) keep(assemble_view(parts, config, tokenizer).value());
  return (thread_seconds() - start) / kCalls;
}

void measure_history(const Tokenizer& tokenizer) {
  MemoryConfig config;
  Talk talk(tokenizer);
  ViewParts parts;
  parts.system = "You help with notes.";
  // A budget that leaves 50 messages in both.
  parts.budget = Tokens{6'000};
  parts.history = talk.of(100);
  ViewParts many = parts;
  many.history = talk.of(100'000);
  // In turns, and the best of each, so that both meet the same machine.
  double small = 1;
  double large = 1;
  for (int round = 0; round < 15; ++round) {
    small = std::min(small, assembly_seconds(parts, config, tokenizer));
    large = std::min(large, assembly_seconds(many, config, tokenizer));
  }
  print_figure("view.assemble_100_messages", small * 1e6, "us", "", "");
  print_figure("view.assemble_100000_messages", large * 1e6, "us", "", "");
  print_figure("view.history_independence", large / small, "x", "<= 1.3", "100,000 beside 100 messages");
}

void measure_retrieval(const Tokenizer& tokenizer) {
  const std::shared_ptr<Embedder> embedder = static_embedder();
  const EmbedderInfo& info = embedder->info();
  HybridIndex index({.dimensions = info.dimensions,
                     .unrelated = info.unrelated,
                     .fitting = info.fitting,
                     .same = info.same});
  constexpr std::size_t kItems = 100'000;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kItems; ++i) texts.push_back(sentence(i));
  const std::vector<Vector> vectors = embed(*embedder, texts).value();
  for (std::size_t i = 0; i < kItems; ++i) {
    index.add({.id = std::to_string(i), .text = texts[i], .vector = vectors[i]}).value();
  }
  Talk talk(tokenizer);
  ViewParts parts;
  parts.history = talk.of(100);
  const MemoryConfig config;
  std::vector<double> times;
  for (std::size_t question = 1; question <= 200; ++question) {
    const double start = thread_seconds();
    const std::string asked = "What was said about the " + std::string(kSubjects[question % 8]) + " on day " +
                              std::to_string(question % 365) + "?";
    std::vector<Vector> vector = embed(*embedder, std::vector<std::string>{asked}).value();
    parts.context.clear();
    for (const Found& found : index.search({.text = asked, .vector = std::move(vector[0]), .top_k = 5})) {
      parts.context.push_back({.tier = Tier::kKnowledge,
                               .id = found.id,
                               .source = "notes",
                               .text = texts[static_cast<std::size_t>(std::stoul(found.id))],
                               .score = found.score});
    }
    keep(assemble_view(parts, config, tokenizer).value());
    times.push_back(thread_seconds() - start);
  }
  std::ranges::nth_element(times, times.begin() + 100);
  print_figure("view.assemble_with_retrieval_p50", times[100] * 1e3, "ms", "< 5",
               "over 100,000 items, static embedder");
}

// Fifty turns; before each of them something new was remembered and is shown.
void measure_prefix(const Tokenizer& tokenizer, Pruning pruning, std::string_view name) {
  MemoryConfig config;
  config.context_placement = ContextPlacement::kBeforeUser;
  config.pruning = pruning;
  Talk talk(tokenizer);
  ViewParts parts;
  parts.system = "You help with notes. ";
  for (int i = 0; i < 40; ++i) parts.system += sentence(static_cast<std::size_t>(i)) + " ";
  double shared = 0;
  double all = 0;
  std::optional<SentPrompt> before;
  for (std::size_t turn = 0; turn < 50; ++turn) {
    parts.context = {
        {.tier = Tier::kKnowledge, .id = std::to_string(turn), .source = "notes", .text = sentence(turn)}};
    const std::vector<Message> current{talk.say(Role::kUser, sentence(turn))};
    parts.current = current;
    const Assembled made = assemble_view(parts, config, tokenizer).value();
    TurnDraft draft{TurnId()};
    draft.add(current[0]).value();
    SentPrompt now{made.view.with_trailing(draft), {}};
    double bytes = 0;
    for (const Message& message : now.view) bytes += static_cast<double>(message.text_content().size());
    if (before) {
      shared += shared_prefix(*before, now) * bytes;
      all += bytes;
    }
    before = std::move(now);
    talk.add_turn(parts.history);
  }
  print_figure(name, shared / all, "", ">= 0.95", "50 turns, a memory write each, before_user");
}

// Bytes of the heap that are in use.
double used_bytes() { return static_cast<double>(mallinfo2().uordblks); }

// What a turn of a conversation of twenty turns holds: the history, what was retrieved, the view with the
// current message and its receipt; and what of it is left when the turn has ended.
void measure_footprint(const Tokenizer& tokenizer) {
  const MemoryConfig config;
  Talk talk(tokenizer);
  const auto turn = [&](double& held) {
    ViewParts parts;
    parts.system = "You help with notes.";
    parts.history = talk.of(40);
    for (std::size_t i = 0; i < 8; ++i) {
      parts.context.push_back({.tier = i < 5 ? Tier::kKnowledge : Tier::kEpisode,
                               .id = std::to_string(i),
                               .source = "notes",
                               .text = sentence(i) + " " + sentence(i + 1) + " " + sentence(i + 2)});
    }
    const std::vector<Message> current{talk.say(Role::kUser, sentence(7))};
    parts.current = current;
    const double before = used_bytes();
    const Assembled made = assemble_view(parts, config, tokenizer).value();
    TurnDraft draft{TurnId()};
    draft.add(current[0]).value();
    const View sent = made.view.with_trailing(draft);
    held = used_bytes() - before;
    keep(sent);
  };
  double held = 0;
  // The first one makes what the program keeps.
  turn(held);
  const double start = used_bytes();
  double view = 0;
  double peak = 0;
  {
    ViewParts parts;
    parts.history = talk.of(40);
    peak = used_bytes() - start;
  }
  turn(view);
  print_figure("view.working_memory_20_turns", (peak + view) / 1024, "KB", "<= 130",
               "history, context, view and receipt of one turn");
  print_figure("view.working_memory_left_after_turn", (used_bytes() - start) / 1024, "KB", "<= 1", "");
}

int trim(std::size_t messages, const Tokenizer& tokenizer) {
  Talk talk(tokenizer);
  ViewParts parts;
  parts.history = talk.of(messages);
  parts.budget = Tokens{8'000};
  MemoryConfig config;
  config.output_reserve = Tokens{0};
  std::printf("%.9f\n", assembly_seconds(parts, config, tokenizer));
  return 0;
}

}  // namespace
}  // namespace tertulia::bench

int main(int argc, char** argv) {
  using namespace tertulia;
  const std::shared_ptr<const Tokenizer> tokenizer = tokenizer_named("o200k_base").value();
  if (argc == 3 && std::string_view(argv[1]) == "--trim") {
    return bench::trim(static_cast<std::size_t>(std::atoll(argv[2])), *tokenizer);
  }
  bench::measure_history(*tokenizer);
  bench::measure_prefix(*tokenizer, Pruning::kFifo, "view.prefix_stability");
  bench::measure_prefix(*tokenizer, Pruning::kStepped, "view.prefix_stability_stepped");
  bench::measure_footprint(*tokenizer);
  bench::measure_retrieval(*tokenizer);
  return 0;
}
