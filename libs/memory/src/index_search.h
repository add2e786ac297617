// One search in a HybridIndex by words: which items come into question, and what speaks for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/memory/hybrid_index.h"

#include "question.h"
#include "sequences.h"
#include "terms.h"
#include "word_index.h"

namespace tertulia {

// How much each sign counts. Found by trying on conversations between people; the result changes little
// around them.
struct SearchWeights {
  // Words of the items before and behind it: an answer often lacks the words of its question, which stand in
  // the item before.
  float before = 0.5F;
  float behind = 0.3F;
  float two_before = 0.35F;
  float two_behind = 0.2F;
  // Of one word that several of these have, all of them together, and the one that lends most once more:
  // other words say more than the same one again.
  float lent_by_all = 0.5F;
  float lent_by_one = 0.75F;
  // The three best of its sequence together: what is being talked about.
  float sequence = 0.1F;
  // Meaning beside words, and that of the neighbours beside its own.
  float meaning = 0.15F;
  float meaning_before = 0.2F;
  float meaning_behind = 0.2F;
  // Said by the one who is asked about; from the time that is asked about; longer than others; asks something
  // itself, instead of answering.
  float speaker = 0.6F;
  float date = 1.5F;
  float length = 0.1F;
  float asking = 0.25F;
};
inline constexpr SearchWeights kWeights;

// Only so many of the items that share a word with the question, and so many of the nearest in meaning, are
// looked at closely.
inline constexpr std::size_t kWordCandidates = 500;
inline constexpr std::size_t kMeaningCandidates = 200;

// What is kept of an item beside its words and its vector.
struct KnownItem {
  std::string id;
  std::string speaker;
  std::optional<Time> time;
  Language language = Language::kEnglish;
  // How much of it are questions, 0 to 1.
  float asking = 0;
};

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

class IndexSearch {
 public:
  IndexSearch(const IndexQuery& query, const RecallQuestion& question, const WordIndex& words,
              const Sequences& sequences, const std::vector<KnownItem>& items);

  void find_by_words();
  // Takes it and those next to it.
  void choose_around(std::uint32_t label, int reach);
  // What the words of those next to each candidate lend it; once all candidates are known.
  void look_around();

  const std::vector<std::uint32_t>& candidates() const { return candidates_; }
  float own(std::uint32_t label) const { return own_[label]; }
  // Its words, those around it, and those of its sequence.
  float words_around(std::uint32_t label) const;
  // What is not in the words: who, when, how much was said, and whether it asks itself.
  float factor(std::uint32_t label) const;

 private:
  void choose(std::uint32_t label);

  const IndexQuery& query_;
  const RecallQuestion& question_;
  const WordIndex& words_;
  const Sequences& sequences_;
  const std::vector<KnownItem>& items_;
  // Of each term of the question.
  std::vector<std::vector<TermHit>> hits_;
  std::vector<float> own_;
  std::vector<float> lent_;
  std::vector<char> chosen_;
  std::vector<std::uint32_t> candidates_;
  SequenceSums sums_;
};

}  // namespace tertulia
