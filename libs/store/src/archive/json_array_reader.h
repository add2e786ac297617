// The elements of a JSON array that fills a file, one by one, so that a file of any size can be read.
#pragma once

#include <cstdint>
#include <string>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Finds where an element ends by its brackets and quotes; whether it is JSON is for the parser to say.
class JsonArrayReader {
 public:
  explicit JsonArrayReader(File& file) : file_(file) {}

  // False at the end of the array. kBadJson if this is no array, or if it is cut off; kTooLarge beyond
  // kMaxLineBytes for one element.
  Result<bool> next(std::string& element);

 private:
  // The next byte, or -1 at the end of the file.
  Result<int> get();
  Result<int> get_visible();

  File& file_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::uint64_t offset_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace tertulia
