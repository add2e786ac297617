// Where the tree and its test data lie. Told by the environment, which ctest sets, so that an object
// file is the same in every checkout; a test started by hand looks upwards from where it runs.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace tertulia::trial {

inline std::filesystem::path source_dir() {
  if (const char* told = std::getenv("TERTULIA_SOURCE_DIR")) return told;
  std::filesystem::path here = std::filesystem::current_path();
  while (!std::filesystem::exists(here / "CMakePresets.json") && here.has_relative_path())
    here = here.parent_path();
  return here;
}

// What several layers read, or what has a licence of its own: tests/data/README.md.
inline std::filesystem::path test_data() { return source_dir() / "tests" / "data"; }

}  // namespace tertulia::trial
