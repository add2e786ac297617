#include "http/body_framing.h"

#include <algorithm>
#include <charconv>

namespace tertulia::server {
namespace {

Problem ambiguous(std::string sentence) {
  return Problem::of(HttpProblem::kAmbiguousLength,
                     "the length of the body is not clear: " + std::move(sentence));
}

bool is_token_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_text(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
}

bool skip_token(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_token_char);
  const auto size = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(size);
  return size > 0;
}

bool skip_quoted(std::string_view& text) {
  text.remove_prefix(1);
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') text.remove_prefix(1);
    if (text.empty() || !is_text(text.front())) return false;
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

// *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
bool are_extensions(std::string_view text) {
  while (!text.empty()) {
    skip_blanks(text);
    if (!text.starts_with(';')) return false;
    text.remove_prefix(1);
    skip_blanks(text);
    if (!skip_token(text)) return false;
    std::string_view value = text;
    skip_blanks(value);
    if (!value.starts_with('=')) continue;
    value.remove_prefix(1);
    skip_blanks(value);
    if (!(value.starts_with('"') ? skip_quoted(value) : skip_token(value))) return false;
    text = value;
  }
  return true;
}

}  // namespace

std::variant<BodyFraming, Problem> framing_of(const Request& request) {
  const std::size_t lengths = request.count("Content-Length");
  const std::size_t encodings = request.count("Transfer-Encoding");
  BodyFraming framing;
  if (encodings > 0) {
    if (lengths > 0) return ambiguous("a request has a Content-Length or a Transfer-Encoding, not both");
    if (request.version < 11) return ambiguous("HTTP/1.0 has no Transfer-Encoding");
    if (encodings > 1 || !equal_but_case(request.header("Transfer-Encoding"), "chunked")) {
      return ambiguous("the only Transfer-Encoding understood here is one that says chunked");
    }
    framing.chunked = true;
    return framing;
  }
  if (lengths == 0) return framing;
  const std::string_view text = request.header("Content-Length");
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), framing.length);
  if (lengths > 1 || !digits || error != std::errc()) {
    return ambiguous("Content-Length must stand once, and be a number of bytes");
  }
  return framing;
}

bool ChunkedBody::take_line(std::string_view bytes, std::size_t& taken) {
  while (taken < bytes.size()) {
    const char c = bytes[taken++];
    const bool ended = line_.ends_with('\r');
    if (c == '\n' && ended) {
      line_.pop_back();
      return true;
    }
    // Only CR LF ends a line, and neither stands anywhere else.
    if (ended || c == '\n' || (c != '\r' && !is_text(c)) || (c != '\r' && line_.size() >= kMaxLineBytes)) {
      bad_ = true;
      return false;
    }
    line_.push_back(c);
  }
  return false;
}

bool ChunkedBody::begin_chunk() {
  const char* first = line_.data();
  const char* last = first + line_.size();
  const auto [end, error] = std::from_chars(first, last, left_, 16);
  // from_chars() takes a sign for a number that can have one only, so not here.
  if (error != std::errc() || end - first > 16) return false;
  const std::string_view extensions(end, static_cast<std::size_t>(last - end));
  extension_bytes_ += extensions.size();
  if (extension_bytes_ > kMaxExtensionBytes || !are_extensions(extensions)) return false;
  at_ = left_ == 0 ? At::kTrailer : At::kData;
  line_.clear();
  return true;
}

bool ChunkedBody::check_trailer() {
  if (line_.empty()) {
    at_ = At::kEnd;
    return true;
  }
  trailer_bytes_ += line_.size() + 2;
  std::string_view field = line_;
  const bool whole = trailer_bytes_ <= kMaxTrailerBytes && skip_token(field) && field.starts_with(':');
  line_.clear();
  return whole;
}

ChunkedBody::Step ChunkedBody::read(std::string_view bytes, std::size_t& taken, std::string& body,
                                    std::uint64_t limit) {
  taken = 0;
  while (at_ != At::kEnd) {
    if (at_ == At::kData) {
      // What a chunk claims is refused before it comes.
      if (left_ > limit || body.size() > limit - left_) return Step::kTooLong;
      const std::size_t size = std::min<std::uint64_t>(left_, bytes.size() - taken);
      body.append(bytes.substr(taken, size));
      taken += size;
      left_ -= size;
      if (left_ > 0) return Step::kMore;
      at_ = At::kDataEnd;
    }
    if (!take_line(bytes, taken)) return bad_ ? Step::kBad : Step::kMore;
    if (at_ == At::kDataEnd) {
      if (!line_.empty()) return Step::kBad;
      at_ = At::kSize;
    } else if (at_ == At::kSize ? !begin_chunk() : !check_trailer()) {
      return Step::kBad;
    }
  }
  return Step::kDone;
}

}  // namespace tertulia::server
