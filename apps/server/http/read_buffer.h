// A ReadBuffer: what came from a client and was not used yet, in one piece.
//
// It stays where it is until room() is asked for: the views of a request point into it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace tertulia::server {

class ReadBuffer {
 public:
  std::string_view unused() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  void use(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Where more can be written behind what is there, at least `least` bytes; then say how much came.
  std::span<char> room(std::size_t least) {
    if (size_ - end_ < least) make_room(least);
    return {bytes_.get() + end_, size_ - end_};
  }
  void came(std::size_t count) { end_ += count; }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room(bytes.size()).data(), bytes.data(), bytes.size());
    came(bytes.size());
  }

  // Gives back its memory if nothing is in it; trim(): what is not usually needed.
  void release() {
    if (empty()) *this = ReadBuffer();
  }
  void trim() {
    if (empty() && size_ > kUsualBytes) *this = ReadBuffer();
  }

 private:
  static constexpr std::size_t kUsualBytes = 4U << 10U;

  void make_room(std::size_t least) {
    const std::size_t kept = end_ - begin_;
    if (size_ - kept < least) {
      const std::size_t size = std::max({kUsualBytes, kept + least, 2 * size_});
      auto grown = std::make_unique_for_overwrite<char[]>(size);
      if (kept > 0) std::memcpy(grown.get(), bytes_.get() + begin_, kept);
      bytes_ = std::move(grown);
      size_ = size;
    } else {
      std::memmove(bytes_.get(), bytes_.get() + begin_, kept);
    }
    begin_ = 0;
    end_ = kept;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace tertulia::server
