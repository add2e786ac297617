#include "core/visitor_token.h"

#include <charconv>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "tertulia/base/outside_name.h"

#include "host/secret_file.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kMacHex = 64;

template <class Bytes>
std::string hex_of(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find('/'); end != std::string_view::npos; end = text.find('/')) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

Result<VisitorSigner> VisitorSigner::open(Env& env, const Path& directory) {
  TERTULIA_TRY_AS(const OwnSecret secret, open_secret(env, directory, "visitor.key"));
  return VisitorSigner(secret);
}

std::string VisitorSigner::mac_of(std::string_view payload) const {
  std::array<std::uint8_t, 32> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
       reinterpret_cast<const unsigned char*>(payload.data()), payload.size(), mac.data(), &size);
  return hex_of(mac);
}

std::string VisitorSigner::sign(const Visitor& visitor) const {
  const std::string payload = visitor.tenant.text() + "/" + visitor.user.text() + "/" + visitor.key + "/" +
                              std::to_string(visitor.expires_at.time_since_epoch().count());
  return std::string(kVisitorPrefix) + mac_of(payload) + "/" + payload;
}

std::optional<Visitor> VisitorSigner::read(std::string_view token, Time now) const {
  if (!token.starts_with(kVisitorPrefix)) return std::nullopt;
  token.remove_prefix(kVisitorPrefix.size());
  if (token.size() <= kMacHex || token[kMacHex] != '/') return std::nullopt;
  const std::string_view payload = token.substr(kMacHex + 1);
  const std::string mac = mac_of(payload);
  if (CRYPTO_memcmp(mac.data(), token.data(), kMacHex) != 0) return std::nullopt;
  const std::vector<std::string_view> parts = split(payload);
  if (parts.size() != 4) return std::nullopt;
  Result<TenantId> tenant = from_outside<TenantId>(parts[0]);
  Result<OwnerId> user = from_outside<OwnerId>(parts[1]);
  std::int64_t end = 0;
  const auto [last, error] = std::from_chars(parts[3].data(), parts[3].data() + parts[3].size(), end);
  if (!tenant || !user || error != std::errc() || last != parts[3].data() + parts[3].size())
    return std::nullopt;
  Visitor visitor{*std::move(tenant), *std::move(user), std::string(parts[2]), Time(Duration(end))};
  if (now >= visitor.expires_at) return std::nullopt;
  return visitor;
}

}  // namespace tertulia::server
