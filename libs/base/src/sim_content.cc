#include "sim_content.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tertulia {

std::uint64_t SimContent::fresh_mark() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

SimContent& SimContent::operator=(const SimContent& other) {
  if (this != &other) {
    size_ = other.size_;
    pages_ = other.pages_;
    mark_ = fresh_mark();
  }
  return *this;
}

std::string SimContent::read(std::uint64_t offset, std::size_t size) const {
  if (offset >= size_) return {};
  std::string out(std::min<std::uint64_t>(size, size_ - offset), '\0');
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const auto in_page = static_cast<std::size_t>(at % kPageBytes);
    const std::size_t part = std::min(kPageBytes - in_page, out.size() - done);
    const Page* page = pages_[static_cast<std::size_t>(at / kPageBytes)].get();
    if (page != nullptr) std::memcpy(out.data() + done, page->bytes.data() + in_page, part);
    done += part;
  }
  return out;
}

std::uint64_t SimContent::hash() const {
  std::uint64_t hash = size_;
  for (std::size_t index = 0; index < pages_.size(); ++index) {
    if (pages_[index] == nullptr) continue;
    // A hole reads as zeros, so zeros must not count.
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < kPageBytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, pages_[index]->bytes.data() + at, sizeof(word));
      sum ^= (word * 0x9fb21c651e98df25U) ^ (word >> 31U);
      sum = (sum << 7U | sum >> 57U) * (sum == 0 ? 1 : 0xd6e8feb86659fd93U);
    }
    if (sum != 0) hash = (hash ^ sum ^ (index << 40U)) * 0x9fb21c651e98df25U;
  }
  return hash ^ (hash >> 29U);
}

SimContent::Page& SimContent::writable_page(std::size_t index) {
  std::shared_ptr<Page>& page = pages_[index];
  if (page == nullptr) {
    page = std::make_shared<Page>();
    page->mark = mark_;
  } else if (page->mark != mark_) {
    page = std::make_shared<Page>(*page);
    page->mark = mark_;
  }
  return *page;
}

void SimContent::write(std::uint64_t offset, std::string_view data) {
  if (data.empty()) return;
  if (offset + data.size() > size_) truncate(offset + data.size());
  for (std::size_t done = 0; done < data.size();) {
    const std::uint64_t at = offset + done;
    const auto in_page = static_cast<std::size_t>(at % kPageBytes);
    const std::size_t part = std::min(kPageBytes - in_page, data.size() - done);
    Page& page = writable_page(static_cast<std::size_t>(at / kPageBytes));
    std::memcpy(page.bytes.data() + in_page, data.data() + done, part);
    done += part;
  }
}

void SimContent::write_zeros(std::uint64_t offset, std::uint64_t size) {
  write(offset, std::string(static_cast<std::size_t>(size), '\0'));
}

void SimContent::clear_tail_of_last_page() {
  const auto in_page = static_cast<std::size_t>(size_ % kPageBytes);
  if (in_page == 0 || pages_.back() == nullptr) return;
  Page& page = writable_page(pages_.size() - 1);
  std::memset(page.bytes.data() + in_page, 0, kPageBytes - in_page);
}

void SimContent::truncate(std::uint64_t size) {
  const bool shrinks = size < size_;
  size_ = size;
  pages_.resize(static_cast<std::size_t>((size + kPageBytes - 1) / kPageBytes));
  // Bytes behind the end must read as zeros if the file grows again.
  if (shrinks && size > 0) clear_tail_of_last_page();
}

}  // namespace tertulia
