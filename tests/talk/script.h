// A story as it is written: lines, and the lines that stand indented below them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

struct Line {
  std::size_t number = 0;
  std::string text;
  std::vector<Line> block;
};

// What ends a story before its end. `line` 0: not known yet.
struct StoryFailure : std::runtime_error {
  StoryFailure(std::size_t at, const std::string& sentence) : std::runtime_error(sentence), line(at) {}
  std::size_t line;
};

// Lines without comments and empty ones. StoryFailure for an indentation that is not two blanks a step.
std::vector<Line> read_script(const std::filesystem::path& file);

// Reads a statement from left to right.
class Words {
 public:
  explicit Words(const Line& line) : line_(line.number), rest_(line.text) {}
  Words(std::size_t line, std::string_view text) : line_(line), rest_(text) {}

  // The next word, which ends at a blank, a comma, a colon or a parenthesis.
  std::string word();
  // True, and past it, if these words come next.
  bool take(std::string_view words);
  std::optional<std::size_t> number();
  std::size_t required_number();
  // What stands between parentheses, if they come next.
  std::string parenthesised();
  // All that is left, with `<3 x "ab">` spelled out and \n as a new line. A colon in front is passed over.
  std::string rest();
  // The same, as it is written.
  std::string raw_rest();
  bool empty() const { return rest_.empty(); }
  // "a" "b": each of them; text without quotes is one.
  std::vector<std::string> pieces();
  [[noreturn]] void fail(const std::string& sentence) const { throw StoryFailure(line_, sentence); }
  void end() const {
    if (!rest_.empty()) fail("'" + std::string(rest_) + "' is not understood here");
  }

 private:
  void skip_blanks();

  std::size_t line_;
  std::string_view rest_;
};

std::vector<std::string> split(std::string_view text, char separator);
// Whether `text` is `pattern`, where … stands for anything.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace tertulia
