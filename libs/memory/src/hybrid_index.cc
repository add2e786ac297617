#include "tertulia/memory/hybrid_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tertulia/memory/vector_index.h"
#include "tertulia/text/word_pieces.h"

#include "question.h"
#include "sequences.h"
#include "terms.h"
#include "word_index.h"

namespace tertulia {
namespace {

// How much each sign counts. Found by trying on conversations between people; the result changes little
// around them.
struct Weights {
  // Words of the items before and behind it: an answer often lacks the words of its question, which stand in
  // the item before.
  float before = 0.5F;
  float behind = 0.3F;
  float two_before = 0.35F;
  float two_behind = 0.2F;
  // The three best of its sequence together: what is being talked about.
  float sequence = 0.1F;
  // Meaning beside words, and that of the neighbours beside its own.
  float meaning = 0.15F;
  float meaning_before = 0.2F;
  float meaning_behind = 0.2F;
  // Said by the one who is asked about; from the time that is asked about; longer than others.
  float speaker = 0.8F;
  float date = 1.5F;
  float length = 0.1F;
};
constexpr Weights kWeights;

// Only so many of the items that share a word with the question, and so many of the nearest in meaning, are
// looked at closely.
constexpr std::size_t kWordCandidates = 500;
constexpr std::size_t kMeaningCandidates = 200;
// The sum of signs at which the strength is 0.63: most of the words, in a text of usual length.
constexpr double kStrengthScale = 0.6;
// What a text scores that is just strong enough to fit, and the strength that this takes with words. That by
// meaning alone follows from the embedder. Chosen with documents and questions: asked_documents.h.
constexpr double kFittingScore = 0.75;
constexpr double kFittingWithWords = 0.28;
// Among more items than a few, something is near by chance: how much more strength it takes, for each time
// that there are e times as many.
constexpr double kFewItems = 8;
constexpr double kGrowth = 0.02;
constexpr double kGrowthWithWords = 0.035;

double fitting_among(std::size_t items, double fitting, double growth) {
  const double times = std::max(static_cast<double>(items) / kFewItems, 1.0);
  return std::clamp(fitting + growth * std::log(times), 1e-6, 1 - 1e-6);
}

// Of a strength between 0 and 1: one line up to what is fitting, another one from there.
double score_of(double strength, double fitting) {
  if (strength < fitting) return kFittingScore * strength / fitting;
  return kFittingScore + (1 - kFittingScore) * (strength - fitting) / (1 - fitting);
}

using VectorFilter = std::function<bool(std::uint32_t)>;

struct Item {
  std::string id;
  std::string speaker;
  std::optional<Time> time;
  Language language = Language::kEnglish;
};

std::string first_word(std::string_view name) {
  std::vector<std::string> words = folded_words(name);
  return words.empty() ? std::string() : std::move(words.front());
}

// The sums of the three largest values of each sequence.
class SequenceSums {
 public:
  explicit SequenceSums(std::size_t sequences) : best_(sequences) {}

  void add(std::uint32_t sequence, float value) {
    if (sequence == kNone) return;
    for (float& place : best_[sequence]) {
      if (value > place) std::swap(value, place);
    }
  }
  float of(std::uint32_t sequence) const {
    if (sequence == kNone) return 0;
    const auto& best = best_[sequence];
    return best[0] + best[1] + best[2];
  }

 private:
  std::vector<std::array<float, 3>> best_;
};

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
  std::vector<Item> items;
  std::vector<std::uint32_t> free;
  // How many items each has.
  std::unordered_map<std::string, std::size_t> speakers;
  std::array<std::size_t, kLanguages> languages{};
  WordIndex words;
  Sequences sequences;
  std::optional<VectorIndex> vectors;
};

namespace {

// One search: what is known of the items that come into question.
class Search {
 public:
  Search(const IndexQuery& query, const RecallQuestion& question, const WordIndex& words,
         const Sequences& sequences, const std::vector<Item>& items)
      : query_(query),
        question_(question),
        words_(words),
        sequences_(sequences),
        items_(items),
        sums_(sequences.count()) {
    own_.resize(items.size());
    chosen_.resize(items.size());
  }

