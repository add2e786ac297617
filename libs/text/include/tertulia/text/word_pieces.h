// Words, folded, and the pieces of words that BERT models read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

// The words of a text in lower case and without accents; a punctuation mark and an ideograph are words of
// their own. Bytes that are not UTF-8 and control characters are left out.
std::vector<std::string> folded_words(std::string_view text);

// The pieces of BERT's uncased vocabularies: the longest that is known from the left, then the longest of
// what follows, written "##…".
//
// Concurrency: immutable; any thread, any number at a time.
class WordPieces {
 public:
  // One piece a line, in the order of their ids. kDamaged without the pieces [UNK], [CLS] and [SEP].
  static Result<WordPieces> from_lines(std::string_view lines);

  WordPieces(WordPieces&&) noexcept;
  WordPieces& operator=(WordPieces&&) noexcept;
  ~WordPieces();

  std::size_t size() const;
  // The ids of a text, without [CLS] and [SEP]. A word of which no piece is known is one [UNK]. At most
  // `limit` of them; 0: all.
  std::vector<std::uint32_t> encode(std::string_view text, std::size_t limit = 0) const;
  std::uint32_t unknown() const;
  std::uint32_t begin() const;
  std::uint32_t end() const;

 private:
  struct Table;
  explicit WordPieces(std::unique_ptr<const Table> table);

  std::unique_ptr<const Table> table_;
};

}  // namespace tertulia
