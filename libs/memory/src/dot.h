// Dot products, as fast as the processor allows; chosen once, when the program starts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tertulia {

// Values from -127 to 127.
std::int32_t dot_int8(const std::int8_t* one, const std::int8_t* other, std::size_t count);
float dot_float(const float* one, const float* other, std::size_t count);

}  // namespace tertulia
