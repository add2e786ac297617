// The conformance suite as GoogleTest tests, for stores of one's own as for ours:
//
//   TERTULIA_STORE_CONFORMANCE(Redis, [] { return std::make_unique<RedisFixture>(); });
//
// in a .cc file that links tertulia::store_testing and GoogleTest. Makes a test for each case, named after
// its sentence.
#pragma once

#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "tertulia/store/testing/store_trial.h"

namespace tertulia {

// "a fork copies nothing" as ForkACopiesNothing: GoogleTest takes letters and digits only.
inline std::string test_name(const StoreCase& store_case) {
  std::string name;
  bool upper = true;
  for (const char c : store_case.group + " " + store_case.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name;
}

// What GoogleTest prints of the parameter.
inline void PrintTo(const StoreCase& store_case, std::ostream* out) { *out << store_case.name; }

}  // namespace tertulia

#define TERTULIA_STORE_CONFORMANCE(Name, ...)                                                        \
  class Name##Conformance : public ::testing::TestWithParam<::tertulia::StoreCase> {};               \
  TEST_P(Name##Conformance, Holds) {                                                                 \
    for (const std::string& failure : ::tertulia::run_store_case(GetParam(), __VA_ARGS__)) {         \
      ADD_FAILURE() << GetParam().name << ": " << failure;                                           \
    }                                                                                                \
  }                                                                                                  \
  INSTANTIATE_TEST_SUITE_P(Store, Name##Conformance, ::testing::ValuesIn(::tertulia::store_cases()), \
                           [](const auto& tested) { return ::tertulia::test_name(tested.param); })
