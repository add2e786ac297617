// The checksum at the end of each page of the database file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tertulia {

// True if a read or write of this size at this place is a whole page, and not a look at the header.
bool is_whole_page(std::uint64_t offset, std::size_t size);

// `page` with its checksum in the last bytes. Valid until the next call with the same buffer.
const char* with_checksum(const char* page, std::size_t size, std::uint64_t offset, std::string& buffer);

// False if the page is not as it was written. The first page says how long pages are, and SQLite may read it
// with another length before it knows: such a read is not judged.
bool checksum_holds(const char* page, std::size_t size, std::uint64_t offset);

}  // namespace tertulia
