#include "word_index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace tertulia {
namespace {

// Repetition says little in short texts, and so does their length.
constexpr double kSaturation = 0.9;
constexpr double kLengthShare = 0.4;
// How much a word counts that only has to do with the one that was asked for.
constexpr double kRelatedShare = 0.3;

// What a word weighs that `holding` of `count` items have. In a few items nothing can be said about how rare
// words are, so they are seen among some others that have none of them.
constexpr double kOthers = 10;

double weight(std::size_t count, std::size_t holding) {
  const double all = static_cast<double>(count) + kOthers;
  const double some = static_cast<double>(holding);
  return std::log(1 + (all - some + 0.5) / (some + 0.5));
}

}  // namespace

void WordIndex::add(std::uint32_t label, std::span<const std::string> terms,
                    std::span<const std::string> words) {
  if (label >= terms_.size()) {
    terms_.resize(label + 1);
    lengths_.resize(label + 1);
  }
  std::map<std::uint32_t, std::uint32_t> times;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto [found, fresh] = ids_.emplace(terms[i], static_cast<std::uint32_t>(postings_.size()));
    if (fresh) {
      postings_.emplace_back();
      related_.add(found->second, words[i]);
    }
    ++times[found->second];
  }
  for (const auto& [term, count] : times) {
    postings_[term].push_back({label, count});
    terms_[label].push_back(term);
  }
  lengths_[label] = static_cast<std::uint32_t>(terms.size());
  ++count_;
  total_length_ += terms.size();
}

void WordIndex::remove(std::span<const std::uint32_t> labels) {
  std::vector<char> goes(terms_.size());
  std::set<std::uint32_t> touched;
  for (const std::uint32_t label : labels) {
    goes[label] = 1;
    touched.insert(terms_[label].begin(), terms_[label].end());
    total_length_ -= lengths_[label];
    --count_;
    terms_[label] = {};
    lengths_[label] = 0;
  }
  for (const std::uint32_t term : touched) {
    std::erase_if(postings_[term], [&](const Posting& posting) { return goes[posting.label] != 0; });
  }
}

double WordIndex::forms_of(const AskedTerm& asked, std::vector<Form>& forms) const {
  std::size_t holding = 0;
  for (const std::string& stem : asked.stems) {
    const auto found = ids_.find(stem);
    if (found == ids_.end()) continue;
    holding += postings_[found->second].size();
    forms.push_back({found->second, 0});
  }
  const double own = weight(count_, std::min(holding, count_));
  for (Form& form : forms) form.weight = own;
  const std::size_t itself = forms.size();
  for (const std::uint32_t term : related_.near(asked.word)) {
    const auto begin = forms.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(itself);
    if (std::any_of(begin, end, [&](const Form& form) { return form.term == term; })) continue;
    if (postings_[term].empty()) continue;
    forms.push_back({term, kRelatedShare * std::min(own, weight(count_, postings_[term].size()))});
  }
  return own;
}

std::vector<std::vector<TermHit>> WordIndex::hits(std::span<const AskedTerm> asked) const {
  std::vector<std::vector<TermHit>> hits(asked.size());
  std::vector<std::vector<Form>> forms(asked.size());
  double most = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) most += forms_of(asked[i], forms[i]);
  if (most == 0) return hits;
  const double average = std::max(average_length(), 1.0);
  // Of one term, the best of its forms counts in each item.
  std::vector<float> best(lengths_.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (const Form& form : forms[i]) {
      for (const Posting& posting : postings_[form.term]) {
        const double times = posting.times;
        const double length = lengths_[posting.label];
        const double damping = kSaturation * (1 - kLengthShare + kLengthShare * length / average);
        const auto value = static_cast<float>(form.weight / most * times / (times + damping));
        float& place = best[posting.label];
        if (place == 0) hits[i].push_back({posting.label, 0});
        place = std::max(place, value);
      }
    }
    for (TermHit& hit : hits[i]) hit.value = std::exchange(best[hit.label], 0.0F);
  }
  return hits;
}

}  // namespace tertulia
