#include "openai/line_turn.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "openai/assembler.h"
#include "openai/chat_request.h"
#include "openai/conversation.h"
#include "openai/handed_back.h"
#include "openai/read_items.h"
#include "openai/thread.h"

namespace tertulia::server {
namespace {

std::string role_of(const Json& message) {
  const JsonObject* object = message.as_object();
  const Json* role = object == nullptr ? nullptr : object->find("role");
  return role == nullptr || role->as_string() == nullptr ? std::string() : *role->as_string();
}

Result<Assembled> assemble(const Call& call, const std::vector<Message>& open, const JsonArray& messages,
                           std::size_t first) {
  Assembler out(call.services.ids(), call.services.env.clock().now());
  out.begin_with(open);
  for (std::size_t i = first; i < messages.size(); ++i) {
    TERTULIA_TRY(read_chat_message(messages[i], "messages[" + std::to_string(i) + "]", out));
  }
  return out.finish();
}

// The first of the messages of this role that stand at the end.
std::size_t first_of_tail(const JsonArray& messages, std::string_view role) {
  std::size_t first = messages.size();
  while (first > 0 && role_of(messages[first - 1]) == role) --first;
  return first;
}

bool begins_with_user(const StoredTurn& stored) {
  return stored.turn.messages().front().role() == Role::kUser;
}

// Whether this was sent before and has been answered: then it changes nothing.
Result<bool> was_sent(const Call& call, const SessionKey& key, const std::string& once) {
  if (once.empty()) return false;
  TERTULIA_TRY_AS(const RecordPage page, read_records(call.services.store(), {.tenant = key.tenant,
                                                                              .owner = key.owner,
                                                                              .session = key.session,
                                                                              .kind = RecordKind::kSubmission,
                                                                              .key = once,
                                                                              .limit = 1}));
  return !page.records.empty();
}

// Where the conversation goes on for its n-th message of the user.
Result<BranchId> branch_for(const Call& call, const Conversation& conversation, std::size_t users,
                            const std::string& once) {
  TERTULIA_TRY_AS(const bool sent, was_sent(call, conversation.key, once));
  if (sent) return conversation.branch;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < conversation.turns.size(); ++i) {
    if (begins_with_user(conversation.turns[i]) && ++seen == users) return cut_before(call, conversation, i);
  }
  return conversation.branch;
}

Result<void> read_user_turn(const Call& call, const Conversation* conversation, const JsonArray& messages,
                            LineTurn& turn) {
  const std::size_t first = first_of_tail(messages, "user");
  const auto users = static_cast<std::size_t>(
      std::ranges::count_if(messages, [](const Json& message) { return role_of(message) == "user"; }));
  TERTULIA_TRY_AS(Assembled said, assemble(call, {}, messages, first));
  turn.input.messages = std::move(said.messages);
  if (conversation != nullptr) {
    TERTULIA_TRY_AS(turn.branch, branch_for(call, *conversation, users, turn.options.idempotency_key));
    return {};
  }
  TERTULIA_TRY_AS(turn.branch, BranchId::parse("main"));
  JsonArray before(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(first));
  TERTULIA_TRY_AS(Assembled history, assemble(call, {}, before, 0));
  turn.options.extra_instructions = std::move(history.instructions);
  return put_history(call.services, turn.key, std::move(history.messages));
}

Result<void> read_results(const Call& call, const Conversation* conversation, const JsonArray& messages,
                          LineTurn& turn) {
  if (conversation == nullptr || conversation->open.empty()) {
    return Error(ErrorCode::kUnpairedToolCall, "the conversation waits for no results of tools")
        .with("param", "messages");
  }
  TERTULIA_TRY_AS(Assembled results,
                  assemble(call, conversation->open, messages, first_of_tail(messages, "tool")));
  turn.input.messages = std::move(results.messages);
  turn.branch = conversation->branch;
  return {};
}

}  // namespace

Result<LineTurn> read_line_turn(const Call& call, const SessionKey& key, const std::string& model,
                                const JsonArray& messages, const Json* tools, const std::string& once) {
  if (messages.empty())
    return Error(ErrorCode::kEmptyMessage, "there are no messages").with("param", "messages");
  LineTurn turn;
  turn.key = key;
  TERTULIA_TRY_AS(const AgentDefinitionPtr agent, find_model(call.services, model));
  TERTULIA_TRY_AS(turn.tools, read_client_tools(tools, nullptr));
  TERTULIA_TRY_AS(turn.agent, with_client_tools(agent, turn.tools));
  TERTULIA_TRY(read_call_options(call, turn.options));
  if (once.size() > kMaxIdBytes) {
    // Shortened it could be another's; without it, sending again would run twice.
    return Error(ErrorCode::kOutOfRange, "'runId' has " + std::to_string(once.size()) + " bytes; at most " +
                                             std::to_string(kMaxIdBytes) + " are allowed")
        .with("param", "runId");
  }
  if (!once.empty()) turn.options.idempotency_key = once;
  Result<Conversation> loaded = load_conversation(call, key.session.text());
  if (!loaded && loaded.error().code() != ErrorCode::kNotFound) return std::move(loaded).error();
  const Conversation* conversation = loaded ? &*loaded : nullptr;
  if (role_of(messages.back()) == "tool") {
    TERTULIA_TRY(read_results(call, conversation, messages, turn));
  } else {
    TERTULIA_TRY(read_user_turn(call, conversation, messages, turn));
  }
  turn.options.branch = turn.branch;
  return turn;
}

