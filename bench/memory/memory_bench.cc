// How well and how fast memory finds.
//
//   bench_memory [--locomo FILE] [--large]
//
// Without a file of conversations only speed is measured. --large also builds the graph of a million vectors,
// which takes minutes and 2 GB.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/memory/conversation_index.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/memory/vector_index.h"
#include "tertulia/model/embedder.h"

#include "figure.h"
#include "locomo.h"
#include "timing.h"

namespace tertulia::bench {
namespace {

constexpr std::size_t kTop = 10;

// Finds the ids for a question of one conversation.
using Finder = std::function<std::vector<std::string>(const LocomoQuestion&)>;
// Makes one for a conversation.
using Method = std::function<Finder(const LocomoConversation&)>;

struct Recall {
  double sum = 0;
  double count = 0;
  double percent() const { return count == 0 ? 0 : 100 * sum / count; }
};

double found_share(const std::vector<std::string>& evidence, const std::vector<std::string>& found) {
  double hits = 0;
  for (const std::string& id : evidence)
    hits += std::find(found.begin(), found.end(), id) != found.end() ? 1 : 0;
  return hits / static_cast<double>(evidence.size());
}

std::vector<std::string> ids_of(const std::vector<Found>& found) {
  std::vector<std::string> ids;
  for (const Found& one : found) ids.push_back(one.id);
  return ids;
}

ConversationIndex whole_index(const LocomoConversation& conversation,
                              const std::shared_ptr<Embedder>& embedder) {
  ConversationIndex index(embedder);
  std::vector<IndexedMessage> messages;
  std::uint64_t place = 0;
  for (const LocomoTurn& turn : conversation.turns) {
    messages.push_back({.id = turn.id,
                        .conversation = std::to_string(turn.session),
                        .place = place++,
                        .speaker = turn.speaker,
                        .text = turn.text,
                        .time = turn.time});
  }
  index.add(std::move(messages)).value();
  return index;
}

Method ours(std::shared_ptr<Embedder> embedder) {
  return [embedder = std::move(embedder)](const LocomoConversation& conversation) -> Finder {
    auto index = std::make_shared<ConversationIndex>(whole_index(conversation, embedder));
    return [index](const LocomoQuestion& question) { return ids_of(index->search(question.text, kTop)); };
  };
}

// Words alone: no neighbours, no speakers, no times.
Method plain_words() {
  return [](const LocomoConversation& conversation) -> Finder {
    auto index = std::make_shared<HybridIndex>();
    for (const LocomoTurn& turn : conversation.turns) {
      index->add({.id = turn.id, .text = turn.speaker + ": " + turn.text}).value();
    }
    return [index](const LocomoQuestion& question) {
      return ids_of(index->search({.text = question.text, .top_k = kTop}));
    };
  };
}

// Vectors alone.
Method plain_vectors(std::shared_ptr<Embedder> embedder) {
  return [embedder = std::move(embedder)](const LocomoConversation& conversation) -> Finder {
    auto index = std::make_shared<ConversationIndex>(whole_index(conversation, embedder));
    return [index](const LocomoQuestion& question) {
      return ids_of(index->search({.text = question.text, .top_k = kTop, .words = false}));
    };
  };
}

void measure_recall(std::string_view name, const Method& method,
                    const std::vector<LocomoConversation>& conversations, std::string_view goal) {
  std::vector<Recall> by_category(5);
  for (const LocomoConversation& conversation : conversations) {
    const Finder find = method(conversation);
    for (const LocomoQuestion& question : conversation.questions) {
      const double share = found_share(question.evidence, find(question));
      for (const std::size_t category : {std::size_t{0}, static_cast<std::size_t>(question.category)}) {
        by_category[category].sum += share;
        by_category[category].count += 1;
      }
    }
  }
  constexpr std::string_view kNames[] = {"all", "multi-hop", "temporal", "open-domain", "single-hop"};
  for (std::size_t category = 1; category <= 5; ++category) {
    const Recall& recall = by_category[category % 5];
    print_figure("R@10 " + std::string(name) + ", " + std::string(kNames[category % 5]), recall.percent(),
                 "%", category == 5 ? goal : "",
                 std::to_string(static_cast<int>(recall.count)) + " questions");
  }
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void measure_embedders() {
  const std::string question = "Which instrument did Anna begin to play when she moved to Lisbon?";
  const double one = median_seconds([&] { keep(embed(*static_embedder(), {question}).value()); });
  print_figure("embedding a question, static", one * 1e6, "us", "< 100", "");
  const auto minilm = minilm_embedder().value();
  std::string text;
  for (int i = 0; i < 5; ++i) text += question + " ";
  const std::vector<std::string> texts(16, text);
  const double tokens = 16.0 * (5 * 13 + 2);
  keep(embed(*minilm, texts).value());
  // Of the processor's time: the machine may be shared, and the goal is for one core.
  const double before = thread_seconds();
  for (int i = 0; i < 5; ++i) keep(embed(*minilm, texts).value());
  print_figure("embedding, minilm, one core", 5 * tokens / (thread_seconds() - before), "tokens/s", ">= 2500",
               "oneDNN, fp32");
}

void measure_locomo(const std::string& path) {
  const auto conversations = read_locomo(path).value();
  measure_recall("plain BM25", plain_words(), conversations, "");
  measure_recall("plain vectors (static)", plain_vectors(static_embedder()), conversations, "");
  measure_recall("ours, words only", ours(nullptr), conversations, "");
  measure_recall("ours, static", ours(static_embedder()), conversations, ">= 75");
  const auto minilm = minilm_embedder().value();
  measure_recall("plain vectors (minilm)", plain_vectors(minilm), conversations, "");
  measure_recall("ours, minilm", ours(minilm), conversations, ">= 78");
}

}  // namespace
}  // namespace tertulia::bench

int main(int argc, char** argv) {
  using namespace tertulia::bench;
  std::string locomo;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--locomo" && i + 1 < argc) locomo = argv[++i];
  }
  measure_embedders();
  if (!locomo.empty()) measure_locomo(locomo);
}
