// What the program shows: to a person with colour where it helps, to another program as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/error.h"

namespace tertulia::cli {

enum class Style : std::uint8_t { kPlain, kBold, kDim, kGood, kBad, kAccent };

// How to write; decided once, from the flags, the environment and what stands at the other end.
struct Output {
  bool json = false;
  bool colour_out = false;
  bool colour_err = false;

  // The text in a style, or as it is where there is no colour.
  std::string styled(Style style, std::string_view text) const;
  // The same for standard error.
  std::string styled_err(Style style, std::string_view text) const;

  // Writes to standard output. Ends the program quietly (141) when nobody reads any more.
  void print(std::string_view text) const;
  void line(std::string_view text) const;
  // Writes the error to standard error: a sentence, or with --json an object.
  void error(const Error& error) const;

  // Rows under a head, each column as wide as its widest cell.
  void table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) const;
};

// The text cut to so many columns, with "…" where something is missing.
std::string fit(std::string_view text, std::size_t columns);

// How wide standard output is: the terminal's columns, or 100 where there is none.
std::size_t output_width();

// How many terminal columns a text takes: wide and combining characters count as they show.
std::size_t display_width(std::string_view text);

}  // namespace tertulia::cli
