#include "core/key_ring.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tertulia/base/run_safely.h"
#include "tertulia/base/sha256.h"

namespace tertulia::server {

namespace {
constexpr std::chrono::milliseconds kLookEvery{300};
// Whoever guesses keys has the file read no more often than this.
constexpr std::chrono::milliseconds kLookAgainAfter{10};
}  // namespace

KeyRing::KeyRing(Env& env, Path directory, Log log)
    : env_(env), directory_(std::move(directory)), log_(std::move(log)), keys_(std::make_shared<Keys>()) {
  refresh();
  watcher_ = std::thread([this] { watch(); });
}

KeyRing::~KeyRing() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stopped_.notify_all();
  }
  watcher_.join();
}

void KeyRing::watch() {
  while (true) {
    {
      MutexLock lock(mutex_);
      const auto until =
          std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now() + kLookEvery);
      while (!stopping_ && std::chrono::steady_clock::now() < until) stopped_.wait_until(mutex_, until);
      if (stopping_) return;
    }
    run_safely("the reader of the keys", [this] { refresh(); });
  }
}

void KeyRing::refresh() {
  MutexLock reading(reading_);
  read();
}

void KeyRing::read() {
  Result<std::string> content = read_file(env_.files(), key_path(directory_), 16U << 20U);
  if (!content && content.error().code() != ErrorCode::kNotFound) {
    log_.error("the keys cannot be read", {{"reason", content.error().message()}});
    return;
  }
  std::string text = content ? *std::move(content) : std::string();
  {
    MutexLock lock(mutex_);
    if (text == content_) return;
  }
  Result<std::vector<ApiKey>> read =
      text.empty() ? Result<std::vector<ApiKey>>(std::vector<ApiKey>()) : parse_keys(text);
  if (!read) {
    log_.error("the keys cannot be read", {{"reason", read.error().message()}});
    return;
  }
  auto keys = std::make_shared<Keys>();
  for (ApiKey& key : *read) {
    auto shared = std::make_shared<const ApiKey>(std::move(key));
    keys->by_hash[shared->hash] = shared;
    keys->by_id[shared->id] = shared;
  }
  {
    MutexLock lock(mutex_);
    keys_ = std::move(keys);
    content_ = std::move(text);
  }
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const ApiKey> KeyRing::find(std::string_view secret) {
  const std::string hash = sha256_hex(secret);
  std::shared_ptr<const ApiKey> key = known(hash);
  if (!key) key = look_again(hash);
  if (!key || !key->valid_at(env_.clock().now())) return nullptr;
  return key;
}

std::shared_ptr<const ApiKey> KeyRing::known(const std::string& hash) const {
  const std::shared_ptr<const Keys> all = keys();
  const auto found = all->by_hash.find(hash);
  return found == all->by_hash.end() ? nullptr : found->second;
}

std::shared_ptr<const ApiKey> KeyRing::look_again(const std::string& hash) {
  MutexLock reading(reading_);
  // Another request may have shown it a moment ago.
  std::shared_ptr<const ApiKey> key = known(hash);
  const auto now = std::chrono::steady_clock::now();
  if (key || now < looked_ + kLookAgainAfter) return key;
  looked_ = now;
  read();
  return known(hash);
}

std::shared_ptr<const ApiKey> KeyRing::find_id(const std::string& id) const {
  const std::shared_ptr<const Keys> all = keys();
  const auto found = all->by_id.find(id);
  if (found == all->by_id.end() || !found->second->valid_at(env_.clock().now())) return nullptr;
  return found->second;
}

bool KeyRing::is_valid(const std::string& id) const { return find_id(id) != nullptr; }

std::size_t KeyRing::valid_keys() const {
  const std::shared_ptr<const Keys> all = keys();
  const Time now = env_.clock().now();
  return static_cast<std::size_t>(std::count_if(all->by_id.begin(), all->by_id.end(),
                                                [&](const auto& key) { return key.second->valid_at(now); }));
}

}  // namespace tertulia::server
