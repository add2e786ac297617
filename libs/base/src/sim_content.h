// The bytes of a simulated file, in pages that copies share until one of them writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// A value: copying costs one pointer per page. A page that was never written is null and reads as zeros.
//
// Whether a page may be written in place is decided by whose mark it bears, not by counting references, so
// that copies may live on different threads.
class SimContent {
 public:
  SimContent() : mark_(fresh_mark()) {}
  SimContent(const SimContent& other) : size_(other.size_), pages_(other.pages_), mark_(fresh_mark()) {}
  SimContent& operator=(const SimContent& other);
  SimContent(SimContent&&) = default;
  SimContent& operator=(SimContent&&) = default;
  ~SimContent() = default;

  std::uint64_t size() const { return size_; }
  std::string read(std::uint64_t offset, std::size_t size) const;
  void write(std::uint64_t offset, std::string_view data);
  // Grows the file to `offset + size` if it is shorter, and puts zeros there.
  void write_zeros(std::uint64_t offset, std::uint64_t size);
  void truncate(std::uint64_t size);
  std::uint64_t hash() const;

  // What was written so far is now shared with copies: this object writes beside it from here on.
  void freeze() { mark_ = fresh_mark(); }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  struct Page {
    std::uint64_t mark = 0;
    std::array<char, kPageBytes> bytes{};
  };
  static std::uint64_t fresh_mark();
  Page& writable_page(std::size_t index);
  void clear_tail_of_last_page();

  std::uint64_t size_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;
  std::uint64_t mark_;
};

}  // namespace tertulia
