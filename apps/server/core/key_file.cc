#include "core/key_file.h"

#include <array>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/outside_name.h"
#include "tertulia/base/sha256.h"
#include "tertulia/base/uuid.h"

#include "core/call.h"

namespace tertulia::server {
namespace {

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

Result<std::optional<Time>> optional_time(JsonReader& in, std::string_view name) {
  const std::string text = in.string_or(name, {});
  if (text.empty()) return std::optional<Time>();
  const std::optional<Time> time = parse_iso_time(text);
  if (!time) return Error(ErrorCode::kDamaged, "keys.json: '" + std::string(name) + "' is no time");
  return time;
}

Result<std::shared_ptr<const std::vector<std::string>>> models_of(const Json& form) {
  auto models = std::make_shared<std::vector<std::string>>();
  const Error damaged(ErrorCode::kDamaged, "keys.json: 'models' is no list of names");
  if (form.as_array() == nullptr) return damaged;
  for (const Json& name : *form.as_array()) {
    if (name.as_string() == nullptr) return damaged;
    models->push_back(*name.as_string());
  }
  return std::shared_ptr<const std::vector<std::string>>(std::move(models));
}

Result<ApiKey> key_of(const Json& form) {
  JsonReader in(form, "keys.json");
  ApiKey key;
  key.id = in.required_string("id");
  key.name = in.string_or("name", {});
  key.hash = in.required_string("hash");
  const std::string tenant = in.required_string("tenant");
  const std::string user = in.string_or("user", {});
  const std::string access = in.required_string("access");
  key.requests_per_minute = static_cast<std::uint32_t>(in.int_or("requests_per_minute", 0, 0, 1'000'000'000));
  key.tokens_per_day = static_cast<std::uint64_t>(in.int_or("tokens_per_day", 0, 0, INT64_MAX));
  key.money_per_day = static_cast<std::uint64_t>(in.int_or("money_per_day", 0, 0, INT64_MAX));
  if (const Json* models = in.optional("models")) {
    TERTULIA_TRY_AS(key.models, models_of(*models));
  }
  const std::string created = in.required_string("created_at");
  TERTULIA_TRY_AS(key.expires_at, optional_time(in, "expires_at"));
  TERTULIA_TRY_AS(key.revoked_at, optional_time(in, "revoked_at"));
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(key.tenant, from_outside<TenantId>(tenant));
  if (!user.empty()) {
    TERTULIA_TRY_AS(key.user, from_outside<OwnerId>(user));
  }
  TERTULIA_TRY_AS(key.access, access_named(access));
  const std::optional<Time> created_at = parse_iso_time(created);
  if (!created_at || key.hash.size() != 64) {
    return Error(ErrorCode::kDamaged, "keys.json: key '" + key.id + "' is not whole");
  }
  key.created_at = *created_at;
  return key;
}

std::string text_of(const std::vector<ApiKey>& keys) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("v").string("1.0").key("keys").begin_array();
  for (const ApiKey& key : keys) {
    out.begin_object().key("id").string(key.id);
    if (!key.name.empty()) out.key("name").string(key.name);
    out.key("hash").string(key.hash).key("tenant").string(key.tenant.text());
    if (key.user) out.key("user").string(key.user->text());
    out.key("access").string(name_of(key.access)).key("created_at").string(iso_time(key.created_at));
    if (key.expires_at) out.key("expires_at").string(iso_time(*key.expires_at));
    if (key.revoked_at) out.key("revoked_at").string(iso_time(*key.revoked_at));
    if (key.requests_per_minute > 0) {
      out.key("requests_per_minute").number(std::uint64_t{key.requests_per_minute});
    }
    if (key.tokens_per_day > 0) out.key("tokens_per_day").number(key.tokens_per_day);
    if (key.money_per_day > 0) out.key("money_per_day").number(key.money_per_day);
    if (key.models) {
      out.key("models").begin_array();
      for (const std::string& name : *key.models) out.string(name);
      out.end_array();
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

// Takes turns with other processes that change the file.
Result<std::unique_ptr<FileLock>> lock_keys(FileSystem& files, const Path& directory) {
  TERTULIA_TRY(files.make_directory(directory));
  return files.lock(directory / "keys.lock", "changes the keys");
}

}  // namespace

std::string_view name_of(Access access) {
  switch (access) {
    case Access::kOpen:
      return "open";
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "write";
    case Access::kAdmin:
      return "admin";
  }
  return {};
}

Result<Access> access_named(std::string_view name) {
  for (const Access access : {Access::kRead, Access::kWrite, Access::kAdmin}) {
    if (name_of(access) == name) return access;
  }
  return Error(ErrorCode::kOutOfRange, "a key may read, write or admin, not '" + std::string(name) + "'");
}

Path key_path(const Path& directory) { return directory / "keys.json"; }

Result<std::vector<ApiKey>> parse_keys(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  JsonReader in(form, "keys.json");
  if (in.required_string("v") != "1.0") {
    return Error(ErrorCode::kNeedsVersion, "keys.json is of a version that this program does not know");
  }
  std::vector<ApiKey> keys;
  for (const Json& item : in.array_or_empty("keys")) {
    TERTULIA_TRY_AS(ApiKey key, key_of(item));
    keys.push_back(std::move(key));
  }
  TERTULIA_TRY(in.finish_strict());
  return keys;
}

Result<std::vector<ApiKey>> read_keys(FileSystem& files, const Path& directory) {
  Result<std::string> text = read_file(files, key_path(directory), 16U << 20U);
  if (!text) {
    if (text.error().code() == ErrorCode::kNotFound) return std::vector<ApiKey>();
    return std::move(text).error();
  }
  return parse_keys(*text);
}

Result<NewKey> create_key(Env& env, const Path& directory, ApiKey draft) {
  TERTULIA_TRY_AS(const std::unique_ptr<FileLock> lock, lock_keys(env.files(), directory));
  TERTULIA_TRY_AS(std::vector<ApiKey> keys, read_keys(env.files(), directory));
  std::array<std::uint8_t, 32> random{};
  env.random().fill(random);
  std::string secret = "tk_" + hex_of({reinterpret_cast<const char*>(random.data()), random.size()});
  draft.id = UuidMaker(env.clock(), env.random()).make().text();
  draft.hash = sha256_hex(secret);
  draft.created_at = env.clock().now();
  keys.push_back(draft);
  TERTULIA_TRY(write_file_atomically(env.files(), key_path(directory), text_of(keys)));
  return NewKey{std::move(draft), Secret::take(std::move(secret))};
}

Result<void> revoke_key(Env& env, const Path& directory, std::string_view id) {
  TERTULIA_TRY_AS(const std::unique_ptr<FileLock> lock, lock_keys(env.files(), directory));
  TERTULIA_TRY_AS(std::vector<ApiKey> keys, read_keys(env.files(), directory));
  std::vector<std::string> known;
  for (ApiKey& key : keys) {
    known.push_back(key.id);
    if (key.id != id) continue;
    if (key.revoked_at) return {};
    key.revoked_at = env.clock().now();
    return write_file_atomically(env.files(), key_path(directory), text_of(keys));
  }
  return Error(ErrorCode::kNotFound, "there is no key '" + std::string(id) + "'" + did_you_mean(id, known) +
                                         "; see: tertulia keys list");
}

}  // namespace tertulia::server
