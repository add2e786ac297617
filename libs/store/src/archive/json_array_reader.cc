#include "json_array_reader.h"

#include "archive_lines.h"

namespace tertulia {

namespace {

constexpr std::size_t kArrayReadBytes = 1U << 18U;

Error no_array() { return Error(ErrorCode::kBadJson, "the file is not a JSON array, or it is cut off"); }

// Follows brackets and quotes through the bytes of one element.
class Nesting {
 public:
  // True if the byte belongs to the element; false if it ends it.
  bool takes(char c) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      return true;
    }
    if (depth_ == 0 && (c == ',' || c == ']')) return false;
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
    return depth_ >= 0;
  }

 private:
  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

Result<int> JsonArrayReader::get() {
  if (position_ == buffer_.size()) {
    TERTULIA_TRY_AS(buffer_, file_.read_at(offset_, kArrayReadBytes));
    offset_ += buffer_.size();
    position_ = 0;
    if (buffer_.empty()) return -1;
  }
  return static_cast<unsigned char>(buffer_[position_++]);
}

Result<int> JsonArrayReader::get_visible() {
  for (;;) {
    TERTULIA_TRY_AS(const int c, get());
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
  }
}

Result<bool> JsonArrayReader::next(std::string& element) {
  element.clear();
  if (ended_) return false;
  TERTULIA_TRY_AS(int c, get_visible());
  if (!begun_) {
    if (c != '[') return no_array();
    begun_ = true;
    TERTULIA_TRY_AS(c, get_visible());
    if (c == ']') {
      ended_ = true;
      return false;
    }
  }
  Nesting nesting;
  for (;;) {
    if (c < 0) return no_array();
    const char byte = static_cast<char>(c);
    if (!nesting.takes(byte)) {
      if (byte != ',' && byte != ']') return no_array();
      ended_ = byte == ']';
      return true;
    }
    element += byte;
    if (element.size() > kMaxLineBytes) {
      return Error(ErrorCode::kTooLarge,
                   "one conversation is larger than " + std::to_string(kMaxLineBytes >> 20U) + " MiB")
          .with("limit", static_cast<std::int64_t>(kMaxLineBytes));
    }
    TERTULIA_TRY_AS(c, get());
  }
}

}  // namespace tertulia
