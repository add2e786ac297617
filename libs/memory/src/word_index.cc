#include "word_index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tertulia {
namespace {

// Repetition says little in short texts, and so does their length.
constexpr double kSaturation = 0.9;
constexpr double kLengthShare = 0.4;

double weight(std::size_t count, std::size_t holding) {
  const double all = static_cast<double>(count);
  const double some = static_cast<double>(holding);
  return std::log(1 + (all - some + 0.5) / (some + 0.5));
}

}  // namespace

void WordIndex::add(std::uint32_t label, std::span<const std::string> terms) {
  if (label >= terms_.size()) {
    terms_.resize(label + 1);
    lengths_.resize(label + 1);
  }
  std::map<std::uint32_t, std::uint32_t> times;
  for (const std::string& term : terms) {
    const auto [found, fresh] = ids_.emplace(term, static_cast<std::uint32_t>(postings_.size()));
    if (fresh) postings_.emplace_back();
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

std::vector<std::uint32_t> WordIndex::score(std::span<const std::string> terms,
                                            std::vector<float>& scores) const {
  std::vector<std::uint32_t> touched;
  double most = 0;
  for (const std::string& term : terms) {
    auto found = ids_.find(term);
    most += weight(count_, found == ids_.end() ? 0 : postings_[found->second].size());
  }
  if (most == 0) return touched;
  const double average = std::max(average_length(), 1.0);
  for (const std::string& term : terms) {
    auto found = ids_.find(term);
    if (found == ids_.end()) continue;
    const std::vector<Posting>& postings = postings_[found->second];
    const double share = weight(count_, postings.size()) / most;
    for (const Posting& posting : postings) {
      const double times = posting.times;
      const double length = lengths_[posting.label];
      const double damping = kSaturation * (1 - kLengthShare + kLengthShare * length / average);
      float& score = scores[posting.label];
      if (score == 0) touched.push_back(posting.label);
      score += static_cast<float>(share * times / (times + damping));
    }
  }
  return touched;
}

}  // namespace tertulia
