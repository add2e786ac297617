// Spending: what each key has used today, in tokens and in money, and whether that is still within its
// limits.
//
// Every answer of a model that is given to a turn or a run of the key counts, however it was asked for and
// whoever read it. A call that would begin beyond the limits is refused, and one that comes to them while the
// model speaks is cut: the turn fails with the reason, as if it had not been asked for unless a tool has run,
// and a run of a workflow can be resumed on another day. Days are those of UTC. Kept in spending.json in the
// data directory, so that a restart forgives nothing; a power cut may forgive the last few seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/model/language_model.h"

#include "core/key_ring.h"
#include "core/payers.h"

namespace tertulia::server {

// What a model costs, in millionths of the unit of money, for each million of tokens. `model` is its name, or
// "*" for all others.
struct Price {
  std::string model;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};
// "gpt-4o=2.50/10.00". kOutOfRange.
Result<Price> parse_price(std::string_view text);
// "2.50" as 2'500'000. kOutOfRange.
Result<std::uint64_t> parse_money(std::string_view text);

struct Used {
  std::uint64_t tokens = 0;
  std::uint64_t money = 0;
};
// What the file says of the day that it is now, by the ids of keys; nothing if there is none. A server writes
// it every few seconds. Errors of a file that cannot be read.
Result<std::unordered_map<std::string, Used>> read_spending(Env& env, const Path& directory);

// Concurrency: any thread.
class Spending {
 public:
  // Keeps a reference to `env`. A file that cannot be read is put aside as spending.json.damaged-TIME: what
  // keys have used today is not known then, and those with limits are refused until the day ends, or until
  // somebody puts a file there that can be read, and starts again.
  Spending(Env& env, Path directory, std::vector<Price> prices, Log log);
  // From now on.
  void set_prices(std::vector<Price> prices);
  // Writes what is not written yet.
  ~Spending();
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

  // kLimitReached {limit, actual, unit, resets_at, retry_after} for a key that has used up what it may, or of
  // which that is not known.
  Result<void> check(const ApiKey& key) const;
  // kLimitReached for a key with a limit of money and a model that has no price: it would cost nothing.
  Result<void> check_price(const ApiKey& key, std::string_view model) const;
  // What stands in the way of keys with limits, for /ready and the log; empty if nothing does.
  std::string problem() const;
  void add(const std::string& key, std::string_view model, const Usage& usage);
  // How many tokens of output the key may still be given by this model. None: any number.
  std::optional<std::uint64_t> output_left(const ApiKey& key, std::string_view model) const;

 private:
  std::int64_t today() const;
  Used used_today(const std::string& key) const;
  std::optional<Price> price_of(std::string_view model) const TERTULIA_REQUIRES(mutex_);
  void write_now_and_then();
  void write();

  Env& env_;
  const Path directory_;
  const Log log_;
  mutable Mutex mutex_;
  std::vector<Price> prices_ TERTULIA_GUARDED_BY(mutex_);
  CondVar wake_;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool changed_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::int64_t day_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // The day of which nobody knows what was used.
  std::optional<std::int64_t> unknown_day_ TERTULIA_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Used> used_ TERTULIA_GUARDED_BY(mutex_);
  std::thread writer_;
};

// What a meter writes down what is used in. Everything outlives the agents.
struct Books {
  Spending& spending;
  const KeyRing& keys;
  Payers& payers;
};
// The agent, with a model whose answers count for this key, and which speaks only within its limits.
AgentDefinitionPtr metered(const AgentDefinitionPtr& agent, const Books& books, std::string key);

}  // namespace tertulia::server
