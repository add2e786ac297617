#include "dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tertulia {
namespace {

std::int32_t plain_int8(const std::int8_t* one, const std::int8_t* other, std::size_t count) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += one[i] * other[i];
  return sum;
}

float plain_float(const float* one, const float* other, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += one[i] * other[i];
  return sum;
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] __m256i load_32(const std::int8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// The instruction multiplies unsigned by signed bytes, so one side gives its sign to the other. No value is
// -128, so two products together fit 16 bits.
[[gnu::target("avx2")]] std::int32_t avx2_int8(const std::int8_t* one, const std::int8_t* other,
                                               std::size_t count) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i a = load_32(one + i);
    const __m256i b = load_32(other + i);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half) + plain_int8(one + i, other + i, count - i);
}

[[gnu::target("avx2,fma")]] float avx2_float(const float* one, const float* other, std::size_t count) {
  __m256 sum = _mm256_setzero_ps();
  __m256 more = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    sum = _mm256_fmadd_ps(_mm256_loadu_ps(one + i), _mm256_loadu_ps(other + i), sum);
    more = _mm256_fmadd_ps(_mm256_loadu_ps(one + i + 8), _mm256_loadu_ps(other + i + 8), more);
  }
  sum = _mm256_add_ps(sum, more);
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  half = _mm_add_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half) + plain_float(one + i, other + i, count - i);
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
const auto kDotInt8 = has_avx2() ? avx2_int8 : plain_int8;
const auto kDotFloat = has_avx2() ? avx2_float : plain_float;

#else

constexpr auto kDotInt8 = plain_int8;
constexpr auto kDotFloat = plain_float;

#endif

}  // namespace

std::int32_t dot_int8(const std::int8_t* one, const std::int8_t* other, std::size_t count) {
  return kDotInt8(one, other, count);
}

float dot_float(const float* one, const float* other, std::size_t count) {
  return kDotFloat(one, other, count);
}

}  // namespace tertulia
