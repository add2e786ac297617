// Merging back: turns of another branch as they are, or what they come to in a few sentences.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "tertulia/memory/episodic_memory.h"
#include "tertulia/store/session_store.h"

#include "api/forms.h"
#include "api/routes.h"
#include "api/session_change.h"

namespace tertulia::server {
namespace {

constexpr std::string_view kSummaryTask =
    "You condense conversations. Keep names, numbers, dates, decisions and open questions; leave out "
    "greetings "
    "and repetition. Write plain sentences, at most 150 words, and nothing else.";
constexpr std::chrono::minutes kPatience(2);
// Of what was said, what the model is shown: of a longer branch a little of its beginning, and its end.
constexpr std::size_t kMostShown = 100'000;
constexpr std::size_t kShownOfBeginning = 20'000;

// The message as one of its own, which says where it came from.
Result<Message> copied(const Call& call, const Message& message) {
  const std::string source_id = message.id().text();
  MessageDraft draft{.id = MessageId(call.services.ids().make()),
                     .role = message.role(),
                     .time = message.time(),
                     .author = message.author(),
                     .origin = message.origin(),
                     .source = message.source(),
                     .source_id = source_id,
                     .tokens = message.tokens(),
                     .counted = message.counted(),
                     .interrupted = message.interrupted(),
                     .internal = message.internal(),
                     .extra = message.extra()};
  for (std::size_t i = 0; i < message.part_count(); ++i) draft.parts.push_back(message.part(i));
  return Message::make(draft);
}

Result<Turn> copied(const Call& call, const Turn& turn) {
  std::vector<Message> messages;
  for (const Message& message : turn.messages()) {
    TERTULIA_TRY_AS(Message copy, copied(call, message));
    messages.push_back(std::move(copy));
  }
  return Turn::from_messages(TurnId(call.services.ids().make()), std::move(messages));
}

bool holds(const StoredTurn& stored, std::string_view message) {
  const auto& messages = stored.turn.messages();
  return std::any_of(messages.begin(), messages.end(),
                     [&](const Message& one) { return one.id().text() == message; });
}

// The turns of `from` that `into` does not have, neither as they are nor in a summary, as far as they were
// asked for.
std::vector<StoredTurn> turns_to_pick(const std::vector<StoredTurn>& from,
                                      const std::vector<StoredTurn>& into,
                                      const std::set<std::uint64_t>& wanted) {
  std::set<std::string> known;
  std::size_t first = 0;
  for (const StoredTurn& stored : into) {
    for (const Message& message : stored.turn.messages()) {
      known.insert(message.id().text());
      known.emplace(message.source_id());
      if (message.origin() != Origin::kSummary) continue;
      // A summary stands for everything up to the message that it names.
      for (std::size_t i = first; i < from.size(); ++i) {
        if (holds(from[i], message.source_id())) first = i + 1;
      }
    }
  }
  std::vector<StoredTurn> picked;
  for (std::size_t i = first; i < from.size(); ++i) {
    if (known.contains(from[i].turn.messages().front().id().text())) continue;
    if (wanted.empty() || wanted.contains(number(from[i].revision))) picked.push_back(from[i]);
  }
  return picked;
}

struct Merge {
  SessionKey key;
  BranchId into;
  BranchId from;
  std::set<std::uint64_t> wanted;
  bool summary = false;
  std::optional<Revision> expected;
  // As the session was when it was asked for.
  Revision revision{};
  std::vector<StoredTurn> picked;
};

Result<Merge> read_merge(const Call& call) {
  TERTULIA_TRY(call.no_query());
  Merge merge;
  TERTULIA_TRY_AS(merge.key, call.session());
  TERTULIA_TRY_AS(merge.into, call.branch());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "merge");
  const std::string from = in.required_string("from");
  merge.summary = in.bool_or("summary", false);
  for (const Json& revision : in.array_or_empty("turns")) {
    const std::int64_t* value = revision.as_int();
    if (value == nullptr || *value < 0) {
      in.fail(
          Error(ErrorCode::kWrongType, "merge: 'turns' must be a list of revisions").with("param", "turns"));
      break;
    }
    merge.wanted.insert(static_cast<std::uint64_t>(*value));
  }
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(merge.from, BranchId::parse(from));
  TERTULIA_TRY_AS(merge.expected, call.if_match());
  return merge;
}

Result<std::vector<StoredTurn>> all_turns(const Call& call, const Merge& merge, const BranchHead& head) {
  if (head.message_count == 0) return std::vector<StoredTurn>();
  return read_turns(call.services.store(), merge.key, {.branch = head.id});
}

Result<void> pick_turns(const Call& call, Merge& merge) {
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), merge.key));
  merge.revision = state.session.revision;
  TERTULIA_TRY_AS(const BranchHead* source, find_branch(state, merge.from));
  TERTULIA_TRY_AS(const BranchHead* target, find_branch(state, merge.into));
  TERTULIA_TRY_AS(const std::vector<StoredTurn> theirs, all_turns(call, merge, *source));
  TERTULIA_TRY_AS(const std::vector<StoredTurn> ours, all_turns(call, merge, *target));
  for (const std::uint64_t revision : merge.wanted) {
    const bool there = std::ranges::any_of(
        theirs, [&](const StoredTurn& stored) { return number(stored.revision) == revision; });
    if (!there) {
      return Error(ErrorCode::kNoTurn,
                   "branch '" + merge.from.text() + "' has no turn of revision " + std::to_string(revision))
          .with("param", "turns");
    }
  }
  merge.picked = turns_to_pick(theirs, ours, merge.wanted);
  return {};
}

