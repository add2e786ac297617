// The named tensors of an ONNX file: the weights of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

struct OnnxTensor {
  // As ONNX numbers them: 1 float, 2 uint8, 3 int8, …
  std::uint64_t type = 0;
  std::vector<std::uint64_t> shape;
  // A view into the file, little-endian.
  std::string_view bytes;
  // The value of a single small integer, which is written otherwise.
  std::int64_t number = 0;

  std::size_t count() const;
};

// Views into `file`, which must outlive them. kDamaged for anything that is not such a file.
Result<std::map<std::string, OnnxTensor, std::less<>>> read_onnx_tensors(std::string_view file);

}  // namespace tertulia
