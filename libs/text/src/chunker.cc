// Cutting: the text is first taken apart into units that are never cut again (sentences, whole blocks of
// code, parts of what is too long), then units are put together until a chunk is full, and the chunk gives
// back what stands behind its best place to end.
#include "tertulia/text/chunker.h"

#include <algorithm>
#include <utility>

#include "markdown_blocks.h"
#include "sentences.h"

namespace tertulia {
namespace {

// How good a place the start of a unit is for ending the chunk before it.
enum class Cut { kWithin, kSentence, kBlock, kHeading };

struct Unit {
  std::size_t start = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
  Cut cut = Cut::kWithin;
  // Which of the heading paths it stands under.
  std::size_t path = 0;
};

bool is_inner(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t'; }

class Splitter {
 public:
  Splitter(std::string_view text, const ChunkOptions& options, const Tokenizer& tokenizer)
      : text_(text),
        size_(options.size),
        part_(std::max<std::size_t>(1, options.size / 4)),
        tokenizer_(tokenizer) {
    for (const Block& block : blocks_of(text, options.markdown)) add(block);
  }

  std::vector<Unit> units;
  // Each distinct path once; units refer to it.
  std::vector<std::vector<std::string>> paths = {{}};

 private:
  std::size_t count(std::size_t start, std::size_t end) const {
    return tokenizer_.count(text_.substr(start, end - start));
  }

  void add(const Block& block) {
    bool after_heading = !units.empty() && heading_;
    heading_ = block.kind == BlockKind::kHeading;
    if (heading_) enter(block);
    // A heading is not left alone at the end of a chunk.
    const Cut cut = after_heading ? Cut::kWithin : heading_ ? Cut::kHeading : Cut::kBlock;
    if (block.kind == BlockKind::kCode) return add_code(block, cut);
    const std::vector<std::size_t> ends = sentence_ends(text_.substr(block.start, block.end - block.start));
    std::size_t start = block.start;
    for (std::size_t end : ends) {
      add_unit(start, block.start + end, start == block.start ? cut : Cut::kSentence);
      start = block.start + end;
    }
  }

  void enter(const Block& heading) {
    while (!levels_.empty() && levels_.back().first >= heading.level) levels_.pop_back();
    levels_.emplace_back(heading.level, heading.title);
    std::vector<std::string>& path = paths.emplace_back();
    for (const auto& [level, title] : levels_) path.push_back(title);
  }

  void add_code(const Block& block, Cut cut) {
    if (count(block.start, block.end) <= size_) return add_unit(block.start, block.end, cut);
    for (std::size_t start = block.start; start < block.end;) {
      const std::size_t end = std::min(text_.find('\n', start), block.end - 1) + 1;
      add_unit(start, end, start == block.start ? cut : Cut::kSentence);
      start = end;
    }
  }

  void add_unit(std::size_t start, std::size_t end, Cut cut) {
    const std::size_t tokens = count(start, end);
    if (tokens <= size_) {
      units.push_back({start, end, tokens, cut, paths.size() - 1});
    } else {
      add_parts(start, end, cut);
    }
  }

  // Halves what is too long until the parts are small enough to fill chunks well.
  void add_parts(std::size_t start, std::size_t end, Cut cut) {
    const std::size_t tokens = count(start, end);
    if (tokens <= part_ || end - start == 1) {
      units.push_back({start, end, tokens, cut, paths.size() - 1});
      return;
    }
    const std::size_t middle = middle_of(start, end);
    add_parts(start, middle, cut);
    add_parts(middle, end, Cut::kWithin);
  }

  // A place near the middle: between words, else between characters, else between bytes.
  std::size_t middle_of(std::size_t start, std::size_t end) const {
    const std::size_t half = start + (end - start) / 2;
    for (std::size_t away = 0; away < (end - start) / 4; ++away) {
      if (is_blank(text_[half + away - 1]) && !is_blank(text_[half + away])) return half + away;
      if (is_blank(text_[half - away - 1]) && !is_blank(text_[half - away])) return half - away;
    }
    for (std::size_t at = half; at > start; --at) {
      if (!is_inner(text_[at])) return at;
    }
    for (std::size_t at = half; at < end; ++at) {
      if (!is_inner(text_[at])) return at;
    }
    return half;
  }

  std::string_view text_;
  std::size_t size_;
  std::size_t part_;
  const Tokenizer& tokenizer_;
  bool heading_ = false;
  std::vector<std::pair<unsigned, std::string>> levels_;
};

class Packer {
 public:
  Packer(std::string_view text, const ChunkOptions& options, const Tokenizer& tokenizer,
         const Splitter& parts)
      : text_(text), options_(options), tokenizer_(tokenizer), parts_(parts), units_(parts.units) {}

  std::vector<Chunk> pack() {
    std::vector<Chunk> chunks;
    for (std::size_t fresh = 0; fresh < units_.size();) {
      std::size_t first = chunks.empty() ? 0 : overlap_before(fresh);
      std::size_t end = fill(first, fresh);
      // Putting texts together may cost a token more than they did apart.
      std::size_t tokens = count(first, end);
      while (tokens > options_.size && (first < fresh || end > fresh + 1)) {
        first < fresh ? ++first : --end;
        tokens = count(first, end);
      }
      chunks.push_back({units_[first].start, units_[end - 1].end - units_[first].start, tokens,
                        parts_.paths[units_[first].path]});
      fresh = end;
    }
    return chunks;
  }

 private:
  std::size_t count(std::size_t first, std::size_t end) const {
    const std::size_t start = units_[first].start;
    return tokenizer_.count(text_.substr(start, units_[end - 1].end - start));
  }

  // The first unit of the whole sentences before `fresh` that fit the overlap; not across a heading.
  std::size_t overlap_before(std::size_t fresh) const {
    std::size_t first = fresh;
    std::size_t tokens = 0;
    for (std::size_t at = fresh; at > 0 && units_[at].cut != Cut::kHeading; --at) {
      tokens += units_[at - 1].tokens;
      if (tokens > options_.overlap || tokens + units_[fresh].tokens > options_.size) break;
      if (units_[at - 1].cut != Cut::kWithin) first = at - 1;
    }
    return first;
  }

  // Takes units while there is room, then goes back to the best place to end in the second half.
  std::size_t fill(std::size_t first, std::size_t fresh) const {
    std::size_t tokens = 0;
    std::size_t end = first;
    std::size_t best = 0;
    Cut best_cut = Cut::kWithin;
    for (; end < units_.size() && tokens + units_[end].tokens <= options_.size; ++end) {
      if (end > fresh && tokens * 2 >= options_.size && units_[end].cut >= best_cut) {
        best = end;
        best_cut = units_[end].cut;
      }
      tokens += units_[end].tokens;
    }
    if (end == units_.size()) return end;
    if (end <= fresh) return fresh + 1;
    if (units_[end].cut >= best_cut || best == 0) return end;
    return best;
  }

  std::string_view text_;
  const ChunkOptions& options_;
  const Tokenizer& tokenizer_;
  const Splitter& parts_;
  const std::vector<Unit>& units_;
};

}  // namespace

Result<std::vector<Chunk>> chunk_text(std::string_view text, const ChunkOptions& options,
                                      const Tokenizer& tokenizer) {
  if (options.size == 0 || options.overlap >= options.size) {
    return Error(ErrorCode::kOutOfRange,
                 "chunks need a size of at least 1 token and an overlap below it; got size " +
                     std::to_string(options.size) + " and overlap " + std::to_string(options.overlap));
  }
  const Splitter parts(text, options, tokenizer);
  return Packer(text, options, tokenizer, parts).pack();
}

}  // namespace tertulia
