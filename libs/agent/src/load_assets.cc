// The bytes behind the images and files of messages: weighed when a message comes in, and given to the model
// with every request that shows them.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "tertulia/model/asset.h"

#include "as_job.h"
#include "turn_work.h"

namespace tertulia {
namespace {

// Nothing if the session has no such asset.
Task<Result<std::optional<std::string>>> read_asset(const TurnWork& work, std::string id) {
  if (work.engine.store == nullptr) co_return std::optional<std::string>();
  RecordQuery query{.tenant = work.key.tenant,
                    .owner = work.key.owner,
                    .session = work.key.session,
                    .kind = RecordKind::kAsset,
                    .key = std::move(id),
                    .limit = 1};
  Result<RecordPage> page = co_await await<RecordPage>(
      [&](Done<RecordPage> done) { work.engine.store->read_records(std::move(query), std::move(done)); });
  // A branch that is not stored has none.
  if (!page && page.error().code() == ErrorCode::kNoSession) co_return std::optional<std::string>();
  if (!page) co_return std::move(page).error();
  if (page->records.empty()) co_return std::optional<std::string>();
  co_return std::optional(std::move(page->records.front().record.payload));
}

// Messages share what was read before, and a model that nobody waits for any more may still look at it.
void keep_asset(TurnWork& work, const std::string& id, std::string bytes) {
  auto more = std::make_shared<Assets>(work.assets ? *work.assets : Assets());
  more->insert_or_assign(id, std::move(bytes));
  work.assets = std::move(more);
}

std::size_t size_of(const TurnWork& work, const Part& part) {
  if (part.call_id.empty()) return bytes_in_address(part.text);
  if (work.assets == nullptr) return 0;
  const auto found = work.assets->find(part.call_id);
  return found == work.assets->end() ? 0 : found->second.size();
}

bool has_assets(const Message& message) {
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    if (is_asset(message.part(i))) return true;
  }
  return false;
}

Error no_asset(const TurnWork& work, std::string_view id) {
  return Error(ErrorCode::kNotFound, "session '" + work.key.session.text() + "' has no asset '" +
                                         std::string(id) + "': upload it before the message that shows it")
      .with("param", "asset");
}

Error too_much(std::size_t bytes) {
  return Error(ErrorCode::kTooLarge, "the images and files of the message have " + std::to_string(bytes) +
                                         " bytes, and a model is given at most " +
                                         std::to_string(kRequestAssetBytes) + ": send fewer or smaller ones")
      .with("limit", static_cast<std::int64_t>(kRequestAssetBytes))
      .with("actual", static_cast<std::int64_t>(bytes));
}

// Where an image or a file is that is not stored here.
bool is_elsewhere(const Part& part) {
  return is_asset(part) && part.call_id.empty() &&
         (part.text.starts_with("http://") || part.text.starts_with("https://"));
}

// Looking up names blocks. The first that is refused, in the order of `addresses`, is `*first`.
Task<void> judge_addresses(TurnWork& work, std::vector<std::string> addresses, std::optional<Error>* first) {
  std::erase_if(addresses, [&](const std::string& one) { return work.judged_addresses.contains(one); });
  if (addresses.empty()) co_return;
  using Verdicts = std::vector<std::pair<std::string, Result<void>>>;
  const Result<Verdicts> verdicts = co_await as_job<Verdicts>(work.engine, "the names of hosts", [&]() {
    Verdicts all;
    for (const std::string& one : addresses) all.emplace_back(one, work.engine.addresses->check(one));
    return Result<Verdicts>(std::move(all));
  });
  if (!verdicts) {
    // Nobody has looked: not let through.
    for (std::string& one : addresses) work.judged_addresses.emplace(std::move(one), false);
    if (first != nullptr) *first = verdicts.error();
    co_return;
  }
  for (const auto& [address, verdict] : *verdicts) {
    work.judged_addresses.emplace(address, verdict.ok());
    if (first != nullptr && !verdict.ok() && !*first) *first = verdict.error();
  }
}

// What a view shows beside text, the newest first, each once.
struct Shown {
  std::vector<Part> stored;
  std::vector<std::string> elsewhere;
};

Shown shown_in(const View& view) {
  Shown shown;
  for (const Message& message : view) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (is_elsewhere(part)) shown.elsewhere.emplace_back(part.text);
      if (is_asset(part) && !part.call_id.empty()) shown.stored.push_back(part);
    }
  }
  std::ranges::reverse(shown.stored);
  std::vector<Part> once;
  for (const Part& part : shown.stored) {
    if (std::ranges::find(once, part.call_id, &Part::call_id) == once.end()) once.push_back(part);
  }
  shown.stored = std::move(once);
  std::ranges::sort(shown.elsewhere);
  shown.elsewhere.erase(std::ranges::unique(shown.elsewhere).begin(), shown.elsewhere.end());
  return shown;
}

