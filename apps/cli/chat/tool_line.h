// A tool call as one line: what was asked, what came of it, how long it took.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/json.h"

#include "output.h"

namespace tertulia::cli {

// "12 ms", "1.2 s", "2 min 5 s".
std::string duration_words(Duration duration);

// The arguments of a call, as a person reads them: `3 * 4`, or `path: a.txt, text: Hello`.
std::string arguments_text(std::string_view arguments);
// The arguments as they are, folded to the width and indented: what somebody allows must be seen. Beyond
// `most` lines it is said how much is missing, and that a key shows it.
std::vector<std::string> argument_lines(const Json& arguments, std::size_t width, std::size_t most,
                                        const Output& out);

// How a call ended: "ok", "error", "denied", "unknown", "interrupted", or "" while it runs.
std::string tool_line(const Output& out, std::size_t width, std::string_view mark, std::string_view outcome,
                      const std::string& tool, const std::string& arguments, const std::string& result,
                      const std::string& took);
std::string_view mark_of(std::string_view outcome);

}  // namespace tertulia::cli
