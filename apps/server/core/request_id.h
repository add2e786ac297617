// A RequestId: what tells a request from all others, in the log, in answers and in the audit log. It needs no
// memory of its own.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tertulia::server {

class RequestId {
 public:
  // Of a prefix, that tells one start of the program from another.
  static constexpr std::size_t kPrefixBytes = 11;

  RequestId() = default;
  RequestId(std::string_view prefix, std::uint64_t number) {
    char* const digits = std::copy_n(prefix.data(), std::min(prefix.size(), kPrefixBytes), text_.data());
    size_ = static_cast<std::size_t>(std::to_chars(digits, text_.data() + text_.size(), number).ptr -
                                     text_.data());
  }

  std::string_view view() const { return {text_.data(), size_}; }

 private:
  // The longest number has 20 digits.
  std::array<char, kPrefixBytes + 20> text_{};
  std::size_t size_ = 0;
};

}  // namespace tertulia::server
