// The blocks of a markdown document, as far as cutting it needs them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

enum class BlockKind { kHeading, kCode, kItem, kRow, kParagraph };

// Blocks follow one another without gaps; empty lines belong to the block before them.
struct Block {
  BlockKind kind = BlockKind::kParagraph;
  std::size_t start = 0;
  std::size_t end = 0;
  // Of a heading: 1 to 6, and its title.
  unsigned level = 0;
  std::string title;
};

// With `markdown` off, only paragraphs, parted by empty lines.
std::vector<Block> blocks_of(std::string_view text, bool markdown);

}  // namespace tertulia
