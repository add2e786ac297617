// Where the tree and the shared test data lie. Told by the environment, which ctest sets, so that an object
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

// Not part of a clone: a test that needs it says so when it is absent.
inline std::filesystem::path shared_data() { return source_dir() / ".." / "shared" / "data"; }

}  // namespace tertulia::trial
