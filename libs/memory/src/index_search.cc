#include "index_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tertulia {
namespace {

// Up to two items on each side, with what the words of this one are worth to them.
template <class Each>
void for_neighbours(const Sequences& sequences, std::uint32_t label, Each each) {
  const std::uint32_t before = sequences.before(label);
  const std::uint32_t behind = sequences.behind(label);
  // To the one behind it, it is the one before.
  if (behind != kNone) each(behind, kWeights.before);
  if (before != kNone) each(before, kWeights.behind);
  if (behind != kNone && sequences.behind(behind) != kNone) {
    each(sequences.behind(behind), kWeights.two_before);
  }
  if (before != kNone && sequences.before(before) != kNone) {
    each(sequences.before(before), kWeights.two_behind);
  }
}

}  // namespace

IndexSearch::IndexSearch(const IndexQuery& query, const RecallQuestion& question, const WordIndex& words,
                         const Sequences& sequences, const std::vector<KnownItem>& items)
    : query_(query),
      question_(question),
      words_(words),
      sequences_(sequences),
      items_(items),
      own_(items.size()),
      lent_(items.size()),
      chosen_(items.size()),
      sums_(sequences.count()) {}

void IndexSearch::find_by_words() {
  hits_ = words_.hits(question_.terms);
  std::vector<std::uint32_t> touched;
  for (const std::vector<TermHit>& term : hits_) {
    for (const TermHit& hit : term) {
      if (own_[hit.label] == 0) touched.push_back(hit.label);
      own_[hit.label] += hit.value;
    }
  }
  for (const std::uint32_t label : touched) sums_.add(sequences_.sequence(label), own_[label]);
  if (touched.size() > kWordCandidates) {
    const auto cut = touched.begin() + static_cast<std::ptrdiff_t>(kWordCandidates);
    std::nth_element(touched.begin(), cut, touched.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return own_[a] > own_[b]; });
    touched.erase(cut, touched.end());
  }
  for (const std::uint32_t label : touched) choose_around(label, 2);
}

void IndexSearch::choose_around(std::uint32_t label, int reach) {
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

void IndexSearch::look_around() {
  std::vector<char> lends(items_.size());
  for (const std::uint32_t label : candidates_) {
    for_neighbours(sequences_, label, [&](std::uint32_t other, float) { lends[other] = 1; });
  }
  std::vector<float> largest(items_.size());
  std::vector<std::uint32_t> reached;
  for (const std::vector<TermHit>& term : hits_) {
    for (const TermHit& hit : term) {
      if (lends[hit.label] == 0) continue;
      for_neighbours(sequences_, hit.label, [&](std::uint32_t other, float weight) {
        if (chosen_[other] == 0) return;
        const float value = weight * hit.value;
        if (largest[other] == 0) reached.push_back(other);
        largest[other] = std::max(largest[other], value);
        lent_[other] += kWeights.lent_by_all * value;
      });
    }
    for (const std::uint32_t label : reached) {
      lent_[label] += kWeights.lent_by_one * std::exchange(largest[label], 0.0F);
    }
    reached.clear();
  }
}

float IndexSearch::words_around(std::uint32_t label) const {
  return own_[label] + lent_[label] + kWeights.sequence * sums_.of(sequences_.sequence(label));
}

float IndexSearch::factor(std::uint32_t label) const {
  const KnownItem& item = items_[label];
  float factor = 1;
  if (question_.named.size() == 1 && item.speaker == question_.named.front()) factor += kWeights.speaker;
  if (question_.date && item.time) {
    factor *= 1 + kWeights.date * static_cast<float>(question_.date->fit(*item.time));
  }
  const double length = std::max(words_.length(label), 1U);
  const double longer = std::log(length / std::max(words_.average_length(), 1.0));
  factor *= 1 - kWeights.asking * item.asking;
  return factor * std::clamp(1 + kWeights.length * static_cast<float>(longer), 0.5F, 1.5F);
}

void IndexSearch::choose(std::uint32_t label) {
  if (label == kNone || std::exchange(chosen_[label], 1)) return;
  if (!query_.filter || query_.filter(items_[label].id)) candidates_.push_back(label);
}

}  // namespace tertulia
