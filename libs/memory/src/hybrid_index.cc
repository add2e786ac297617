#include "tertulia/memory/hybrid_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tertulia/memory/vector_index.h"
#include "tertulia/text/word_pieces.h"

#include "index_search.h"
#include "question.h"
#include "sentences.h"
#include "sequences.h"
#include "terms.h"
#include "word_index.h"

namespace tertulia {
namespace {

// The sum of signs at which the strength is 0.63: most of the words, in a text of usual length.
constexpr double kStrengthScale = 0.6;
// What a text scores that is just strong enough to fit, and the strength that this takes with words. That by
// meaning alone follows from the embedder. Chosen with documents and questions: asked_documents.h.
constexpr double kFittingScore = 0.75;
constexpr double kFittingWithWords = 0.28;
// Among more items than a few, something is near by chance: by which share more strength it takes, for each
// time that there are e times as many.
constexpr double kFewItems = 8;
constexpr double kGrowth = 0.125;

double fitting_among(std::size_t items, double fitting) {
  const double times = std::max(static_cast<double>(items) / kFewItems, 1.0);
  return std::clamp(fitting * (1 + kGrowth * std::log(times)), 1e-6, 1 - 1e-6);
}

// Of a strength between 0 and 1: one line up to what is fitting, another one from there.
double score_of(double strength, double fitting) {
  if (strength < fitting) return kFittingScore * strength / fitting;
  return kFittingScore + (1 - kFittingScore) * (strength - fitting) / (1 - fitting);
}

using VectorFilter = std::function<bool(std::uint32_t)>;

// How much of a text are questions, 0 to 1.
float asking_share(std::string_view text) {
  std::size_t all = 0;
  std::size_t asking = 0;
  for (const std::string& sentence : sentences_of(text)) {
    all += sentence.size();
    if (is_question(sentence)) asking += sentence.size();
  }
  return all == 0 ? 0 : static_cast<float>(asking) / static_cast<float>(all);
}

std::string first_word(std::string_view name) {
  std::vector<std::string> words = folded_words(name);
  return words.empty() ? std::string() : std::move(words.front());
}

}  // namespace

struct HybridIndex::Impl {
  explicit Impl(const HybridOptions& given) : options(given) {}

  std::uint32_t free_label() {
    if (free.empty()) {
      items.emplace_back();
      return static_cast<std::uint32_t>(items.size() - 1);
    }
    const std::uint32_t label = free.back();
    free.pop_back();
    return label;
  }

  float meaning_of(float cosine) const {
    const float range = std::max(options.same - options.unrelated, 1e-6F);
    return std::clamp((cosine - options.unrelated) / range, 0.0F, 1.0F);
  }

  std::unordered_set<std::string> speaker_names() const {
    std::unordered_set<std::string> names;
    for (const auto& [name, count] : speakers) names.insert(name);
    return names;
  }

  std::vector<Language> languages_present() const {
    std::vector<Language> present;
    for (std::size_t i = 0; i < kLanguages; ++i) {
      if (languages[i] > 0) present.push_back(static_cast<Language>(i));
    }
    return present;
  }

