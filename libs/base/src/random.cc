#include "tertulia/base/random.h"

#include <array>
#include <cstring>

#include "tertulia/base/check.h"

namespace tertulia {

std::uint64_t Random::next() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes;
  fill(bytes);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

std::uint64_t Random::below(std::uint64_t bound) {
  TERTULIA_CHECK(bound != 0, "Random::below needs a bound above 0");
  // 2^64 mod bound: values below it would make the small remainders more likely, so they are drawn again.
  const std::uint64_t uneven = (0 - bound) % bound;
  std::uint64_t value = next();
  while (value < uneven) value = next();
  return value % bound;
}

}  // namespace tertulia
