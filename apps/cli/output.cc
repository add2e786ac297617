#include "output.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cwchar>

#include <sys/ioctl.h>
#include <unistd.h>

#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"

#include "exit_code.h"

namespace tertulia::cli {
namespace {

constexpr int kBrokenPipe = 141;  // what a shell reports for a program that SIGPIPE ended

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      std::_Exit(kBrokenPipe);
    } else if (errno != EINTR) {
      std::_Exit(kExitIo);
    }
  }
}

std::string_view code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kAccent:
      return "\x1b[36m";
  }
  return "";
}

std::string in_style(Style style, std::string_view text, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  return std::string(code_of(style)) + std::string(text) + "\x1b[0m";
}

JsonObject json_of(const Error& error) {
  JsonObject body{{"code", name_of(error.code())}, {"message", error.message()}};
  for (const ErrorFact& fact : error.facts()) {
    if (const auto* number = std::get_if<std::int64_t>(&fact.value)) {
      body.set(fact.name, *number);
    } else if (const auto* text = std::get_if<std::string>(&fact.value)) {
      body.set(fact.name, *text);
    } else {
      JsonArray list;
      for (const std::string& item : std::get<std::vector<std::string>>(fact.value)) list.emplace_back(item);
      body.set(fact.name, std::move(list));
    }
  }
  return JsonObject{{"error", std::move(body)}};
}

}  // namespace

std::string Output::styled(Style style, std::string_view text) const {
  return in_style(style, text, colour_out);
}

std::string Output::styled_err(Style style, std::string_view text) const {
  return in_style(style, text, colour_err);
}

void Output::print(std::string_view text) const { write_all(STDOUT_FILENO, text); }

void Output::line(std::string_view text) const { print(std::string(text) + "\n"); }

void Output::error(const Error& error) const {
  if (json) {
    write_all(STDERR_FILENO, to_text(Json(json_of(error))) + "\n");
    return;
  }
  write_all(STDERR_FILENO, in_style(Style::kBad, "tertulia: ", colour_err) + error.message() + "\n");
}

void Output::table(const std::vector<std::string>& head,
                   const std::vector<std::vector<std::string>>& rows) const {
  std::vector<std::size_t> widths(head.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  widen(head);
  for (const auto& row : rows) widen(row);
  const auto text_of = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += cells[i];
      if (i + 1 < cells.size()) text.append(widths[i] - display_width(cells[i]) + 2, ' ');
    }
    return text;
  };
  line(styled(Style::kDim, text_of(head)));
  for (const auto& row : rows) line(text_of(row));
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::size_t bytes = std::min(text.size(), columns * 4);
  std::string_view kept = utf8_prefix(text, bytes);
  while (!kept.empty() && display_width(kept) + 1 > columns) kept = utf8_prefix(text, --bytes);
  return std::string(kept) + "…";
}

std::size_t output_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(40, size.ws_col);
  return 100;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    const std::size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
    if (size == 0 || size > text.size()) {  // not a character of this locale: a column a byte
      ++width;
      text.remove_prefix(1);
      state = {};
      continue;
    }
    width += static_cast<std::size_t>(std::max(0, ::wcwidth(character)));
    text.remove_prefix(size);
  }
  return width;
}

}  // namespace tertulia::cli
