#include "extract_main.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tertulia/base/error.h"

#include "html_guard.h"
#include "html_text.h"

namespace tertulia {
namespace {

std::string read_all() {
  std::string bytes;
  std::array<char, 65536> buffer;  // NOLINT: filled by fread
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stdin))
    bytes.append(buffer.data(), got);
  return bytes;
}

Result<std::string> guarded_html_text(std::string_view html) {
  TERTULIA_TRY(check_html(html));
  return html_text(html);
}

int extract(std::string_view format) {
  if (format != "html") {
    std::fputs("usage: tertulia-extract html < page > text\n", stderr);
    return kExtractUsage;
  }
  const Result<std::string> text = guarded_html_text(read_all());
  if (!text) {
    std::fprintf(stderr, "%s\t%s\n", std::string(name_of(text.error().code())).c_str(),
                 text.error().message().c_str());
    return kExtractRefused;
  }
  const bool written =
      std::fwrite(text->data(), 1, text->size(), stdout) == text->size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}

}  // namespace

int extract_main(std::string_view format) {
  const int code = extract(format);
  std::fflush(stdout);
  // Nothing else is to be done on the way out: what looks for leaks then would trace the process, which a
  // confined one may not.
  std::_Exit(code);
}

}  // namespace tertulia
