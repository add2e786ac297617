#include "stream_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  fuzz::run(data, size, [](OnDelta on_delta) {
    return anthropic_stream("m", "answer", std::move(on_delta), fuzz::kLimits);
  });
  return 0;
}
