// A HybridIndex: finds items by their words and by their meaning at once.
//
//   HybridIndex index;
//   index.add({.id = "7", .text = "Anna plays the cello.", .vector = vector_of_that_text});
//   for (const Found& found : index.search({.text = "Which instrument?", .vector = vector_of_the_question}))
//   …
//
// A value: no store, no thread, no clock, no model. Vectors are made by whoever adds (model/embedder.h). It
// is never the only copy of anything: whoever owns one can build it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"

namespace tertulia {

struct IndexItem {
  // Unique within the index; adding it again replaces it.
  std::string id;
  std::string text;
  // Who said it, if somebody did. A question that names them finds what they said rather than what was said
  // to them.
  std::string speaker{};
  // Items of one sequence (the turns of a conversation, the chunks of a document) stand in the order of
  // `place`; those next to each other lend each other their words. Empty: it stands alone.
  std::string sequence{};
  std::uint64_t place = 0;
  // When it was said or written. A question about May 2023 prefers what is from then.
  std::optional<Time> time{};
  // Of length 1. Empty: it is found by words only.
  std::vector<float> vector{};
};

struct IndexQuery {
  std::string text;
  // Empty: by words only.
  std::vector<float> vector{};
  // At most this many. Default: 10.
  std::size_t top_k = 10;
  // Only what scores this or more, 0 to 1. Default: everything.
  double min_score = 0;
  // Words, names and dates as well as meaning. Default: on.
  bool words = true;
  // Words that have to do with those of the question ("dog" with "pet") as well. Default: on.
  bool related = true;
  // How many searches are made for one question, this among them: the more, the sooner something is near by
  // chance. Default: 1.
  std::size_t searches = 1;
  // When it is asked, for questions about "last week". None: such words say nothing.
  std::optional<Time> now{};
  // Only items for which this holds. Called with ids.
  std::function<bool(std::string_view id)> filter{};
};

struct Found {
  std::string id;
  // Whether it belongs to the question, 0 to 1, on a scale that is the same for all embedders, with words and
  // without: from 0.75 on it is likely to answer it.
  double score = 0;
  // What the order is by, 0 to 1; the score is made of it and grows with it.
  double strength = 0;
  // What it is made of: the share of the question's weight that its own words carry, and the cosine.
  double words = 0;
  double meaning = 0;

  bool operator==(const Found&) const = default;
};

struct HybridOptions {
  // Numbers of a vector; 0: set by the first that is added.
  std::size_t dimensions = 0;
  // Cosines between these are spread over 0 to 1, and the one between them scores 0.75
  // (EmbedderInfo::unrelated, fitting and same).
  float unrelated = 0.0F;
  float fitting = 0.75F;
  float same = 1.0F;
  // Items from which on vectors are searched through a graph instead of one by one. Default: 100,000.
  std::size_t graph_from = 100'000;
};

// Concurrency: as a value; searching (const) from any number of threads at a time.
// Cost: search is linear in the items that share a word with the question, plus a scan of int8 vectors (about
// 10 ns an item) or, in large ones, a walk through a graph.
class HybridIndex {
 public:
  explicit HybridIndex(const HybridOptions& options = {});
  HybridIndex(HybridIndex&&) noexcept;
  HybridIndex& operator=(HybridIndex&&) noexcept;
  ~HybridIndex();

  // kOutOfRange {dimensions} for a vector of another length than those before it.
  Result<void> add(IndexItem item);
  // True if it was there.
  bool remove(std::string_view id);
  // Many at once, at little more than the cost of one. How many were there.
  std::size_t remove(std::span<const std::string> ids);
  void clear();

  std::size_t size() const;
  bool contains(std::string_view id) const;

  // The best first; equal scores in the order of their ids.
  std::vector<Found> search(const IndexQuery& query) const;
  // The ids of what stands before and behind it in its sequence, up to `reach` on each side, in order and
  // without itself.
  std::vector<std::string> neighbours(std::string_view id, std::size_t reach) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia
