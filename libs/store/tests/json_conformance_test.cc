#include <memory>

#include "tertulia/store/testing/store_conformance.h"

#include "json_fixture.h"

namespace tertulia::trial {

TERTULIA_STORE_CONFORMANCE(JsonOnSimulatedDisk, [] { return std::make_unique<SimJson>(); });
TERTULIA_STORE_CONFORMANCE(JsonWithRoomForOneSession, [] { return std::make_unique<ForgetfulJson>(); });
TERTULIA_STORE_CONFORMANCE(JsonOnDisk, [] { return std::make_unique<RealJson>(); });

}  // namespace tertulia::trial
