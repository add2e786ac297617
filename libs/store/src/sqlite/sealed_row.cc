#include "sealed_row.h"

#include <sodium.h>

#include "tertulia/base/check.h"
#include "tertulia/store/crc32c.h"

#include "../bytes.h"

namespace tertulia {

namespace {

constexpr char kRowVersion = 1;
constexpr std::size_t kHeader = 6;
constexpr std::size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t kKey = crypto_aead_xchacha20poly1305_ietf_KEYBYTES;

unsigned char* raw(char* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const char* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

std::uint32_t sum_of(std::string_view place, std::string_view stored) {
  return crc32c(stored.substr(kHeader), crc32c(stored.substr(0, 2), record_checksum(place, {})));
}

void append_encrypted(std::string& out, std::string_view place, std::string_view content, const Secret& key,
                      Random& random) {
  std::array<std::uint8_t, kNonce> nonce{};
  random.fill(nonce);
  out.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  const std::size_t start = out.size();
  out.resize(start + content.size() + kTag);
  crypto_aead_xchacha20poly1305_ietf_encrypt(raw(out.data() + start), nullptr, raw(content.data()),
                                             content.size(), raw(place.data()), place.size(), nullptr,
                                             nonce.data(), raw(key.reveal().data()));
}

}  // namespace

std::string place_of(Table table, std::int64_t id, std::string_view more) {
  std::string place(1, static_cast<char>(table));
  put_u64(place, static_cast<std::uint64_t>(id));
  place.append(more);
  return place;
}

void prepare_crypto() { TERTULIA_CHECK(sodium_init() >= 0, "libsodium cannot be used on this machine"); }

DataKey make_data_key(Random& random) {
  std::array<std::uint8_t, kKey> bytes{};
  random.fill(bytes);
  auto key = std::make_shared<const Secret>(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  sodium_memzero(bytes.data(), bytes.size());
  return key;
}

std::string seal_row(std::string_view place, std::string_view content, const DataKey& key, Random& random) {
  std::string out;
  out.reserve(kHeader + content.size() + (key != nullptr ? kNonce + kTag : 0));
  out.push_back(kRowVersion);
  out.push_back(key != nullptr ? '\1' : '\0');
  out.resize(kHeader);
  if (key != nullptr) {
    append_encrypted(out, place, content, *key, random);
  } else {
    out.append(content);
  }
  const std::uint32_t sum = sum_of(place, out);
  for (std::size_t i = 0; i < 4; ++i) out[2 + i] = static_cast<char>(sum >> (8 * i));
  return out;
}

Result<std::string_view> open_row(std::string_view place, std::string_view stored, const DataKey& key,
                                  std::string& scratch) {
  if (stored.size() < kHeader || ByteReader(stored.substr(2)).u32() != sum_of(place, stored)) {
    return Error(ErrorCode::kDamaged, "the checksum does not fit");
  }
  if (stored[0] != kRowVersion) return Error(ErrorCode::kNeedsVersion, "written by a newer version");
  const std::string_view body = stored.substr(kHeader);
  if (stored[1] == 0) return body;
  if (key == nullptr) return Error(ErrorCode::kNotPermitted, "its key is not there any more");
  if (body.size() < kNonce + kTag) return Error(ErrorCode::kDamaged, "too short to be encrypted");
  const std::string_view cipher = body.substr(kNonce);
  scratch.resize(cipher.size() - kTag);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(raw(scratch.data()), nullptr, nullptr, raw(cipher.data()),
                                                 cipher.size(), raw(place.data()), place.size(),
                                                 raw(body.data()), raw(key->reveal().data())) != 0) {
    return Error(ErrorCode::kDamaged, "it was not encrypted with the key of its tenant");
  }
  return std::string_view(scratch);
}

}  // namespace tertulia
