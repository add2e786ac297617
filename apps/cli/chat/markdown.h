// Markdown drawn for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia::cli {

// The lines of a text, with colours, none wider than `width` columns, except words of code that cannot be
// broken. What could steer a terminal is escaped. Text that is no Markdown is wrapped as it is.
std::vector<std::string> render_markdown(std::string_view text, std::size_t width);

// A line of a block of code.
std::string render_code_line(std::string_view line);

}  // namespace tertulia::cli
