#include "tertulia/base/secret.h"

#include <cstring>
#include <utility>

namespace tertulia {

void wipe(std::string& text) {
  // Up to the capacity: a text that was longer before may have left its end there.
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
}

Secret::Secret(std::string_view text) : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
  if (size_ > 0) std::memcpy(bytes_.get(), text.data(), size_);
}

Secret Secret::take(std::string&& text) {
  Secret secret{std::string_view(text)};
  wipe(text);
  return secret;
}

Secret::Secret(Secret&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    clear();
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Secret::~Secret() { clear(); }

void Secret::clear() {
  if (bytes_ != nullptr) explicit_bzero(bytes_.get(), size_);
  bytes_.reset();
  size_ = 0;
}

bool Secret::matches(std::string_view other) const {
  if (empty()) return false;
  // Walks over the other text whatever happens, so that the time tells its own length only.
  volatile unsigned char difference = other.size() == size_ ? 0 : 1;
  for (std::size_t index = 0; index < other.size(); ++index) {
    const auto mine = static_cast<unsigned char>(bytes_[index % size_]);
    difference = static_cast<unsigned char>(difference | (mine ^ static_cast<unsigned char>(other[index])));
  }
  return difference == 0;
}

}  // namespace tertulia
