#include "tertulia/store/record.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tertulia/base/nearest.h"

namespace tertulia {

namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 11> kNames = {"journal",    "event",      "tool_call", "episode",
                                                     "receipt",    "checkpoint", "asset",     "lease",
                                                     "submission", "question",   "memory"};

}  // namespace

std::string_view name_of(RecordKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Result<RecordKind> record_kind_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RecordKind>(i);
  }
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  return Error(ErrorCode::kOutOfRange, "there is no such kind of record" + did_you_mean(name, known))
      .with("param", "kind");
}

}  // namespace tertulia