Event refused_event(std::string_view address) {
  Event event;
  event.kind = EventKind::kWarning;
  event.name = "address_refused";
  event.text = "an image or a file of the history is not shown to the model: its address, " +
               std::string(address.substr(0, address.find_first_of("?#"))) +
               ", does not lead to the public internet";
  return event;
}

// What was said before may hold any address: by an import, or because a name leads elsewhere by now. The
// conversation does not stop at it.
Task<void> leave_out_refused(TurnWork& work, std::vector<std::string> addresses, ModelRequest& request) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(addresses, std::back_inserter(unknown),
                       [&](const std::string& one) { return !work.judged_addresses.contains(one); });
  co_await judge_addresses(work, unknown, nullptr);
  for (const std::string& one : unknown) {
    if (!work.judged_addresses.at(one)) work.live->log.add(refused_event(one));
  }
  std::erase_if(addresses, [&](const std::string& one) { return work.judged_addresses.at(one); });
  if (addresses.empty()) co_return;
  request.refused_addresses =
      std::make_shared<const std::set<std::string, std::less<>>>(addresses.begin(), addresses.end());
}

}  // namespace

std::uint64_t count_tokens(const TurnWork& work, const Part& part, const Tokenizer& tokenizer) {
  return tokens_of(part, is_asset(part) ? size_of(work, part) : 0, tokenizer);
}

Task<Result<void>> weigh_assets(TurnWork& work, std::vector<Message>& messages) {
  std::size_t bytes = 0;
  std::vector<std::string> elsewhere;
  for (Message& message : messages) {
    if (!has_assets(message)) continue;
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (!is_asset(part)) continue;
      if (is_elsewhere(part)) elsewhere.emplace_back(part.text);
      if (!part.call_id.empty() && (!work.assets || !work.assets->contains(part.call_id))) {
        const std::string id(part.call_id);
        TERTULIA_CO_TRY_AS(std::optional<std::string> found, co_await read_asset(work, id));
        if (!found) co_return no_asset(work, id);
        keep_asset(work, id, *std::move(found));
      }
      TERTULIA_CO_TRY(check_asset(part, size_of(work, part)));
      bytes += size_of(work, part);
    }
    message = counted(work, message);
  }
  if (bytes > kRequestAssetBytes) co_return too_much(bytes);
  std::optional<Error> refused;
  co_await judge_addresses(work, std::move(elsewhere), &refused);
  if (refused) co_return std::move(*refused).with("param", "address");
  co_return Result<void>();
}

Task<Result<void>> load_assets(TurnWork& work, ModelRequest& request) {
  Shown shown = shown_in(request.view);
  if (!shown.elsewhere.empty()) co_await leave_out_refused(work, std::move(shown.elsewhere), request);
  const std::vector<Part>& parts = shown.stored;
  if (parts.empty()) co_return Result<void>();
  auto given = std::make_shared<Assets>();
  std::size_t left = kRequestAssetBytes;
  for (const Part& part : parts) {
    const std::string id(part.call_id);
    if (!work.assets || !work.assets->contains(id)) {
      TERTULIA_CO_TRY_AS(std::optional<std::string> found, co_await read_asset(work, id));
      keep_asset(work, id, std::move(found).value_or(std::string()));
    }
    const std::string& bytes = work.assets->at(id);
    // What was let in before it was too large, or beside newer ones that fill the request, is left out.
    const bool fits = bytes.size() <= left && check_asset(part, bytes.size());
    if (fits) left -= bytes.size();
    given->emplace(id, fits ? bytes : std::string());
  }
  request.assets = std::move(given);
  co_return Result<void>();
}

}  // namespace tertulia
