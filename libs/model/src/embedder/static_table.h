// The table of the static embedder as it stands in the library (docs/formats/static-embeddings.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/text/word_pieces.h"

namespace tertulia {

// The bytes that were built into the library.
std::string_view embedded_static_table();

// A view into bytes that must outlive it.
class StaticTable {
 public:
  // kDamaged for anything that is not such a table.
  static Result<StaticTable> read(std::string_view bytes);
  // The embedded one.
  static const StaticTable& get();

  std::size_t dimensions() const { return dimensions_; }
  const WordPieces& pieces() const { return pieces_; }
  std::string_view piece_lines() const { return lines_; }
  // Adds the vector of a piece to `sum`.
  void add(std::uint32_t piece, std::span<float> sum) const;

 private:
  StaticTable(WordPieces pieces) : pieces_(std::move(pieces)) {}

  WordPieces pieces_;
  std::string_view lines_;
  std::size_t dimensions_ = 0;
  // What one step of each row is worth, little-endian floats; then the rows, int8.
  const char* steps_ = nullptr;
  const std::int8_t* rows_ = nullptr;
};

}  // namespace tertulia