  HybridOptions options;
  std::unordered_map<std::string, std::uint32_t> labels;
  std::vector<KnownItem> items;
  std::vector<std::uint32_t> free;
  // How many items each has.
  std::unordered_map<std::string, std::size_t> speakers;
  std::array<std::size_t, kLanguages> languages{};
  WordIndex words;
  Sequences sequences;
  std::optional<VectorIndex> vectors;
};

namespace {

struct Scored {
  std::uint32_t label;
  float cosine;
  double strength;
  double score;
};

// The best of them, with their names. Names are compared only where strengths are equal.
std::vector<Found> best_of(std::vector<Scored>& scored, const IndexQuery& query,
                           const std::vector<KnownItem>& items) {
  // Without a word in common, what is no nearer than anything else was not found.
  std::erase_if(scored, [&](const Scored& one) {
    return one.score < query.min_score || (query.words && one.strength <= 0);
  });
  const auto cut = scored.begin() + static_cast<std::ptrdiff_t>(std::min(query.top_k, scored.size()));
  std::partial_sort(scored.begin(), cut, scored.end(), [&](const Scored& a, const Scored& b) {
    if (a.strength != b.strength) return a.strength > b.strength;
    return a.cosine != b.cosine ? a.cosine > b.cosine : items[a.label].id < items[b.label].id;
  });
  std::vector<Found> found;
  for (auto one = scored.begin(); one != cut; ++one) {
    found.push_back({items[one->label].id, one->score, one->strength, 0, one->cosine});
  }
  return found;
}

}  // namespace

HybridIndex::HybridIndex(const HybridOptions& options) : impl_(std::make_unique<Impl>(options)) {}
HybridIndex::HybridIndex(HybridIndex&&) noexcept = default;
HybridIndex& HybridIndex::operator=(HybridIndex&&) noexcept = default;
HybridIndex::~HybridIndex() = default;

Result<void> HybridIndex::add(IndexItem item) {
  Impl& impl = *impl_;
  if (!item.vector.empty() && !impl.vectors) {
    if (impl.options.dimensions == 0) impl.options.dimensions = item.vector.size();
    impl.vectors.emplace(
        VectorIndexOptions{.dimensions = impl.options.dimensions, .graph_from = impl.options.graph_from});
  }
  remove(item.id);
  const std::uint32_t label = impl.free_label();
  if (!item.vector.empty()) {
    if (auto added = impl.vectors->add(label, item.vector); !added) {
      impl.free.push_back(label);
      return std::move(added).error();
    }
  }
  const TextTerms read = read_terms(item.text);
  ++impl.languages[static_cast<std::size_t>(read.language)];
  impl.words.add(label, read.terms, read.words);
  impl.sequences.add(label, item.sequence, item.place);
  std::string speaker = first_word(item.speaker);
  if (!speaker.empty()) ++impl.speakers[speaker];
  impl.labels.emplace(item.id, label);
  const float asking = asking_share(item.text);
  impl.items[label] = {std::move(item.id), std::move(speaker), item.time, read.language, asking};
  return {};
}

bool HybridIndex::remove(std::string_view id) {
  const std::string name(id);
  return remove(std::span(&name, 1)) == 1;
}

std::size_t HybridIndex::remove(std::span<const std::string> ids) {
  Impl& impl = *impl_;
  std::vector<std::uint32_t> gone;
  for (const std::string& id : ids) {
    auto found = impl.labels.find(id);
    if (found == impl.labels.end()) continue;
    const std::uint32_t label = found->second;
    impl.labels.erase(found);
    impl.sequences.remove(label);
    if (impl.vectors) impl.vectors->remove(label);
    if (auto speaker = impl.speakers.find(impl.items[label].speaker); speaker != impl.speakers.end()) {
      if (--speaker->second == 0) impl.speakers.erase(speaker);
    }
    --impl.languages[static_cast<std::size_t>(impl.items[label].language)];
    impl.items[label] = {};
    gone.push_back(label);
  }
  if (gone.empty()) return 0;
  impl.words.remove(gone);
  impl.free.insert(impl.free.end(), gone.begin(), gone.end());
  return gone.size();
}

void HybridIndex::clear() { impl_ = std::make_unique<Impl>(impl_->options); }
std::size_t HybridIndex::size() const { return impl_->labels.size(); }
bool HybridIndex::contains(std::string_view id) const { return impl_->labels.contains(std::string(id)); }

std::vector<Found> HybridIndex::search(const IndexQuery& query) const {
  const Impl& impl = *impl_;
  const bool by_meaning = impl.vectors && query.vector.size() == impl.options.dimensions;
  const VectorFilter passes = [&](std::uint32_t label) {
    return !query.filter || query.filter(impl.items[label].id);
  };
  std::vector<Near> nearest;
  // Of every item, where all were looked at.
  std::vector<float> cosines;
  if (by_meaning) {
    const std::size_t count = std::max(query.top_k, query.words ? kMeaningCandidates : 0);
    nearest = impl.vectors->nearest(query.vector, count, query.filter ? passes : VectorFilter(),
                                    query.words ? &cosines : nullptr);
  }
  std::vector<Scored> scored;
  if (!query.words) {
    const double fitting = fitting_among(size() * query.searches, impl.meaning_of(impl.options.fitting));
    for (const Near& near : nearest) {
      const double strength = impl.meaning_of(near.cosine);
      scored.push_back({near.label, near.cosine, strength, score_of(strength, fitting)});
    }
    return best_of(scored, query, impl.items);
  }

  const std::unordered_set<std::string> speakers = impl.speaker_names();
  const RecallQuestion question = read_question(query.text, {.speakers = speakers,
                                                             .languages = impl.languages_present(),
                                                             .related = query.related,
                                                             .now = query.now});
  IndexSearch search(query, question, impl.words, impl.sequences, impl.items);
  search.find_by_words();
  for (const Near& near : nearest) search.choose_around(near.label, 1);
  search.look_around();
  const std::vector<std::uint32_t>& candidates = search.candidates();
  const auto cosine_of = [&](std::uint32_t label) {
    if (!by_meaning || label == kNone) return 0.0F;
    return label < cosines.size() ? cosines[label] : impl.vectors->cosine(query.vector, label);
  };
  const double fitting = fitting_among(size() * query.searches, kFittingWithWords);
  for (const std::uint32_t label : candidates) {
    const float cosine = cosine_of(label);
    const float meaning = impl.meaning_of(cosine) +
                          kWeights.meaning_before * impl.meaning_of(cosine_of(impl.sequences.before(label))) +
                          kWeights.meaning_behind * impl.meaning_of(cosine_of(impl.sequences.behind(label)));
    const double sum = search.words_around(label) + (by_meaning ? kWeights.meaning * meaning : 0);
    const double strength = 1 - std::exp(-sum * search.factor(label) / kStrengthScale);
    scored.push_back({label, cosine, strength, score_of(strength, fitting)});
  }
  std::vector<Found> found = best_of(scored, query, impl.items);
  for (Found& one : found) one.words = search.own(impl.labels.at(one.id));
  return found;
}

std::vector<std::string> HybridIndex::neighbours(std::string_view id, std::size_t reach) const {
  auto found = impl_->labels.find(std::string(id));
  if (found == impl_->labels.end()) return {};
  std::vector<std::string> ids;
  std::uint32_t at = impl_->sequences.before(found->second);
  for (std::size_t i = 0; i < reach && at != kNone; ++i, at = impl_->sequences.before(at)) {
    ids.insert(ids.begin(), impl_->items[at].id);
  }
  at = impl_->sequences.behind(found->second);
  for (std::size_t i = 0; i < reach && at != kNone; ++i, at = impl_->sequences.behind(at)) {
    ids.push_back(impl_->items[at].id);
  }
  return ids;
}

}  // namespace tertulia
