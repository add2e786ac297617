// How well and how fast memory finds.
//
//   bench_memory [--locomo FILE] [--oracle FOLDER] [--large]
//
// Without a file of conversations, how much of them is found is not measured. --oracle: sentences.txt and
// own_fp32_from_int8.f32, to which the vectors of minilm are compared. --large also builds the graph of a
// million vectors, which takes minutes and 2 GB.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/memory/conversation_index.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/memory/vector_index.h"
#include "tertulia/model/embedder.h"
#include "tertulia/model/minilm_embedder.h"

#include "figure.h"
#include "locomo.h"
#include "score_bench.h"
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

// Words alone: no neighbours, no speakers, no times, no other words.
Method plain_words() {
  return [](const LocomoConversation& conversation) -> Finder {
    auto index = std::make_shared<HybridIndex>();
    for (const LocomoTurn& turn : conversation.turns) {
      index->add({.id = turn.id, .text = turn.speaker + ": " + turn.text}).value();
    }
    return [index](const LocomoQuestion& question) {
      return ids_of(index->search({.text = question.text, .top_k = kTop, .related = false}));
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
  std::vector<std::pair<double, std::string>> by_conversation;
  std::map<std::string, double> counts;
  for (const LocomoConversation& conversation : conversations) {
    const Finder find = method(conversation);
    const Recall before = by_category[0];
    for (const LocomoQuestion& question : conversation.questions) {
      const double share = found_share(question.evidence, find(question));
      for (const std::size_t category : {std::size_t{0}, static_cast<std::size_t>(question.category)}) {
        by_category[category].sum += share;
        by_category[category].count += 1;
      }
    }
    const Recall own{by_category[0].sum - before.sum, by_category[0].count - before.count};
    by_conversation.emplace_back(own.percent(), conversation.name);
    counts[conversation.name] = own.count;
  }
  constexpr std::string_view kNames[] = {"all", "multi-hop", "temporal", "open-domain", "single-hop"};
  if (!goal.empty()) {
    // How much depends on which conversations one happens to have.
    const auto lowest = std::min_element(by_conversation.begin(), by_conversation.end());
    print_figure("R@10 " + std::string(name) + ", lowest of " + std::to_string(by_conversation.size()) +
                     " conversations",
                 lowest->first, "%", "", lowest->second);
    for (const auto& [percent, conversation] : by_conversation) {
      print_figure("R@10 " + std::string(name) + ", " + conversation + " alone", percent, "%", "",
                   std::to_string(static_cast<int>(counts[conversation])) + " questions");
      print_figure("R@10 " + std::string(name) + ", all but " + conversation,
                   (by_category[0].sum * 100 - percent * counts[conversation]) /
                       (by_category[0].count - counts[conversation]),
                   "%", "", "");
    }
  }
  for (std::size_t category = 1; category <= 5; ++category) {
    const Recall& recall = by_category[category % 5];
    print_figure("R@10 " + std::string(name) + ", " + std::string(kNames[category % 5]), recall.percent(),
                 "%", category == 5 ? goal : "",
                 std::to_string(static_cast<int>(recall.count)) + " questions");
  }
}

// Of the processor's time: the machine may be shared, and the goals are for one core.
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
  const double before = thread_seconds();
  for (int i = 0; i < 5; ++i) keep(embed(*minilm, texts).value());
  print_figure("embedding, minilm, one core", 5 * tokens / (thread_seconds() - before), "tokens/s", ">= 2500",
               "oneDNN, fp32");
}

std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The vectors of minilm beside those of the reference, computed in 32-bit floats.
void measure_likeness(const std::string& folder) {
  std::istringstream lines(whole_file(folder + "/sentences.txt"));
  const std::string bytes = whole_file(folder + "/own_fp32_from_int8.f32");
  std::vector<std::string> sentences;
  for (std::string line; std::getline(lines, line);) sentences.push_back(line);
  const auto vectors = embed(*minilm_embedder().value(), sentences).value();
  double least = 1;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    std::vector<float> expected(vectors[i].size());
    if ((i + 1) * expected.size() * sizeof(float) > bytes.size()) break;
    std::memcpy(expected.data(), bytes.data() + i * expected.size() * sizeof(float),
                expected.size() * sizeof(float));
    double dot = 0;
    double square = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      dot += static_cast<double>(expected[k]) * static_cast<double>(vectors[i][k]);
      square += static_cast<double>(expected[k]) * static_cast<double>(expected[k]);
    }
    least = std::min(least, dot / std::sqrt(square));
  }
  print_figure("embedding, minilm: lowest cosine with the reference", least, "", ">= 0.99",
               std::to_string(vectors.size()) + " sentences");
}

std::vector<float> random_vector(std::mt19937& random, std::size_t dimensions) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(dimensions);
  for (float& value : vector) value = normal(random);
  return vector;
}

void make_unit(std::vector<float>& vector) {
  float square = 0;
  for (const float value : vector) square += value * value;
  for (float& value : vector) value /= std::sqrt(square);
}

// Texts that share words as prose does: a few words everywhere, most of them rare.
std::string random_text(std::mt19937& random) {
  std::exponential_distribution<double> rare(1.0 / 2'000);
  std::string text;
  for (int i = 0; i < 24; ++i) text += "w" + std::to_string(static_cast<int>(rare(random))) + " ";
  return text;
}

double percentile(std::vector<double>& times, double share) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1,
                        static_cast<std::size_t>(share * static_cast<double>(times.size())))];
}

void measure_retrieval() {
  constexpr std::size_t kItems = 100'000;
  std::mt19937 random(11);
  const std::size_t dimensions = static_embedder()->info().dimensions;
  HybridIndex index({.dimensions = dimensions, .graph_from = kItems + 1});
  for (std::size_t i = 0; i < kItems; ++i) {
    std::vector<float> vector = random_vector(random, dimensions);
    make_unit(vector);
    index
        .add({.id = std::to_string(i),
              .text = random_text(random),
              .sequence = std::to_string(i / 50),
              .place = i,
              .vector = std::move(vector)})
        .value();
  }
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const std::string question = random_text(random).substr(0, 40);
    const double start = thread_seconds();
    IndexQuery query{.text = question, .vector = embed(*static_embedder(), {question}).value().front()};
    query.vector[0] += 1e-3F;
    keep(index.search(query));
    times.push_back((thread_seconds() - start) * 1e3);
  }
  print_figure("recall among 100,000 items, p50", percentile(times, 0.5), "ms", "< 5",
               "words and 256 numbers each");
  print_figure("recall among 100,000 items, p99", percentile(times, 0.99), "ms", "", "");
}

