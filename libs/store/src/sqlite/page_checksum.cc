#include "page_checksum.h"

#include <array>
#include <cstring>

#include "tertulia/store/crc32c.h"
#include "tertulia/store/sqlite_vfs.h"

namespace tertulia {

namespace {

constexpr std::size_t kSmallestPage = 512;

std::array<char, kPageChecksumBytes> sum_of(const char* page, std::size_t size, std::uint64_t offset) {
  std::array<char, 8> place{};
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = static_cast<char>(offset >> (8 * i));
  const std::uint32_t sum = crc32c({page, size - kPageChecksumBytes}, crc32c({place.data(), place.size()}));
  std::array<char, kPageChecksumBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(sum >> (8 * i));
  return bytes;
}

std::size_t page_size_in_header(const char* page) {
  const std::size_t size = static_cast<unsigned char>(page[16]) * 256U + static_cast<unsigned char>(page[17]);
  return size == 1 ? 65'536 : size;
}

}  // namespace

bool is_whole_page(std::uint64_t offset, std::size_t size) {
  return size >= kSmallestPage && (size & (size - 1)) == 0 && offset % size == 0;
}

const char* with_checksum(const char* page, std::size_t size, std::uint64_t offset, std::string& buffer) {
  buffer.assign(page, size);
  const auto sum = sum_of(page, size, offset);
  std::memcpy(buffer.data() + size - sum.size(), sum.data(), sum.size());
  return buffer.data();
}

bool checksum_holds(const char* page, std::size_t size, std::uint64_t offset) {
  if (offset == 0 && page_size_in_header(page) != size) return true;
  const auto sum = sum_of(page, size, offset);
  return std::memcmp(page + size - sum.size(), sum.data(), sum.size()) == 0;
}

}  // namespace tertulia