RunPtr run_line_turn(Services& services, const LineTurn& turn) {
  services.metrics.turns_started.fetch_add(1, std::memory_order_relaxed);
  return std::make_shared<Run>(
      services.engine->run(turn.agent, turn.input, turn.key.session.text(), turn.options));
}

Result<RunPtr> attach_to_session(const Call& call, const SessionKey& key) {
  Engine& engine = *call.services.engine;
  for (const RunningTurn& running : engine.running()) {
    if (running.key == key) return std::make_shared<Run>(engine.watch(key, running.branch, running.turn));
  }
  TERTULIA_TRY_AS(const std::vector<InterruptedTurn> interrupted, engine.interrupted());
  for (const InterruptedTurn& left : interrupted) {
    if (left.key != key) continue;
    // Tools of a page are not known here; the agent goes on without them.
    const std::string& name = left.agent.text();
    TERTULIA_TRY_AS(const AgentDefinitionPtr agent,
                    find_model(call.services, name.substr(0, name.find('~'))));
    return std::make_shared<Run>(engine.run(
        agent, {}, key.session.text(), {.branch = left.branch, .tenant = key.tenant, .owner = key.owner}));
  }
  return RunPtr();
}

std::string asked_id(std::string_view question, std::uint64_t number) {
  return std::string(question) + "/" + std::to_string(number);
}

std::optional<AskedPlace> read_asked_id(std::string_view id) {
  const std::size_t first = id.find('/');
  const std::size_t last = id.rfind('/');
  if (last == std::string_view::npos || first == last) return std::nullopt;
  const Result<TurnId> turn = TurnId::parse(id.substr(0, first));
  AskedPlace place{.turn = {}, .question = std::string(id.substr(0, last))};
  const char* end = id.data() + id.size();
  const auto [read, error] = std::from_chars(id.data() + last + 1, end, place.number);
  if (!turn || error != std::errc() || read != end) return std::nullopt;
  place.turn = *turn;
  return place;
}

void OpenQuestions::take(const Event& event) {
  number_ = event.number;
  switch (event.kind) {
    case EventKind::kPermissionAsked:
      if (std::ranges::find(answered_, event.call_id) == answered_.end()) asked_[event.index] = event;
      return;
    case EventKind::kPermissionGiven:
    case EventKind::kToolCallResult:
      asked_.erase(event.index);
      return;
    case EventKind::kReset:
      asked_.clear();
      return;
    default:
      return;
  }
}

namespace {

std::optional<RunningTurn> running_turn_of(const Call& call, const SessionKey& key, const TurnId& turn) {
  for (RunningTurn& running : call.services.engine->running()) {
    if (running.turn == turn && running.key == key) return std::move(running);
  }
  return std::nullopt;
}

}  // namespace

Result<RunPtr> answer_and_watch(const Call& call, const SessionKey& key, const std::vector<GivenTo>& answers,
                                std::optional<std::uint64_t> after) {
  Engine& engine = *call.services.engine;
  const TurnId& turn = answers.back().place.turn;
  // Before it is answered: a moment later it may be over.
  RunPtr asking;
  if (const auto running = running_turn_of(call, key, turn)) {
    asking = std::make_shared<Run>(engine.watch(key, running->branch, turn, after));
  }
  for (const GivenTo& given : answers) {
    const Result<void> answered = engine.answer(key, given.place.question, given.answer);
    if (answered) continue;
    // Sent again: the turn that is watched tells what came of it.
    const bool again =
        asking && given.place.turn == turn && answered.error().code() == ErrorCode::kNoQuestion;
    if (!again) return answered.error();
  }
  if (asking) return asking;
  TERTULIA_TRY_AS(RunPtr left, attach_to_session(call, key));
  if (left) return left;
  // Somebody else has taken it up and ended it meanwhile: what is stored tells it.
  SessionKey stored;
  TERTULIA_TRY_AS(const SessionState state, load_conversation_state(call, key.session.text(), stored));
  TERTULIA_TRY_AS(const BranchId branch, current_branch(state));
  return std::make_shared<Run>(engine.watch(key, branch, turn, after));
}

void follow_line_turn(Services& services, const LineTurn& turn, const TurnId& id) {
  if (turn.tools.tools.empty()) return;
  auto run = std::make_shared<Run>(services.engine->watch(turn.key, turn.branch, id));
  read_events(run, [&services, run, turn](const std::optional<Event>& event) {
    if (event) return true;
    if (const Result<TurnOutcome> outcome = run->result()) keep_line_turn(services, turn, *outcome, [] {});
    return false;
  });
}

void keep_line_turn(Services& services, const LineTurn& turn, const TurnOutcome& outcome,
                    const std::function<void()>& done) {
  Result<std::vector<Message>> handed_back = handed_back_by(services, outcome, turn.tools);
  // The caller has the calls in its answer; only their results cannot be matched to it later.
  const auto tell = [log = services.log, session = turn.key.session](const Error& why) {
    log.warn("calls that were handed back could not be stored",
             {{"session", session}, {"reason", why.message()}});
  };
  if (!handed_back) {
    tell(handed_back.error());
    return done();
  }
  keep_handed_back(services.store(), turn.key, outcome.branch, outcome.turn, *handed_back,
                   services.env.clock().now(), [done, tell](const Result<void>& kept) {
                     if (!kept) tell(kept.error());
                     done();
                   });
}

}  // namespace tertulia::server
