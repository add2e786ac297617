// Cuts a document into chunks of bounded size, at the places where a reader would pause.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/text/tokenizer.h"

namespace tertulia {

struct ChunkOptions {
  // The most tokens a chunk may have. Default: 512.
  std::size_t size = 512;
  // The most tokens that a chunk may share with the one before it, in whole sentences. Default: 64.
  std::size_t overlap = 64;
  // Headings, fenced code, lists, tables and paragraphs are seen as such. Default: true.
  bool markdown = true;
};

// A window into the text that was cut.
struct Chunk {
  std::size_t offset = 0;
  std::size_t length = 0;
  // Of the chunk by itself, counted by the tokenizer that was given.
  std::size_t tokens = 0;
  // The titles of the headings above its beginning, outermost first.
  std::vector<std::string> heading_path;

  bool operator==(const Chunk&) const = default;
};

// The chunks in order. Together they cover the whole text; none is empty or above `size`; none begins or ends
// within a character, unless a single character has more tokens than `size`. A chunk ends, in this order of
// preference, before a heading, between blocks (paragraphs, items, rows, code), between sentences, between
// words. A fenced block of code is kept whole if it fits.
//
// kOutOfRange if `size` is 0 or `overlap` is not below it.
Result<std::vector<Chunk>> chunk_text(std::string_view text, const ChunkOptions& options,
                                      const Tokenizer& tokenizer);

}  // namespace tertulia
