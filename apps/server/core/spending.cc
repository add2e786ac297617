#include "core/spending.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/json.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/text/stream_counter.h"
#include "tertulia/text/tokenizer.h"

#include "core/put_aside.h"
#include "host/iso_time.h"

namespace tertulia::server {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::chrono::seconds kBetweenWrites(2);

Path spending_path(const Path& directory) { return directory / "spending.json"; }

std::int64_t day_of(Time time) {
  return std::chrono::floor<std::chrono::days>(time).time_since_epoch().count();
}

// Nothing of another day.
Result<std::unordered_map<std::string, Used>> read_used(Env& env, const Path& directory, std::int64_t today) {
  TERTULIA_TRY_AS(const std::string text, read_file(env.files(), spending_path(directory), 64U << 20U));
  TERTULIA_TRY_AS(const Json form, parse_json(text, {.values = 10'000'000}));
  JsonReader in(form, "spending.json");
  std::unordered_map<std::string, Used> all;
  const std::int64_t day = in.required_int("day", 0, INT64_MAX);
  for (const auto& [key, one] : in.object_or_empty("keys")) {
    JsonReader fields(one, "spending.json");
    const Used used{.tokens = static_cast<std::uint64_t>(fields.required_int("tokens", 0, INT64_MAX)),
                    .money = static_cast<std::uint64_t>(fields.required_int("money", 0, INT64_MAX))};
    TERTULIA_TRY(fields.finish());
    if (day == today) all[key] = used;
  }
  TERTULIA_TRY(in.finish());
  return all;
}

// One answer while it is given to a key that has not much left.
//
// Concurrency: deltas come one after the other; a cancellation from any thread.
class MeteredAnswer {
 public:
  MeteredAnswer(std::unique_ptr<StreamCounter> counter, std::uint64_t most, const CancelToken& outer)
      : counter_(std::move(counter)),
        most_(most),
        passed_on_(outer.on_cancel([source = source_](CancelReason why) mutable { source.cancel(why); })) {}

  CancelToken token() const { return source_.token(); }
  bool cut() const { return cut_.load(); }
  std::uint64_t told() const { return told_.load(); }

  void take(const ModelDelta& delta) {
    counter_->append(delta.text);
    told_ = counter_->total();
    if (told_ >= most_ && !cut_.exchange(true)) source_.cancel(CancelReason::kUser);
  }

 private:
  const std::unique_ptr<StreamCounter> counter_;
  const std::uint64_t most_;
  CancelSource source_;
  std::atomic<std::uint64_t> told_ = 0;
  std::atomic<bool> cut_ = false;
  const CancelRegistration passed_on_;
};

class MeteredModel final : public LanguageModel {
 public:
  MeteredModel(std::shared_ptr<LanguageModel> inner, const Books& books, std::string key)
      : inner_(std::move(inner)),
        spending_(books.spending),
        keys_(books.keys),
        payers_(books.payers),
        key_(std::move(key)) {}

  ModelInfo info(std::string_view model) const override { return inner_->info(model); }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    // One that was taken back meanwhile has no limits any more; what it began is finished.
    const std::shared_ptr<const ApiKey> key = keys_.find_id(key_);
    if (key) {
      if (const Result<void> within = spending_.check(*key); !within) return done(within.error());
    }
    // "TURN/…": which call of which turn it is.
    const std::string_view once = call.request.idempotency_key;
    if (!once.empty()) payers_.note(once.substr(0, once.find('/')), key_);
    // The name that has a price: what was asked for may be a name of the configuration.
    const ModelInfo known = inner_->info(call.request.model);
    const std::string& model = known.name;
    if (key) {
      if (const Result<void> priced = spending_.check_price(*key, model); !priced)
        return done(priced.error());
    }
    const auto answer = key ? watched(*key, known, call) : nullptr;
    const std::uint64_t input = number(call.request.view.tokens());
    inner_->respond(std::move(call), [this, key, model, answer, input,
                                      done = std::move(done)](Result<ModelResponse> response) {
      // What the provider does not tell, or not any more, is reckoned.
      const Usage reckoned{.input_tokens = input, .output_tokens = answer ? answer->told() : 0};
      if (response) {
        const bool told = response->usage.input_tokens + response->usage.output_tokens > 0;
        spending_.add(key_, response->model, told ? response->usage : reckoned);
      } else if (answer && answer->cut()) {
        spending_.add(key_, model, reckoned);
        if (const Result<void> within = spending_.check(*key); !within) return done(within.error());
      }
      done(std::move(response));
    });
  }

