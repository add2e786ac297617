#include "word_index.h"

#include <algorithm>
#include <cmath>
#include <map>

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
  if (label >= documents_.size()) documents_.resize(label + 1);
  std::map<std::uint32_t, std::uint32_t> times;
  for (const std::string& term : terms) {
    const auto [found, fresh] = ids_.emplace(term, static_cast<std::uint32_t>(postings_.size()));
    if (fresh) postings_.emplace_back();
    ++times[found->second];
  }
  Document& document = documents_[label];
  document.length = static_cast<std::uint32_t>(terms.size());
  document.terms.assign(times.begin(), times.end());
  for (const auto& [term, count] : times) postings_[term].push_back({label, count});
  ++count_;
  total_length_ += document.length;
}

void WordIndex::remove(std::uint32_t label) {
  Document& document = documents_[label];
  for (const auto& [term, times] : document.terms) {
    std::erase_if(postings_[term], [&](const Posting& posting) { return posting.label == label; });
  }
  --count_;
  total_length_ -= document.length;
  document = {};
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
      const double length = documents_[posting.label].length;
      const double damping = kSaturation * (1 - kLengthShare + kLengthShare * length / average);
      float& score = scores[posting.label];
      if (score == 0) touched.push_back(posting.label);
      score += static_cast<float>(share * times / (times + damping));
    }
  }
  return touched;
}

}  // namespace tertulia
