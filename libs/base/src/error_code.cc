#include "tertulia/base/error_code.h"

#include <array>

namespace tertulia {

std::string_view name_of(ErrorCode code) {
  switch (code) {
#define TERTULIA_X(enumerator, name) \
  case ErrorCode::enumerator:        \
    return name;
    TERTULIA_ERROR_CODES(TERTULIA_X)
#undef TERTULIA_X
  }
  return "invalid";
}

std::span<const ErrorCode> all_error_codes() {
  static constexpr std::array kAll = {
#define TERTULIA_X(enumerator, name) ErrorCode::enumerator,
      TERTULIA_ERROR_CODES(TERTULIA_X)
#undef TERTULIA_X
  };
  return kAll;
}

std::optional<ErrorCode> error_code_named(std::string_view name) {
  for (ErrorCode code : all_error_codes()) {
    if (name_of(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace tertulia
