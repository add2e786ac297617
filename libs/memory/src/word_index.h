// Which items hold which words, and how much a word says (BM25).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "related_words.h"

namespace tertulia {

// A word of a question.
struct AskedTerm {
  // Where the language cannot be told for certain, the stems that it has in each that comes into question:
  // one of them counts.
  std::vector<std::string> stems;
  // As it was written, to find words that have to do with it. Empty: only itself counts.
  std::string word{};
};

// What a term weighs in an item.
struct TermHit {
  std::uint32_t label;
  float value;
};

// Labels are dense numbers from 0. A value; const functions from any number of threads at a time.
class WordIndex {
 public:
  // `label` must not be there. `words`: how the terms were written, one for each.
  void add(std::uint32_t label, std::span<const std::string> terms, std::span<const std::string> words);
  // Costs a pass over the items of each word that one of them has: many at once cost little more than one.
  void remove(std::span<const std::uint32_t> labels);

  // Terms of an item, repetitions counted.
  std::uint32_t length(std::uint32_t label) const { return lengths_[label]; }
  double average_length() const { return count_ == 0 ? 0 : double(total_length_) / double(count_); }

  // For each term, what it weighs in each item that has it, or less in one that has a word that has to do
  // with it, as a share of what an item with all of them could have: together 0 to about 1.
  std::vector<std::vector<TermHit>> hits(std::span<const AskedTerm> asked) const;

 private:
  struct Posting {
    std::uint32_t label;
    std::uint32_t times;
  };

  // A term by its number, and what it weighs in an item that has it often.
  struct Form {
    std::uint32_t term;
    double weight;
  };
  // The forms of a term that are there, the related ones behind; and what the term itself weighs.
  double forms_of(const AskedTerm& asked, std::vector<Form>& forms) const;

  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::vector<Posting>> postings_;
  // The terms of each item, and how many they are: apart, since a search needs only the lengths.
  std::vector<std::vector<std::uint32_t>> terms_;
  std::vector<std::uint32_t> lengths_;
  RelatedWords related_;
  std::size_t count_ = 0;
  std::uint64_t total_length_ = 0;
};

}  // namespace tertulia
