// SHA-256, by the instructions that a processor has for it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tertulia {

// Piece by piece. A copy goes on from where it was taken. Throws std::bad_alloc.
class Sha256 {
 public:
  static constexpr std::size_t kBytes = 32;

  Sha256();
  Sha256(const Sha256& other);
  Sha256& operator=(const Sha256& other);
  Sha256(Sha256&&) noexcept = default;
  Sha256& operator=(Sha256&&) noexcept = default;
  ~Sha256() = default;

  void add(std::string_view bytes);
  // Of what was added so far; more can be added afterwards.
  std::string bytes() const;
  std::string hex() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  // The library's; not named here, so that its headers stay in one file.
  std::unique_ptr<void, Free> state_;
};

// Of a whole text: 32 bytes, or 64 digits.
std::string sha256_bytes(std::string_view text);
std::string sha256_hex(std::string_view text);

}  // namespace tertulia
