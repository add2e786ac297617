// A Tokenizer: text as the units a model reads and bills.
//
//   auto tokenizer = tokenizer_for_model("gpt-4o");
//   std::size_t cost = tokenizer->count("Good evening, all.");
//
// Special tokens have no power here: "<|endoftext|>" in a text is a few ordinary characters, so what a user
// writes cannot end a document or open a role.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/text/stream_counter.h"

namespace tertulia {

// Text need not be well-formed UTF-8: a byte that does not belong is cut as a character of no class and keeps
// its value, so nothing is lost and nothing fails.
//
// Concurrency: immutable; any thread, any number at a time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // For example "o200k_base".
  virtual std::string_view name() const = 0;
  // True if count() is a guess by length. Whoever shows such a number says so.
  virtual bool is_estimate() const { return false; }

  // How many tokens encode() would give, without making them.
  virtual std::size_t count(std::string_view text) const = 0;
  // The ids of the model's vocabulary. kUnknownTokenizer for an estimate, which has none.
  virtual Result<std::vector<std::uint32_t>> encode(std::string_view text) const = 0;
  // The bytes of the ids; any cut of an encoding may end within a character. kOutOfRange {index} for an id
  // that is not in the vocabulary.
  virtual Result<std::string> decode(std::span<const std::uint32_t> ids) const = 0;

  // Counts a text that is still arriving. The tokenizer must outlive the counter. Unless a tokenizer knows
  // better, the counter keeps the text and counts all of it when asked.
  virtual std::unique_ptr<StreamCounter> new_stream() const;
};

// "o200k_base", "cl100k_base" or "estimate". A vocabulary is unpacked the first time that it is asked for and
// shared from then on. kUnknownTokenizer {known}.
Result<std::shared_ptr<const Tokenizer>> tokenizer_named(std::string_view name);

// The tokenizer of a model by its name ("gpt-4o-mini", "o3", "text-embedding-3-small"); a provider in front
// of it
// ("openai/gpt-4o") is passed over. For a model that is not known it is the estimate, which says that it is
// one.
std::shared_ptr<const Tokenizer> tokenizer_for_model(std::string_view model);

// Four bytes a token, rounded up; nothing for no text.
std::shared_ptr<const Tokenizer> estimating_tokenizer();

}  // namespace tertulia