// A summary, by whom, and how many messages between the beginning and the end it has not seen.
struct MergeSummary {
  std::string text;
  std::string by;
  std::size_t left_out = 0;
};

Reply merge_reply(Revision revision, std::size_t turns, const MergeSummary& summary) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("revision").number(number(revision)).key("turns").number(std::uint64_t{turns});
  if (!summary.text.empty()) out.key("summary").string(summary.text).key("summary_by").string(summary.by);
  if (summary.left_out > 0) out.key("left_out").number(std::uint64_t{summary.left_out});
  out.end_object();
  return Reply::json(std::move(body)).with("ETag", etag_of(revision));
}

// A commit has one turn for each branch. Cut off in between, asking again goes on with the rest.
Result<Reply> cherry_pick(const Call& call, Merge& merge) {
  Revision revision = merge.revision;
  for (const StoredTurn& stored : merge.picked) {
    TERTULIA_TRY_AS(Turn turn, copied(call, stored.turn));
    TERTULIA_TRY_AS(const SessionState state,
                    change_session_at(call, merge.key, merge.expected, [&](const SessionState&) {
                      return Result(std::vector<Change>{AppendTurn{merge.into, turn, {}, std::nullopt}});
                    }));
    revision = state.session.revision;
    if (merge.expected) merge.expected = revision;
  }
  return merge_reply(revision, merge.picked.size(), {});
}

std::vector<Message> messages_in(const std::vector<StoredTurn>& turns) {
  std::vector<Message> messages;
  for (const StoredTurn& stored : turns) {
    messages.insert(messages.end(), stored.turn.messages().begin(), stored.turn.messages().end());
  }
  return messages;
}

// Somebody asked what was said there, and was told.
Result<Reply> put_summary(const Call& call, const Merge& merge, const MergeSummary& summary) {
  const Time now = call.services.env.clock().now();
  const std::string last = merge.picked.back().turn.messages().back().id().text();
  const std::string question = "What was said on the branch '" + merge.from.text() + "'?";
  TERTULIA_TRY_AS(Message asked, Message::make({.id = MessageId(call.services.ids().make()),
                                                .role = Role::kUser,
                                                .time = now,
                                                .origin = Origin::kSynthetic,
                                                .parts = {Part::text_of(question)}}));
  TERTULIA_TRY_AS(Message told, Message::make({.id = MessageId(call.services.ids().make()),
                                               .role = Role::kAssistant,
                                               .time = now,
                                               .origin = Origin::kSummary,
                                               .source = merge.from.text(),
                                               .source_id = last,
                                               .parts = {Part::text_of(summary.text)}}));
  TERTULIA_TRY_AS(Turn turn, Turn::from_messages(TurnId(call.services.ids().make()),
                                                 {std::move(asked), std::move(told)}));
  TERTULIA_TRY_AS(const SessionState state,
                  change_session_at(call, merge.key, merge.expected, [&](const SessionState&) {
                    return Result(std::vector<Change>{AppendTurn{merge.into, turn, {}, std::nullopt}});
                  }));
  return merge_reply(state.session.revision, merge.picked.size(), summary);
}

