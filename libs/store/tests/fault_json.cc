// The JSON store without its threads, for the fault sweeps.
#include "fault_bench.h"
#include "json_fixture.h"

namespace tertulia::trial {

Result<std::unique_ptr<BlockingStore>> open_fault_store(Env& env) {
  TERTULIA_TRY_AS(std::unique_ptr<JsonDirectory> store, JsonDirectory::open(env, kRoot, quiet_options()));
  return std::unique_ptr<BlockingStore>(std::move(store));
}

std::uint64_t crash_states_wanted() { return is_long_run() ? 8'000'000 : 90'000; }
std::uint64_t io_failure_stride() { return 1; }

}  // namespace tertulia::trial
