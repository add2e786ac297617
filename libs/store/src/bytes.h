// Numbers and texts as bytes: what the blobs of the SQLite store and the messages of a shared one are made
// of.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// Little-endian.
inline void put_u32(std::string& out, std::uint32_t value) {
  std::array<char, 4> bytes{};
  for (unsigned i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  out.append(bytes.data(), bytes.size());
}
inline void put_u64(std::string& out, std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (unsigned i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  out.append(bytes.data(), bytes.size());
}
// Seven bits a byte, the low ones first; the last byte is below 128.
inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7U) out.push_back(static_cast<char>(value | 128U));
  out.push_back(static_cast<char>(value));
}
inline void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

// Reads what the functions above wrote. After the first read beyond the end every read gives zero or nothing,
// and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() { return fixed(8); }
  std::uint64_t varint() {
    if (!rest_.empty() && static_cast<unsigned char>(rest_.front()) < 128) {
      const auto small = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      return small;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= static_cast<std::uint64_t>(byte & 127U) << (7 * i);
      if (byte < 128) {
        rest_.remove_prefix(i + 1);
        return value;
      }
    }
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view text() { return take(varint()); }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // What was not read yet.
  std::string_view rest() const { return rest_; }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  // Everything was read, and nothing beyond.
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::uint64_t fixed(std::size_t size) {
    const std::string_view bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i)
      value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace tertulia
