#include "stream_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  fuzz::run(data, size, [](OnDelta on_delta) {
    return openai_responses_stream("m", true, "", std::move(on_delta), fuzz::kLimits);
  });
  return 0;
}
