#include "tertulia/base/sha256.h"

#include <new>

#include <openssl/evp.h>

#include "tertulia/base/check.h"

namespace tertulia {
namespace {

// Looked up once: asking by name takes longer than hashing a short text.
const EVP_MD* algorithm() {
  static EVP_MD* const kFound = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  TERTULIA_CHECK(kFound != nullptr, "the OpenSSL library of this machine lacks SHA-256");
  return kFound;
}

EVP_MD_CTX* new_state() {
  EVP_MD_CTX* state = EVP_MD_CTX_new();
  if (state == nullptr) throw std::bad_alloc();
  return state;
}

EVP_MD_CTX* state_of(void* state) { return static_cast<EVP_MD_CTX*>(state); }

// Every one of these can fail for want of memory only.
void expect(int done) {
  if (done != 1) throw std::bad_alloc();
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4U];
    hex += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return hex;
}

}  // namespace

void Sha256::Free::operator()(void* state) const { EVP_MD_CTX_free(state_of(state)); }

Sha256::Sha256() : state_(new_state()) {
  expect(EVP_DigestInit_ex2(state_of(state_.get()), algorithm(), nullptr));
}

Sha256::Sha256(const Sha256& other) : state_(new_state()) {
  expect(EVP_MD_CTX_copy_ex(state_of(state_.get()), state_of(other.state_.get())));
}

Sha256& Sha256::operator=(const Sha256& other) {
  if (this != &other) *this = Sha256(other);
  return *this;
}

void Sha256::add(std::string_view bytes) {
  expect(EVP_DigestUpdate(state_of(state_.get()), bytes.data(), bytes.size()));
}

std::string Sha256::bytes() const {
  const Sha256 last(*this);
  std::string digest(kBytes, '\0');
  expect(EVP_DigestFinal_ex(state_of(last.state_.get()), reinterpret_cast<unsigned char*>(digest.data()),
                            nullptr));
  return digest;
}

std::string Sha256::hex() const { return to_hex(bytes()); }

std::string sha256_bytes(std::string_view text) {
  std::string digest(Sha256::kBytes, '\0');
  expect(EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                    algorithm(), nullptr));
  return digest;
}

std::string sha256_hex(std::string_view text) { return to_hex(sha256_bytes(text)); }

}  // namespace tertulia
