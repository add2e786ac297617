#include "tertulia/base/base64.h"

#include <algorithm>

#include <openssl/evp.h>

namespace tertulia {
namespace {

// The library counts in int.
constexpr std::size_t kPieceBytes = 3U << 20U;

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::string piece;
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::string_view from = bytes.substr(at, kPieceBytes);
    piece.resize((from.size() + 2) / 3 * 4 + 1);
    const int written =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(piece.data()),
                        reinterpret_cast<const unsigned char*>(from.data()), static_cast<int>(from.size()));
    text.append(piece, 0, static_cast<std::size_t>(written));
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::string piece;
  for (std::size_t at = 0; at < text.size(); at += kPieceBytes / 3 * 4) {
    const std::string_view from = text.substr(at, kPieceBytes / 3 * 4);
    piece.resize(from.size() / 4 * 3);
    const int written =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(piece.data()),
                        reinterpret_cast<const unsigned char*>(from.data()), static_cast<int>(from.size()));
    if (written < 0) return std::nullopt;
    bytes.append(piece, 0, static_cast<std::size_t>(written));
  }
  // It counts the padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(bytes.size() - std::min(padding, bytes.size()));
  // It passes over white space, and over bits behind the end.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace tertulia
