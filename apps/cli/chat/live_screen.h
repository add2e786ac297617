// The end of the screen, which is drawn again while a turn goes on: what is above it stays.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "output.h"

namespace tertulia::cli {

// The size of the terminal; 80 by 24 where nobody says.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
ScreenSize screen_size();

class LiveScreen {
 public:
  explicit LiveScreen(const Output& out) : out_(out) {}

  // How wide its lines may be: the screen's width, but no wider than is good to read.
  std::size_t width() const;

  // The lines that are shown now, in place of those before. Only what differs is written. Lines that have
  // left the top of the screen stay as they were.
  void show(std::vector<std::string> lines);
  // What is shown stays for good.
  void keep();
  // The same with these lines.
  void keep(std::vector<std::string> lines);
  // Takes away what is shown.
  void clear() { show({}); }

 private:
  // How many rows above the cursor the line stands, after the terminal has folded lines anew.
  std::size_t rows_below(std::size_t line, std::size_t columns) const;

  const Output& out_;
  std::vector<std::string> shown_;
  std::size_t columns_ = 0;
};

// The columns a line takes, without its colours.
std::size_t shown_width(std::string_view line);

// A sentence in lines of so many columns, folded between its words; all but the first are indented.
std::vector<std::string> fold_words(std::string_view text, std::size_t columns, std::size_t indent = 0);

}  // namespace tertulia::cli