  void find_by_words() {
    std::vector<std::uint32_t> touched = words_.score(question_.terms, own_);
    for (const std::uint32_t label : touched) sums_.add(sequences_.sequence(label), own_[label]);
    if (touched.size() > kWordCandidates) {
      const auto cut = touched.begin() + static_cast<std::ptrdiff_t>(kWordCandidates);
      std::nth_element(touched.begin(), cut, touched.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return own_[a] > own_[b]; });
      touched.erase(cut, touched.end());
    }
    for (const std::uint32_t label : touched) choose_around(label, 2);
  }

  // Takes it and those next to it.
  void choose_around(std::uint32_t label, int reach) {
    choose(label);
    std::uint32_t before = label;
    std::uint32_t behind = label;
    for (int i = 0; i < reach; ++i) {
      if (before != kNone) before = sequences_.before(before);
      if (behind != kNone) behind = sequences_.behind(behind);
      choose(before);
      choose(behind);
    }
  }

  const std::vector<std::uint32_t>& candidates() const { return candidates_; }
  float own(std::uint32_t label) const { return own_[label]; }

  // Its words, those around it, and those of its sequence.
  float words_around(std::uint32_t label) const {
    const std::uint32_t before = sequences_.before(label);
    const std::uint32_t behind = sequences_.behind(label);
    float sum = own_[label] + kWeights.before * own_of(before) + kWeights.behind * own_of(behind);
    if (before != kNone) sum += kWeights.two_before * own_of(sequences_.before(before));
    if (behind != kNone) sum += kWeights.two_behind * own_of(sequences_.behind(behind));
    return sum + kWeights.sequence * sums_.of(sequences_.sequence(label));
  }

  // What is not in the words: who, when, and how much was said.
  float factor(std::uint32_t label) const {
    const Item& item = items_[label];
    float factor = 1;
    if (question_.named.size() == 1 && item.speaker == question_.named.front()) factor += kWeights.speaker;
    if (question_.date && item.time) {
      factor *= 1 + kWeights.date * static_cast<float>(question_.date->fit(*item.time));
    }
    const double length = std::max(words_.length(label), 1U);
    const double longer = std::log(length / std::max(words_.average_length(), 1.0));
    return factor * std::clamp(1 + kWeights.length * static_cast<float>(longer), 0.5F, 1.5F);
  }

 private:
  void choose(std::uint32_t label) {
    if (label == kNone || std::exchange(chosen_[label], 1)) return;
    if (!query_.filter || query_.filter(items_[label].id)) candidates_.push_back(label);
  }
  float own_of(std::uint32_t label) const { return label == kNone ? 0 : own_[label]; }

  const IndexQuery& query_;
  const RecallQuestion& question_;
  const WordIndex& words_;
  const Sequences& sequences_;
  const std::vector<Item>& items_;
  std::vector<float> own_;
  std::vector<char> chosen_;
  std::vector<std::uint32_t> candidates_;
  SequenceSums sums_;
};

struct Scored {
  std::uint32_t label;
  float cosine;
  double strength;
  double score;
};

// The best of them, with their names. Names are compared only where strengths are equal.
std::vector<Found> best_of(std::vector<Scored>& scored, const IndexQuery& query,
                           const std::vector<Item>& items) {
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
  impl.items[label] = {std::move(item.id), std::move(speaker), item.time, read.language};
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
    const double fitting = fitting_among(size(), impl.meaning_of(impl.options.fitting), kGrowth);
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
  Search search(query, question, impl.words, impl.sequences, impl.items);
  search.find_by_words();
  for (const Near& near : nearest) search.choose_around(near.label, 1);
  const std::vector<std::uint32_t>& candidates = search.candidates();
  const auto cosine_of = [&](std::uint32_t label) {
    if (!by_meaning || label == kNone) return 0.0F;
    return label < cosines.size() ? cosines[label] : impl.vectors->cosine(query.vector, label);
  };
  const double fitting = fitting_among(size(), kFittingWithWords, kGrowthWithWords);
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
