#include "tertulia/base/uuid.h"

#include <cstring>

namespace tertulia {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";  // Crockford: no i, l, o, u
constexpr std::string_view kHex = "0123456789abcdef";

constexpr std::uint64_t kMask12 = (1ULL << 12U) - 1;
constexpr std::uint64_t kMask62 = (1ULL << 62U) - 1;

// The value of a digit of the given alphabet, upper case included, or -1.
int digit_value(std::string_view digits, char c) {
  const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto at = digits.find(lower);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

struct Words {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

Words words_of(const std::array<std::uint8_t, 16>& bytes) {
  Words words;
  for (std::size_t i = 0; i < 8; ++i) words.high = words.high << 8U | bytes[i];
  for (std::size_t i = 8; i < 16; ++i) words.low = words.low << 8U | bytes[i];
  return words;
}

Uuid uuid_of(const Words& words) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(words.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(words.low >> (56 - 8 * i));
  }
  return Uuid(bytes);
}

Error not_a_uuid() {
  return Error(
      ErrorCode::kBadId,
      "This is not an id of ours: it has 26 characters of [0-9a-z], or the 36 of a UUID with dashes.");
}

// Reads `text` as digits of `bits` bits each, most significant first. False at a bad digit or an overflow.
bool read_digits(std::string_view text, std::string_view digits, unsigned bits, Words& words) {
  for (char c : text) {
    const int value = digit_value(digits, c);
    if (value < 0 || words.high >> (64 - bits) != 0) return false;
    words.high = words.high << bits | words.low >> (64 - bits);
    words.low = words.low << bits | static_cast<std::uint64_t>(value);
  }
  return true;
}

}  // namespace

Result<Uuid> Uuid::parse(std::string_view text) {
  Words words;
  if (text.size() == kTextSize) {
    if (!read_digits(text, kDigits, 5, words)) return not_a_uuid();
    return uuid_of(words);
  }
  if (text.size() != 36) return not_a_uuid();
  std::string hex;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return not_a_uuid();
    if (!dash) hex.push_back(text[i]);
  }
  if (!read_digits(hex, kHex, 4, words)) return not_a_uuid();
  return uuid_of(words);
}

std::string Uuid::text() const {
  Words words = words_of(bytes_);
  std::string out(kTextSize, '0');
  for (std::size_t i = kTextSize; i-- > 0;) {
    out[i] = kDigits[words.low & 31U];
    words.low = words.low >> 5U | words.high << 59U;
    words.high >>= 5U;
  }
  return out;
}

std::string Uuid::dashed() const {
  std::string out;
  out.reserve(36);
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    out.push_back(kHex[bytes_[i] >> 4U]);
    out.push_back(kHex[bytes_[i] & 15U]);
  }
  return out;
}

Time Uuid::made_at() const {
  return Time(std::chrono::milliseconds(static_cast<std::int64_t>(words_of(bytes_).high >> 16U)));
}

Uuid UuidMaker::make() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_.now()).time_since_epoch().count();
  const std::uint64_t ms = now < 0 ? 0 : static_cast<std::uint64_t>(now);
  const std::lock_guard lock(mutex_);
  if (ms > last_ms_) {
    last_ms_ = ms;
    last_a_ = random_.next() & (kMask12 >> 1U);  // half of the range is kept free for counting up
    last_b_ = random_.next() & kMask62;
  } else {
    // Same millisecond, or the clock went back: count on from the last id by a random step.
    last_b_ += 1 + (random_.next() & 0xFFFFFFFFU);
    if (last_b_ > kMask62) {
      last_b_ &= kMask62;
      if (++last_a_ > kMask12) {
        last_a_ = 0;
        ++last_ms_;
      }
    }
  }
  return uuid_of({last_ms_ << 16U | 0x7000U | last_a_, 0x8000000000000000ULL | last_b_});
}

}  // namespace tertulia

std::size_t std::hash<tertulia::Uuid>::operator()(const tertulia::Uuid& id) const noexcept {
  std::uint64_t words[2];
  std::memcpy(words, id.bytes().data(), sizeof words);
  return words[0] * 0x9E3779B97F4A7C15ULL ^ words[1];
}
