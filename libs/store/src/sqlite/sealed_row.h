// How each row is guarded: a checksum over its place and its bytes, and encryption where there is a key.
//
//   byte 0     1: the version of this form
//   byte 1     0 plain, 1 encrypted
//   byte 2–5   CRC-32C of the place, bytes 0 and 1, and everything behind byte 5
//   rest       the content, or nonce (24), ciphertext and tag (16) of XChaCha20-Poly1305 with the place as
//              associated data
//
// The place is the table, the row's id, and what else of the row must not change on its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tertulia/base/random.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"

namespace tertulia {

enum class Table : char {
  kSession = 'S',
  kBranch = 'B',
  kTurn = 'T',
  kRecord = 'R',
  kKey = 'K',
  kCheck = 'C'
};

std::string place_of(Table table, std::int64_t id, std::string_view more = {});

// 32 bytes. Shared, because a reader may still use a key while the store forgets it.
using DataKey = std::shared_ptr<const Secret>;

// Makes sure that libsodium is ready.
void prepare_crypto();
DataKey make_data_key(Random& random);

// `key` may be null: then the row is plain.
std::string seal_row(std::string_view place, std::string_view content, const DataKey& key, Random& random);

// The content, as a window into `stored` or into `scratch`. kDamaged if the checksum or the tag does not fit;
// kNotPermitted for an encrypted row without its key; kNeedsVersion.
Result<std::string_view> open_row(std::string_view place, std::string_view stored, const DataKey& key,
                                  std::string& scratch);

}  // namespace tertulia
