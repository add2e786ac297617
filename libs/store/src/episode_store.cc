#include "tertulia/store/episode_store.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {

namespace {

Result<std::vector<Message>> messages_of(Store& store, const SessionKey& key, const TurnRange& range) {
  TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(store, key, range));
  std::vector<Message> messages;
  for (const StoredTurn& stored : turns) {
    std::uint64_t index = stored.first_index;
    for (const Message& message : stored.turn.messages()) {
      if (index >= range.begin && index < range.end) messages.push_back(message);
      ++index;
    }
  }
  return messages;
}

Result<std::vector<Episode>> read_episodes(Store& store, RecordQuery query) {
  std::vector<Episode> episodes;
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
    for (const StoredRecord& stored : page.records) {
      TERTULIA_TRY_AS(Episode episode, parse_form<Episode>(stored.record.payload));
      episodes.push_back(std::move(episode));
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return episodes;
}

RecordQuery episodes_of(const SessionKey& key) {
  return {.tenant = key.tenant,
          .owner = key.owner,
          .session = key.session,
          .kind = RecordKind::kEpisode,
          .limit = 1'000};
}

}  // namespace

Result<Revision> add_message(Store& store, Clock& clock, const SessionKey& key, const BranchId& branch,
                             const Message& message) {
  TERTULIA_TRY_AS(const Turn turn, Turn::from_messages(TurnId(message.id().uuid()), {message}));
  while (true) {
    TERTULIA_TRY_AS(const SessionState state, load(store, key));
    std::vector<Change> changes;
    changes.emplace_back(AppendTurn{.branch = branch, .turn = turn});
    Result<Revision> made = commit(store, {.key = key,
                                           .expected = state.session.revision,
                                           .conditions = {},
                                           .changes = std::move(changes),
                                           .time = clock.now()});
    // Another writer was faster; each round one of them succeeds.
    if (made || made.error().code() != ErrorCode::kRevisionConflict) return made;
  }
}

Result<std::vector<Message>> get_session_messages(Store& store, const SessionKey& key,
                                                  const BranchId& branch) {
  return messages_of(store, key, {.branch = branch});
}

Result<void> add_episode(Store& store, const SessionKey& key, const Episode& episode) {
  TERTULIA_TRY_AS(const SessionState state, load(store, key));
  const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                 [&](const BranchHead& branch) { return branch.id == episode.branch; });
  if (head == state.branches.end()) {
    return Error(ErrorCode::kNoBranch, "the session has no branch '" + episode.branch.text() + "'");
  }
  if (episode.span.first > episode.span.last || episode.span.last >= head->message_count) {
    return Error(ErrorCode::kOutOfRange, "the episode spans the messages " +
                                             std::to_string(episode.span.first) + " to " +
                                             std::to_string(episode.span.last) + " of a branch that has " +
                                             std::to_string(head->message_count))
        .with("param", "span");
  }
  TERTULIA_TRY(add_record(store, key,
                          {.stream = {.kind = RecordKind::kEpisode, .branch = episode.branch},
                           .time = episode.closed_at,
                           .key = episode.id.text(),
                           .name = std::string(name_of(episode.end_reason)),
                           .payload = to_json(episode)}));
  return {};
}

Result<std::vector<Episode>> list_episodes(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(std::vector<Episode> episodes, read_episodes(store, episodes_of(key)));
  std::sort(episodes.begin(), episodes.end(), [](const Episode& a, const Episode& b) {
    return std::tie(a.closed_at, a.id) < std::tie(b.closed_at, b.id);
  });
  return episodes;
}

Result<std::vector<Message>> get_episode_messages(Store& store, const SessionKey& key, EpisodeId episode) {
  RecordQuery query = episodes_of(key);
  query.key = episode.text();
  TERTULIA_TRY_AS(const std::vector<Episode> found, read_episodes(store, query));
  if (found.empty())
    return Error(ErrorCode::kNotFound, "the session has no episode '" + episode.text() + "'");
  const Episode& last = found.back();
  return messages_of(store, key,
                     {.branch = last.branch, .begin = last.span.first, .end = last.span.last + 1});
}

Result<std::uint64_t> add_record(Store& store, const SessionKey& key, Record record) {
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = record.stream.kind,
                    .branch = record.stream.branch,
                    .scope = record.stream.scope,
                    .newest_first = true,
                    .limit = 1};
  TERTULIA_TRY_AS(const RecordPage newest, read_records(store, query));
  record.number = newest.records.empty() ? 1 : newest.records.front().record.number + 1;
  while (true) {
    const Result<void> added = note(store, {.key = key, .conditions = {}, .changes = {AddRecord{record}}});
    if (added) return record.number;
    const ErrorFact::Value* current = added.error().fact("current");
    const auto* value = current != nullptr ? std::get_if<std::int64_t>(current) : nullptr;
    // Another writer was faster, or records were dropped: the refusal says where the stream stands.
    if (added.error().code() != ErrorCode::kRevisionConflict || value == nullptr) return added.error();
    record.number = static_cast<std::uint64_t>(*value) + 1;
  }
}

}  // namespace tertulia
