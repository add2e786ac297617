#include "http/upgrade.h"

#include <algorithm>
#include <array>

#include <openssl/evp.h>

#include "tertulia/base/json.h"

namespace tertulia::server {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Whether a list such as "keep-alive, Upgrade" has the word, in any of the headers of that name.
bool lists(const Request& request, std::string_view name, std::string_view word) {
  for (const Request::Field& field : request.fields) {
    if (!equal_but_case(field.name, name)) continue;
    std::string_view left = field.value;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(','), left.size());
      if (equal_but_case(trimmed(left.substr(0, end)), word)) return true;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
  return false;
}

// 16 bytes in base64.
bool is_nonce(std::string_view key) {
  const auto in_alphabet = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  return key.size() == 24 && key.ends_with("==") && std::all_of(key.begin(), key.end() - 2, in_alphabet);
}

}  // namespace

bool wants_socket(const Request& request) {
  return request.method == Method::kGet && lists(request, "Upgrade", "websocket") &&
         lists(request, "Connection", "upgrade");
}

std::optional<Reply> check_upgrade(const Request& request) {
  if (request.header("Sec-WebSocket-Version") != "13") {
    return Reply::refused(HttpProblem::kUpgradeRequired,
                          "version 13 of the WebSocket protocol is spoken here")
        .with("Sec-WebSocket-Version", "13");
  }
  if (request.version < 11 || request.count("Sec-WebSocket-Key") != 1 ||
      !is_nonce(request.header("Sec-WebSocket-Key"))) {
    return Reply::refused(HttpProblem::kBadHeader,
                          "a WebSocket begins with HTTP/1.1 and one Sec-WebSocket-Key of 16 bytes in base64");
  }
  return std::nullopt;
}

bool offers(const Request& request, std::string_view protocol) {
  return lists(request, "Sec-WebSocket-Protocol", protocol);
}

std::string accept_of(std::string_view key) {
  const std::string text = std::string(key).append(kMagic);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  std::array<unsigned char, 64> encoded{};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {encoded.begin(), encoded.begin() + length};
}

std::optional<std::string> shown_key(std::string_view message) {
  const Result<Json> json = parse_json(message);
  const JsonObject* object = json ? json->as_object() : nullptr;
  if (object == nullptr) return std::nullopt;
  const auto text = [object](std::string_view name) -> const std::string* {
    const Json* member = object->find(name);
    return member == nullptr ? nullptr : member->as_string();
  };
  const std::string* type = text("type");
  const std::string* key = text("key");
  if (type == nullptr || *type != "authenticate" || key == nullptr) return std::nullopt;
  // It becomes the value of a header.
  const bool plain = std::all_of(key->begin(), key->end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return plain ? std::optional(*key) : std::nullopt;
}

}  // namespace tertulia::server