// Vectors as texts give them: around themes, not spread evenly.
std::vector<std::vector<float>> themed_vectors(std::size_t count, std::size_t dimensions,
                                               std::mt19937& random) {
  std::vector<std::vector<float>> themes;
  for (int i = 0; i < 2'000; ++i) themes.push_back(random_vector(random, dimensions));
  std::vector<std::vector<float>> vectors;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> vector = random_vector(random, dimensions);
    const std::vector<float>& theme = themes[random() % themes.size()];
    for (std::size_t k = 0; k < dimensions; ++k) vector[k] += theme[k];
    make_unit(vector);
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

void measure_graph(std::size_t count) {
  constexpr std::size_t kDimensions = 256;
  std::mt19937 random(5);
  std::vector<std::vector<float>> all = themed_vectors(count + 200, kDimensions, random);
  const std::vector<std::vector<float>> questions(all.end() - 200, all.end());
  all.resize(count);
  VectorIndex graph({.dimensions = kDimensions, .graph_from = 1});
  VectorIndex exact({.dimensions = kDimensions, .graph_from = count + 1});
  const double start = thread_seconds();
  for (std::uint32_t i = 0; i < count; ++i) graph.add(i, all[i]).value();
  print_figure("graph: adding a vector, one core", static_cast<double>(count) / (thread_seconds() - start),
               "/s", ">= 2000", std::to_string(count) + " x 256");
  for (std::uint32_t i = 0; i < count; ++i) exact.add(i, all[i]).value();
  double hits = 0;
  std::vector<double> times;
  for (const std::vector<float>& question : questions) {
    const double begin = thread_seconds();
    const std::vector<Near> found = graph.nearest(question, kTop);
    times.push_back((thread_seconds() - begin) * 1e3);
    for (const Near& near : exact.nearest(question, kTop)) {
      hits +=
          std::any_of(found.begin(), found.end(), [&](const Near& one) { return one.label == near.label; })
              ? 1
              : 0;
    }
  }
  print_figure("graph: recall@10", hits / static_cast<double>(questions.size() * kTop), "", ">= 0.97",
               "exact search");
  print_figure("graph: search, p99", percentile(times, 0.99), "ms", "< 5", "");
}

// In conversations of hundreds of turns: questions whose answer passes the default score, and questions about
// the next conversation that find something in this one.
void measure_floor(const std::string& name, const std::shared_ptr<Embedder>& embedder,
                   const std::vector<LocomoConversation>& conversations) {
  for (const bool words : {false, true}) {
    Recall fitting;
    Recall foreign;
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      const ConversationIndex index = whole_index(conversations[i], embedder);
      const auto found = [&](const LocomoQuestion& question) {
        return ids_of(
            index.search({.text = question.text, .top_k = kTop, .min_score = 0.75, .words = words}));
      };
      for (const LocomoQuestion& question : conversations[i].questions) {
        fitting.sum += found_share(question.evidence, found(question)) > 0 ? 1 : 0;
        fitting.count += 1;
      }
      for (const LocomoQuestion& question : conversations[(i + 1) % conversations.size()].questions) {
        foreign.sum += found(question).empty() ? 0 : 1;
        foreign.count += 1;
      }
    }
    const std::string which = "at 0.75, turns, " + name + (words ? ", words and meaning" : ", meaning alone");
    print_figure(which + ": evidence among ten that pass", fitting.percent(), "%", "", "");
    print_figure(which + ": foreign that find something", foreign.percent(), "%", "", "");
  }
}

void measure_locomo(const std::string& path) {
  const auto conversations = read_locomo(path).value();
  measure_recall("plain BM25", plain_words(), conversations, "");
  measure_recall("plain vectors (static)", plain_vectors(static_embedder()), conversations, "");
  measure_recall("ours, words only", ours(nullptr), conversations, "");
  measure_recall("ours, static", ours(static_embedder()), conversations, ">= 75");
  const auto minilm = cached_embedder(minilm_embedder().value(), 20'000);
  measure_recall("plain vectors (minilm)", plain_vectors(minilm), conversations, "");
  measure_recall("ours, minilm", ours(minilm), conversations, ">= 78");
  measure_floor("static", static_embedder(), conversations);
  measure_floor("minilm", minilm, conversations);
}

}  // namespace
}  // namespace tertulia::bench

int main(int argc, char** argv) {
  using namespace tertulia::bench;
  std::string locomo;
  std::string oracle;
  std::size_t graph = 20'000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--locomo" && i + 1 < argc) locomo = argv[++i];
    if (word == "--oracle" && i + 1 < argc) oracle = argv[++i];
    if (word == "--large") graph = 1'000'000;
  }
  if (!locomo.empty()) measure_locomo(locomo);
  measure_scores("static", tertulia::static_embedder());
  measure_scores("minilm", tertulia::minilm_embedder().value());
  measure_embedders();
  if (!oracle.empty()) measure_likeness(oracle);
  measure_retrieval();
  measure_graph(graph);
}