 private:
  // Looks on while the model speaks, if it may not say as much as it likes.
  std::shared_ptr<MeteredAnswer> watched(const ApiKey& key, const ModelInfo& known, ModelCall& call) const {
    const std::optional<std::uint64_t> left = spending_.output_left(key, known.name);
    if (!left) return nullptr;
    auto answer = std::make_shared<MeteredAnswer>(known.tokenizer->new_stream(), *left, call.cancel);
    call.cancel = answer->token();
    call.on_delta = [answer, told = std::move(call.on_delta)](const ModelDelta& delta) {
      if (told) told(delta);
      answer->take(delta);
    };
    return answer;
  }

  const std::shared_ptr<LanguageModel> inner_;
  Spending& spending_;
  const KeyRing& keys_;
  Payers& payers_;
  const std::string key_;
};

}  // namespace

Result<std::uint64_t> parse_money(std::string_view text) {
  const Error wrong(ErrorCode::kOutOfRange,
                    "money is written as 2.50, with at most six digits behind the point");
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string rest(point == std::string_view::npos ? std::string_view() : text.substr(point + 1));
  if (rest.size() > 6 || whole.empty() || (point != std::string_view::npos && rest.empty())) return wrong;
  rest.resize(6, '0');
  std::uint64_t units = 0;
  std::uint64_t parts = 0;
  const auto read = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!read(whole, units) || !read(rest, parts) || units > 1'000'000'000) return wrong;
  return units * kMillion + parts;
}

Result<std::unordered_map<std::string, Used>> read_spending(Env& env, const Path& directory) {
  Result<std::unordered_map<std::string, Used>> used = read_used(env, directory, day_of(env.clock().now()));
  if (!used && used.error().code() == ErrorCode::kNotFound) return std::unordered_map<std::string, Used>();
  return used;
}

Result<Price> parse_price(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t slash = text.find('/', equals == std::string_view::npos ? 0 : equals);
  if (equals == std::string_view::npos || equals == 0 || slash == std::string_view::npos) {
    return Error(ErrorCode::kOutOfRange, "a price is written as MODEL=INPUT/OUTPUT: \"gpt-4o=2.50/10.00\"");
  }
  Price price{.model = std::string(text.substr(0, equals))};
  TERTULIA_TRY_AS(price.input, parse_money(text.substr(equals + 1, slash - equals - 1)));
  TERTULIA_TRY_AS(price.output, parse_money(text.substr(slash + 1)));
  return price;
}

Spending::Spending(Env& env, Path directory, std::vector<Price> prices, Log log)
    : env_(env), directory_(std::move(directory)), log_(std::move(log)), prices_(std::move(prices)) {
  MutexLock lock(mutex_);
  day_ = today();
  Result<std::unordered_map<std::string, Used>> used = read_spending(env_, directory_);
  if (used) {
    used_ = *std::move(used);
  } else {
    unknown_day_ = day_;
    const Result<Path> aside = put_aside(env_, spending_path(directory_));
    log_.error("spending.json cannot be read: keys with limits are refused until the day ends",
               {{"reason", used.error().message()},
                {"kept_as", aside ? aside->string() : "spending.json: " + aside.error().message()}});
  }
  writer_ = std::thread([this] { write_now_and_then(); });
}

Spending::~Spending() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  writer_.join();
  write();
}

std::int64_t Spending::today() const { return day_of(env_.clock().now()); }

Used Spending::used_today(const std::string& key) const {
  const std::int64_t day = today();
  MutexLock lock(mutex_);
  const auto found = used_.find(key);
  return found != used_.end() && day == day_ ? found->second : Used();
}

void Spending::set_prices(std::vector<Price> prices) {
  MutexLock lock(mutex_);
  prices_ = std::move(prices);
}

std::optional<Price> Spending::price_of(std::string_view model) const {
  std::optional<Price> price;
  for (const Price& one : prices_) {
    if (one.model == model || (one.model == "*" && !price)) price = one;
  }
  return price;
}

