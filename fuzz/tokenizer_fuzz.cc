// Whatever the bytes: encoding loses nothing, counting agrees with it, a stream agrees with the whole at
// every cut, and chunks keep their promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/check.h"
#include "tertulia/text/chunker.h"
#include "tertulia/text/tokenizer.h"

namespace {

using tertulia::Tokenizer;

void check_stream(const Tokenizer& tokenizer, std::string_view text, std::uint8_t seed) {
  const auto counter = tokenizer.new_stream();
  std::uint32_t state = seed;
  for (std::size_t at = 0; at < text.size();) {
    state = state * 1664525U + 1013904223U;
    const std::size_t size = std::min<std::size_t>(text.size() - at, 1 + (state >> 24U) % 7);
    counter->append(text.substr(at, size));
    at += size;
    TERTULIA_CHECK(counter->total() == tokenizer.count(text.substr(0, at)),
                   "a stream counts what has arrived");
  }
}

void check_chunks(const Tokenizer& tokenizer, std::string_view text, std::uint8_t seed) {
  const std::size_t size = 1U + seed % 50U;
  const auto chunks = tertulia::chunk_text(text, {.size = size, .overlap = seed % size}, tokenizer).value();
  std::size_t covered = 0;
  for (const tertulia::Chunk& chunk : chunks) {
    TERTULIA_CHECK(chunk.offset <= covered && chunk.offset + chunk.length > covered,
                   "chunks follow one another");
    TERTULIA_CHECK(chunk.tokens <= size, "a chunk is not above its size");
    covered = chunk.offset + chunk.length;
  }
  TERTULIA_CHECK(covered == text.size(), "chunks cover the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const auto o200k = tertulia::tokenizer_named("o200k_base").value();
  static const auto cl100k = tertulia::tokenizer_named("cl100k_base").value();
  const Tokenizer& tokenizer = data[0] % 2 == 0 ? *o200k : *cl100k;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto ids = tokenizer.encode(text).value();
  TERTULIA_CHECK(tokenizer.decode(ids).value() == text, "encoding loses nothing");
  TERTULIA_CHECK(tokenizer.count(text) == ids.size(), "counting agrees with encoding");
  check_stream(tokenizer, text.substr(0, 2000), data[1]);
  check_chunks(tokenizer, text, data[1]);
  return 0;
}
