// Counts the tokens of a text while it arrives.
#pragma once

#include <cstddef>
#include <string_view>

namespace tertulia {

// Made by Tokenizer::new_stream. total() is at every moment what Tokenizer::count says of everything appended
// so far, also when a chunk ends within a word, a run of spaces or a character.
//
// Cost: of append() and total() together, that of the chunk and of the few tokens before it that it can still
// change, whatever went before.
// Concurrency: one thread at a time.
class StreamCounter {
 public:
  virtual ~StreamCounter() = default;

  virtual void append(std::string_view chunk) = 0;
  virtual std::size_t total() = 0;
};

}  // namespace tertulia
