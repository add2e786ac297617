#include "tertulia/conversation/handle.h"

#include <charconv>
#include <vector>

#include <sodium.h>

namespace tertulia {
namespace {

constexpr std::string_view kPrefix = "th1_";
constexpr std::string_view kDomain = "tertulia handle\n";
constexpr std::size_t kMacBytes = crypto_auth_hmacsha256_BYTES;
// Three names of 128 bytes, two numbers and their marks fit well below it.
constexpr std::size_t kMaxTextBytes = 1024;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int kBase64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

using Mac = std::array<unsigned char, kMacBytes>;

Error invalid(std::string_view why) {
  return Error(ErrorCode::kInvalidHandle, "The conversation handle " + std::string(why));
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Mac mac_of(std::string_view payload, const HandleKey& key) {
  static const bool ready = sodium_init() >= 0;
  TERTULIA_CHECK(ready, "libsodium starts");
  crypto_auth_hmacsha256_state state;
  Mac mac;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(kDomain), kDomain.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(payload), payload.size());
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

std::vector<std::string_view> split(std::string_view payload) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t slash = payload.find('/');
    fields.push_back(payload.substr(0, slash));
    if (slash == std::string_view::npos) return fields;
    payload.remove_prefix(slash + 1);
  }
}

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// The payload was signed by us, so what does not read is a handle of another version of ours.
Result<ConversationHandle> parse_payload(std::string_view payload) {
  const std::vector<std::string_view> fields = split(payload);
  if (fields.size() != 6 || fields[0] != "1") return invalid("has a form this version does not know.");
  ConversationHandle handle;
  if (!fields[1].empty()) {
    TERTULIA_TRY_AS(handle.tenant, TenantId::parse(fields[1]));
  }
  TERTULIA_TRY_AS(handle.session, SessionId::parse(fields[2]));
  TERTULIA_TRY_AS(handle.branch, BranchId::parse(fields[3]));
  std::uint64_t revision = 0;
  std::int64_t expiry = 0;
  if (!parse_number(fields[4], revision) || (!fields[5].empty() && !parse_number(fields[5], expiry))) {
    return invalid("holds a number that does not read.");
  }
  handle.revision = Revision{revision};
  if (!fields[5].empty()) handle.expires_at = Time(Duration(expiry));
  return handle;
}

}  // namespace

Result<std::string> encode_handle(const ConversationHandle& handle, const HandleKey& key) {
  if (handle.session.empty() || handle.branch.empty()) {
    return invalid("is empty: it needs a session and a branch.");
  }
  std::string payload = "1/" + handle.tenant.text() + "/" + handle.session.text() + "/" +
                        handle.branch.text() + "/" + std::to_string(number(handle.revision)) + "/";
  if (handle.expires_at) payload += std::to_string(handle.expires_at->time_since_epoch().count());

  const Mac mac = mac_of(payload, key);
  std::string blob(mac.begin(), mac.end());
  blob += payload;
  std::string text(sodium_base64_encoded_len(blob.size(), kBase64), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes_of(blob), blob.size(), kBase64);
  text.pop_back();  // the NUL behind it
  return std::string(kPrefix) + text;
}

Result<ConversationHandle> decode_handle(std::string_view text, const HandleKey& key, const TenantId& tenant,
                                         Time now) {
  if (!text.starts_with(kPrefix) || text.size() > kMaxTextBytes) {
    return invalid("is not one of ours: pass on the text unchanged, as it was given out.");
  }
  text.remove_prefix(kPrefix.size());
  // libsodium takes some bytes above 0x7F for characters of its alphabet: a handle has one spelling only.
  const bool spelled = text.find_first_not_of(kAlphabet) == std::string_view::npos;
  std::string blob(text.size(), '\0');
  std::size_t size = 0;
  const char* end = nullptr;
  const int status = sodium_base642bin(reinterpret_cast<unsigned char*>(blob.data()), blob.size(),
                                       text.data(), text.size(), nullptr, &size, &end, kBase64);
  if (!spelled || status != 0 || end != text.data() + text.size() || size <= kMacBytes) {
    return invalid("is cut short or damaged: pass on the text unchanged, as it was given out.");
  }
  const std::string_view payload = std::string_view(blob).substr(kMacBytes, size - kMacBytes);
  const Mac mac = mac_of(payload, key);
  if (sodium_memcmp(mac.data(), blob.data(), kMacBytes) != 0) {
    return invalid("was changed, or signed with another key. Ask for a new one.");
  }
  TERTULIA_TRY_AS(ConversationHandle handle, parse_payload(payload));
  // The same words as for a changed one: a stranger learns nothing about whose it is.
  if (handle.tenant != tenant) return invalid("was changed, or signed with another key. Ask for a new one.");
  if (handle.expires_at && now >= *handle.expires_at) return invalid("has expired. Ask for a new one.");
  return handle;
}

}  // namespace tertulia
