#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <iconv.h>

#include "tertulia/base/utf8.h"
#include "tertulia/tools/fetch_text.h"

#include "ascii.h"

namespace tertulia {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::string_view blanks = " \t\r\n\f\"'";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

struct Encoding {
  std::string_view label;
  const char* name;
};

// A closed list: the name comes from a stranger, and the C library would load a converter for any.
// As browsers do, Latin-1 is read as windows-1252, which has the same letters and more.
constexpr std::array kEncodings = std::to_array<Encoding>({
    {"ascii", "CP1252"},          {"us-ascii", "CP1252"},
    {"iso-8859-1", "CP1252"},     {"latin1", "CP1252"},
    {"windows-1252", "CP1252"},   {"iso-8859-2", "ISO-8859-2"},
    {"iso-8859-3", "ISO-8859-3"}, {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"}, {"iso-8859-6", "ISO-8859-6"},
    {"iso-8859-7", "ISO-8859-7"}, {"iso-8859-8", "ISO-8859-8"},
    {"iso-8859-9", "ISO-8859-9"}, {"iso-8859-15", "ISO-8859-15"},
    {"windows-1250", "CP1250"},   {"windows-1251", "CP1251"},
    {"windows-1253", "CP1253"},   {"windows-1254", "CP1254"},
    {"windows-1255", "CP1255"},   {"windows-1256", "CP1256"},
    {"windows-1257", "CP1257"},   {"windows-1258", "CP1258"},
    {"koi8-r", "KOI8-R"},         {"koi8-u", "KOI8-U"},
    {"shift_jis", "CP932"},       {"shift-jis", "CP932"},
    {"euc-jp", "EUC-JP"},         {"euc-kr", "CP949"},
    {"gb2312", "GB18030"},        {"gbk", "GB18030"},
    {"gb18030", "GB18030"},       {"big5", "BIG5"},
    {"utf-16", "UTF-16LE"},       {"utf-16le", "UTF-16LE"},
    {"utf-16be", "UTF-16BE"},
});

class Converter {
 public:
  explicit Converter(const char* from) : handle_(iconv_open("UTF-8", from)) {}
  ~Converter() {
    if (ok()) iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool ok() const { return handle_ != reinterpret_cast<iconv_t>(-1); }  // NOLINT: iconv's own convention

  std::string convert(std::string_view bytes) {
    std::string in(bytes);
    std::string out;
    char* from = in.data();
    std::size_t left = in.size();
    std::array<char, 4096> buffer;  // NOLINT: filled by iconv
    while (left > 0) {
      char* to = buffer.data();
      std::size_t room = buffer.size();
      const std::size_t result = iconv(handle_, &from, &left, &to, &room);
      const int problem = result == static_cast<std::size_t>(-1) ? errno : 0;
      out.append(buffer.data(), buffer.size() - room);
      if (problem == EINVAL) break;
      if (problem == EILSEQ) {
        out += "\xef\xbf\xbd";
        ++from;
        --left;
      }
    }
    return out;
  }

 private:
  iconv_t handle_;
};

}  // namespace

bool MediaType::is_text() const {
  if (type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml")) return true;
  static constexpr std::array<std::string_view, 8> kTexts = {
      "application/json", "application/xml",    "application/javascript", "application/x-ndjson",
      "application/yaml", "application/x-yaml", "application/toml",       "application/x-sh"};
  return std::ranges::find(kTexts, type) != kTexts.end();
}

MediaType parse_media_type(std::string_view header) {
  header = header.substr(0, 400);
  MediaType media{.type = ascii::lower(trimmed(header.substr(0, header.find(';')))), .charset = {}};
  while (true) {
    const std::size_t next = header.find(';');
    if (next == header.npos) return media;
    header.remove_prefix(next + 1);
    const std::string_view parameter = header.substr(0, header.find(';'));
    const std::size_t equals = parameter.find('=');
    if (equals == parameter.npos || ascii::lower(trimmed(parameter.substr(0, equals))) != "charset") continue;
    media.charset = ascii::lower(trimmed(parameter.substr(equals + 1)));
    return media;
  }
}

std::string charset_of_page(std::string_view html) {
  const std::string start = ascii::lower(html.substr(0, 1'024));
  const std::size_t at = start.find("charset=");
  if (at == std::string::npos) return {};
  const std::string_view value = trimmed(std::string_view(start).substr(at + 8, 40));
  return std::string(value.substr(0, value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-")));
}

std::optional<std::string> to_utf8(std::string_view bytes, std::string_view charset) {
  if (bytes.starts_with("\xef\xbb\xbf")) return sanitize_utf8(bytes.substr(3));
  if (bytes.starts_with("\xff\xfe")) return Converter("UTF-16LE").convert(bytes.substr(2));
  if (bytes.starts_with("\xfe\xff")) return Converter("UTF-16BE").convert(bytes.substr(2));
  if (charset.empty() || charset == "utf-8" || charset == "utf8") return sanitize_utf8(bytes);
  const auto* known = std::ranges::find(kEncodings, charset, &Encoding::label);
  if (known == kEncodings.end()) return std::nullopt;
  Converter converter(known->name);
  if (!converter.ok()) return std::nullopt;
  return converter.convert(bytes);
}

}  // namespace tertulia
