// Whatever the bytes: the reader answers, gives the same events however they are cut, and keeps to its limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/check.h"
#include "tertulia/base/sse_reader.h"

namespace {

constexpr std::size_t kLimit = 512;

// Everything that the reader told, up to its first error.
std::string told(std::string_view bytes, std::size_t step, bool& failed) {
  tertulia::SseReader reader(kLimit);
  std::string text;
  failed = false;
  for (std::size_t at = 0; at < bytes.size() && !failed; at += step) {
    failed =
        !reader.feed(bytes.substr(at, step), [&](const tertulia::SseEvent& event) -> tertulia::Result<void> {
          TERTULIA_CHECK(event.data.size() <= kLimit, "no event is longer than the limit");
          text.append(event.type).append("|").append(event.data).append("|").append(event.id).append("\n");
          return {};
        });
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool whole_failed = false;
  bool cut_failed = false;
  const std::string whole = told(bytes, size + 1, whole_failed);
  const std::string cut = told(bytes, 1 + size % 7, cut_failed);
  TERTULIA_CHECK(whole == cut && whole_failed == cut_failed, "events do not depend on how the bytes are cut");
  return 0;
}