std::optional<std::uint64_t> Spending::output_left(const ApiKey& key, std::string_view model) const {
  const Used used = used_today(key.id);
  std::optional<std::uint64_t> left;
  if (key.tokens_per_day > 0) left = key.tokens_per_day - std::min(used.tokens, key.tokens_per_day);
  std::optional<Price> price;
  {
    MutexLock lock(mutex_);
    price = price_of(model);
  }
  if (key.money_per_day > 0 && price && price->output > 0) {
    const std::uint64_t money = key.money_per_day - std::min(used.money, key.money_per_day);
    // Rounded up: the token that reaches the limit is still given.
    const std::uint64_t tokens =
        (std::min(money, UINT64_MAX / kMillion) * kMillion + price->output - 1) / price->output;
    left = std::min(left.value_or(tokens), tokens);
  }
  return left;
}

std::string Spending::problem() const {
  const std::int64_t day = today();
  MutexLock lock(mutex_);
  if (unknown_day_ != day) return {};
  return "what keys have used today is not known, because spending.json was damaged: keys with limits are "
         "refused until " +
         iso_time(Time(std::chrono::sys_days(std::chrono::days(day + 1))));
}

Result<void> Spending::check_price(const ApiKey& key, std::string_view model) const {
  if (key.money_per_day == 0) return {};
  MutexLock lock(mutex_);
  if (price_of(model)) return {};
  return Error(ErrorCode::kLimitReached, "this key has a limit of money, and the model '" +
                                             std::string(model) +
                                             "' has no price; give it one in server.prices, or \"*\"")
      .with("unit", "millionths of money")
      .with("limit", static_cast<std::int64_t>(key.money_per_day));
}

Result<void> Spending::check(const ApiKey& key) const {
  if (key.tokens_per_day == 0 && key.money_per_day == 0) return {};
  if (const std::string unknown = problem(); !unknown.empty())
    return Error(ErrorCode::kLimitReached, unknown);
  const Used used = used_today(key.id);
  const bool tokens = key.tokens_per_day > 0 && used.tokens >= key.tokens_per_day;
  const bool money = key.money_per_day > 0 && used.money >= key.money_per_day;
  if (!tokens && !money) return {};
  const Time next = Time(std::chrono::sys_days(std::chrono::days(today() + 1)));
  const auto wait = std::chrono::ceil<std::chrono::seconds>(next - env_.clock().now());
  return Error(ErrorCode::kLimitReached, std::string("this key has used up what it may of ") +
                                             (tokens ? "tokens" : "money") + " today; a new day begins at " +
                                             iso_time(next))
      .with("unit", tokens ? "tokens" : "millionths of money")
      .with("limit", static_cast<std::int64_t>(tokens ? key.tokens_per_day : key.money_per_day))
      .with("actual", static_cast<std::int64_t>(tokens ? used.tokens : used.money))
      .with("resets_at", iso_time(next))
      .with("retry_after", std::int64_t{wait.count()});
}

void Spending::add(const std::string& key, std::string_view model, const Usage& usage) {
  const std::int64_t day = today();
  MutexLock lock(mutex_);
  const std::optional<Price> price = price_of(model);
  if (day != day_) used_.clear();
  day_ = day;
  Used& used = used_[key];
  used.tokens += usage.input_tokens + usage.output_tokens;
  if (price) {
    used.money += (usage.input_tokens * price->input + usage.output_tokens * price->output) / kMillion;
  }
  changed_ = true;
}

void Spending::write_now_and_then() {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stopping_) wake_.wait_until(mutex_, env_.clock().instant() + kBetweenWrites);
      if (stopping_) return;
    }
    run_safely("the writer of what was spent", [this] { write(); });
  }
}

void Spending::write() {
  std::string text;
  {
    MutexLock lock(mutex_);
    if (!std::exchange(changed_, false)) return;
    JsonWriter out(text);
    out.begin_object().key("day").number(day_).key("keys").begin_object();
    for (const auto& [key, used] : used_) {
      out.key(key)
          .begin_object()
          .key("tokens")
          .number(used.tokens)
          .key("money")
          .number(used.money)
          .end_object();
    }
    out.end_object().end_object();
  }
  if (const Result<void> written = write_file_atomically(env_.files(), spending_path(directory_), text);
      !written) {
    log_.warn("spending.json could not be written", {{"code", name_of(written.error().code())}});
  }
}

AgentDefinitionPtr metered(const AgentDefinitionPtr& agent, const Books& books, std::string key) {
  auto derived = std::make_shared<AgentDefinition>(*agent);
  derived->model = std::make_shared<MeteredModel>(agent->model, books, std::move(key));
  return derived;
}

}  // namespace tertulia::server
