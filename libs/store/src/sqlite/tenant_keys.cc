#include "tenant_keys.h"

#include <array>

#include <sodium.h>

namespace tertulia {

namespace {

constexpr std::size_t kLeastMasterBytes = 32;
constexpr std::string_view kCheckText = "tertulia";

// The key that wraps the others: the master key, brought to the right length.
DataKey wrapping_key(const Secret& master) {
  constexpr std::string_view kPurpose = "tertulia sqlite store";
  std::array<unsigned char, crypto_aead_xchacha20poly1305_ietf_KEYBYTES> bytes{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size(),
                          bytes.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(master.reveal().data()),
                            master.reveal().size());
  crypto_generichash_final(&state, bytes.data(), bytes.size());
  auto key = std::make_shared<const Secret>(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  sodium_memzero(bytes.data(), bytes.size());
  sodium_memzero(&state, sizeof(state));
  return key;
}

std::string check_place() { return place_of(Table::kCheck, 0); }
std::string key_place(const TenantId& tenant) { return place_of(Table::kKey, 0, tenant.text()); }

}  // namespace

Result<void> TenantKeys::open(Connection& connection, const Secret& master, bool fresh) {
  prepare_crypto();
  if (!master.empty() && master.reveal().size() < kLeastMasterBytes) {
    return Error(ErrorCode::kBadConfig, "a master key has at least 32 random bytes")
        .with("limit", static_cast<std::int64_t>(kLeastMasterBytes));
  }
  const DataKey key = master.empty() ? nullptr : wrapping_key(master);
  if (fresh && key != nullptr) {
    const std::string sealed = seal_row(check_place(), kCheckText, key, random_);
    TERTULIA_TRY_AS(Query insert, connection.query("INSERT INTO meta(name, data) VALUES('master_key', ?)"));
    TERTULIA_TRY(insert.bind_blob(sealed).run());
  }
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM meta WHERE name='master_key'"));
  TERTULIA_TRY_AS(const bool encrypted, select.step());
  if (!encrypted && key != nullptr) {
    return Error(ErrorCode::kBadConfig, "the store is not encrypted; open it without a master key");
  }
  if (encrypted && key == nullptr) {
    return Error(ErrorCode::kNotPermitted, "the store is encrypted; give the master key it was made with");
  }
  if (!encrypted) return {};
  std::string scratch;
  const std::string stored(select.blob(0));
  // A damaged row is told from a wrong key by its checksum, which needs no key.
  Result<std::string_view> content = open_row(check_place(), stored, key, scratch);
  if (content && *content == kCheckText) {
    master_ = key;
    return {};
  }
  const Result<std::string_view> keyless = open_row(check_place(), stored, nullptr, scratch);
  if (keyless.ok() || keyless.error().code() != ErrorCode::kNotPermitted) {
    return Error(ErrorCode::kDamaged, "the note of the master key is damaged; restore a backup");
  }
  return Error(ErrorCode::kNotPermitted, "this is not the master key that the store was made with");
}

Result<DataKey> TenantKeys::find(Connection& connection, const TenantId& tenant) {
  if (master_ == nullptr) return DataKey();
  {
    MutexLock lock(mutex_);
    if (const auto found = keys_.find(tenant); found != keys_.end()) return found->second;
  }
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM tenant_keys WHERE tenant=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(tenant.text()).step());
  if (!there) return DataKey();
  std::string scratch;
  Result<std::string_view> content = open_row(key_place(tenant), select.blob(0), master_, scratch);
  if (!content) return std::move(content).error().in("the key of tenant '" + tenant.text() + "'");
  auto key = std::make_shared<const Secret>(*content);
  wipe(scratch);
  MutexLock lock(mutex_);
  return keys_[tenant] = std::move(key);
}

Result<DataKey> TenantKeys::find_or_make(Connection& connection, const TenantId& tenant) {
  TERTULIA_TRY_AS(DataKey key, find(connection, tenant));
  if (key != nullptr || master_ == nullptr) return key;
  key = make_data_key(random_);
  const std::string sealed = seal_row(key_place(tenant), key->reveal(), master_, random_);
  TERTULIA_TRY_AS(Query insert, connection.query("INSERT INTO tenant_keys(tenant, data) VALUES(?, ?)"));
  TERTULIA_TRY(insert.bind(tenant.text()).bind_blob(sealed).run());
  MutexLock lock(mutex_);
  return keys_[tenant] = std::move(key);
}

Result<bool> TenantKeys::remove(Connection& connection, const TenantId& tenant) {
  TERTULIA_TRY_AS(Query query, connection.query("DELETE FROM tenant_keys WHERE tenant=?"));
  TERTULIA_TRY(query.bind(tenant.text()).run());
  MutexLock lock(mutex_);
  keys_.erase(tenant);
  return connection.changes() > 0;
}

void TenantKeys::forget() {
  MutexLock lock(mutex_);
  keys_.clear();
}

}  // namespace tertulia