// What the model is shown, and how many messages it is not.
std::pair<std::string, std::size_t> lines_of(const std::vector<Message>& messages) {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (const Message& message : messages) {
    const std::string text = message.text_content();
    if (text.empty() || (message.role() != Role::kUser && message.role() != Role::kAssistant)) continue;
    lines.push_back(std::string(name_of(message.role())) + ": " + text + "\n\n");
    bytes += lines.back().size();
  }
  std::string shown;
  std::size_t first = 0;
  while (first < lines.size() && (bytes <= kMostShown || shown.size() < kShownOfBeginning)) {
    bytes -= bytes <= kMostShown ? 0 : lines[first].size();
    shown += lines[first++];
  }
  std::size_t left_out = 0;
  for (std::size_t i = first; i < lines.size() && bytes > kMostShown - std::min(kMostShown, shown.size());
       ++i) {
    bytes -= lines[i].size();
    ++left_out;
  }
  if (left_out > 0) shown += "[" + std::to_string(left_out) + " messages are left out here]\n\n";
  for (std::size_t i = first + left_out; i < lines.size(); ++i) shown += lines[i];
  return {std::move(shown), left_out};
}

Result<ModelCall> summary_call(const Call& call, const AgentDefinition& agent, const std::string& lines) {
  TERTULIA_TRY_AS(Message task, Message::make({.role = Role::kSystem,
                                               .origin = Origin::kSynthetic,
                                               .parts = {Part::text_of(kSummaryTask)}}));
  TERTULIA_TRY_AS(
      Message said,
      Message::make({.role = Role::kUser, .origin = Origin::kSynthetic, .parts = {Part::text_of(lines)}}));
  TERTULIA_TRY_AS(View view, View().with_leading(std::vector<Message>{std::move(task)}));
  TERTULIA_TRY_AS(view, view.with_trailing(std::vector<Message>{std::move(said)}));
  ModelCall asked;
  asked.request.model = agent.model_name;
  asked.request.view = std::move(view);
  asked.on_delta = [](const ModelDelta&) {};
  asked.deadline = Deadline::after(kPatience, call.services.env.clock());
  return asked;
}

std::string summary_in(const ModelResponse& response) {
  std::string text;
  for (const AnswerPart& part : response.parts) {
    if (part.kind == PartKind::kText) text += part.text;
  }
  return response.finish == Finish::kStop ? text : std::string();
}

// By the model of the default agent; the offline one has nothing to say, and one that fails neither: then the
// sentences are taken from what was said, and the answer says so.
void summarise(const CallPtr& call, Merge merge, Done<Reply> done) {
  const auto shared = std::make_shared<Merge>(std::move(merge));
  const auto finish = [call, shared, done](MergeSummary summary) {
    if (summary.text.empty()) {
      summary = {.text = extractive_summary(messages_in(shared->picked)), .by = "extract"};
    }
    done(put_summary(*call, *shared, summary));
  };
  const Result<AgentDefinitionPtr> agent = call->services.agents.find("default");
  if (!agent || (*agent)->model_name == "offline") return finish({});
  const auto [lines, left_out] = lines_of(messages_in(shared->picked));
  Result<ModelCall> asked = summary_call(*call, **agent, lines);
  if (!asked) return done(std::move(asked).error());
  const MergeSummary made{.by = (*agent)->model_name, .left_out = left_out};
  (*agent)->model->respond(
      *std::move(asked), [call, finish, done, made](const Result<ModelResponse>& response) {
        if (!response) {
          call->services.log.warn("a branch is summarised without its model",
                                  {{"reason", response.error().message()}});
        }
        MergeSummary summary = made;
        summary.text = response ? summary_in(*response) : std::string();
        const Result<void> posted =
            call->services.pool.post([finish, summary = std::move(summary)] { finish(summary); });
        if (!posted) done(posted.error());
      });
}

void merge_branch(const CallPtr& call, Done<Reply> done) {
  Result<Merge> merge = read_merge(*call);
  if (!merge) return done(std::move(merge).error());
  if (Result<void> picked = pick_turns(*call, *merge); !picked) return done(std::move(picked).error());
  if (!merge->summary || merge->picked.empty()) return done(cherry_pick(*call, *merge));
  summarise(call, *std::move(merge), std::move(done));
}

constexpr std::array kMergeRoutes{
    later(Method::kPost, "/api/v1/sessions/{session}/branches/{branch}/merge", Access::kWrite, &merge_branch,
          BodyKind::kJson),
};

}  // namespace

std::span<const Route> merge_routes() { return kMergeRoutes; }

}  // namespace tertulia::server
