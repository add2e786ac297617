// Markdown that arrives bit by bit, cut into blocks: each can be drawn for good as soon as it is closed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia::cli {

struct MarkdownBlock {
  // Markdown; a line of code for one of a fenced block.
  std::string text;
  bool code = false;
  // No empty line stands between it and the block before: an item of the same list, a line of the same code.
  bool joined = false;

  bool operator==(const MarkdownBlock&) const = default;
};

class MarkdownStream {
 public:
  void add(std::string_view text);
  // Nothing more comes.
  void finish();

  // Those that were closed since the last call.
  std::vector<MarkdownBlock> take_closed();
  // What has begun and is not closed; nothing between two blocks.
  std::optional<MarkdownBlock> open() const;

 private:
  enum class Kind { kNone, kText, kList, kCode };

  void line(std::string text);
  void begin(Kind kind, bool joined);
  void close();

  Kind kind_ = Kind::kNone;
  bool joined_ = false;
  std::string block_;
  // The line that has no end yet.
  std::string partial_;
  // Of code: the line that closes it begins with this. Of a list: of the code within an item.
  std::string fence_;
  bool blank_in_list_ = false;
  // The mark of the item that was closed last: '.' for a number. None if something else came since.
  char last_mark_ = 0;
  std::vector<MarkdownBlock> closed_;
};

}  // namespace tertulia::cli
