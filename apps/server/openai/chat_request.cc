#include "openai/chat_request.h"

#include <algorithm>
#include <utility>

#include "api/session_change.h"
#include "openai/assembler.h"
#include "openai/fields.h"
#include "openai/handed_back.h"
#include "openai/read_items.h"
#include "openai/speech.h"

namespace tertulia::server {
namespace {

Result<void> read_stop(const Fields& in, ModelOptions& speech) {
  const Json* stop = in.find("stop");
  if (stop == nullptr) return {};
  if (const std::string* one = stop->as_string()) {
    speech.stop.push_back(*one);
    return {};
  }
  TERTULIA_TRY_AS(const JsonArray* several, in.array("stop"));
  for (const Json& one : *several) {
    if (one.as_string() == nullptr) return in.wrong_type("stop", "a list of strings", one);
    speech.stop.push_back(*one.as_string());
  }
  return {};
}

Result<void> read_chat_options(const Fields& in, ChatRequest& chat) {
  ModelOptions& speech = chat.options.speech;
  TERTULIA_TRY(read_sampling(in, speech));
  TERTULIA_TRY(read_stop(in, speech));
  for (const std::string_view name : {"max_tokens", "max_completion_tokens"}) {
    TERTULIA_TRY_AS(const std::optional<std::int64_t> most, in.integer(name, 1, UINT32_MAX));
    if (most) speech.max_output_tokens = static_cast<std::uint32_t>(*most);
  }
  TERTULIA_TRY_AS(const std::optional<std::int64_t> seed, in.integer("seed", 0, INT64_MAX));
  if (seed) speech.seed = static_cast<std::uint64_t>(*seed);
  TERTULIA_TRY_AS(speech.reasoning_effort, in.text_or("reasoning_effort", {}));
  TERTULIA_TRY_AS(const JsonObject* format, in.object("response_format"));
  TERTULIA_TRY(read_format(format, "response_format", speech));
  TERTULIA_TRY_AS(const std::optional<std::int64_t> answers, in.integer("n", 1, 128));
  if (answers.value_or(1) != 1) return in.unsupported("n", "one answer is given; leave 'n' at 1");
  TERTULIA_TRY_AS(const bool logprobs, in.flag_or("logprobs", false));
  if (logprobs) return in.unsupported("logprobs", "'logprobs' is not supported");
  TERTULIA_TRY_AS(chat.stream, in.flag_or("stream", false));
  TERTULIA_TRY_AS(const JsonObject* stream_options, in.object("stream_options"));
  if (stream_options != nullptr) {
    TERTULIA_TRY_AS(chat.usage, Fields(*stream_options, "stream_options.").flag_or("include_usage", false));
  }
  return {};
}

Result<Assembled> assemble(const Call& call, const JsonArray& messages,
                           const std::vector<Message>& handed_back) {
  Assembler out(call.services.ids(), call.services.env.clock().now());
  out.begin_with(handed_back);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    TERTULIA_TRY(read_chat_message(messages[i], "messages[" + std::to_string(i) + "]", out));
  }
  return out.finish();
}

// What a session holds that matters for the next turn.
struct Stored {
  bool empty = true;
  std::vector<Message> handed_back;
};

Result<Stored> look_into(const Call& call, const SessionKey& key, const std::optional<BranchId>& branch) {
  Store& store = call.services.store();
  Result<SessionState> state = load(store, key);
  if (!state && state.error().code() == ErrorCode::kNoSession) return Stored();
  if (!state) return std::move(state).error();
  if (state->branches.empty()) return Stored();
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(*state, branch));
  Stored stored{.empty = head->message_count == 0, .handed_back = {}};
  TERTULIA_TRY_AS(const std::optional<StoredTurn> last, last_turn(store, key, *head));
  if (last) {
    TERTULIA_TRY_AS(stored.handed_back, load_handed_back(store, key, head->id, last->turn.id()));
  }
  return stored;
}

// Where the group stands that answers what was handed back, if the client says it all again.
std::optional<std::size_t> find_group(const std::vector<Message>& messages, const Message& answer) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (!messages[i].has_tool_calls()) continue;
    for (std::size_t part = 0; part < messages[i].part_count(); ++part) {
      if (messages[i].part(part).kind != PartKind::kToolCall) continue;
      for (std::size_t other = 0; other < answer.part_count(); ++other) {
        if (answer.part(other).kind != PartKind::kToolCall) continue;
        if (answer.part(other).call_id == messages[i].part(part).call_id) return i;
      }
    }
  }
  return std::nullopt;
}

Result<Assembled> assemble_for(const Call& call, const JsonArray& messages, const Stored& stored) {
  Result<Assembled> whole = assemble(call, messages, {});
  if (stored.handed_back.empty()) return whole;
  // The outputs alone were sent.
  if (!whole) return assemble(call, messages, stored.handed_back);
  if (const std::optional<std::size_t> group = find_group(whole->messages, stored.handed_back.front())) {
    whole->messages.erase(whole->messages.begin(),
                          whole->messages.begin() + static_cast<std::ptrdiff_t>(*group));
  }
  return whole;
}

Result<void> read_messages(const Call& call, const Fields& in, ChatRequest& chat) {
  TERTULIA_TRY_AS(const JsonArray* messages, in.array("messages"));
  if (messages == nullptr) return in.missing("messages");
  Stored stored;
  if (chat.session) {
    TERTULIA_TRY_AS(stored, look_into(call, *chat.session, chat.options.branch));
  }
  TERTULIA_TRY_AS(Assembled assembled, assemble_for(call, *messages, stored));
  chat.options.extra_instructions = std::move(assembled.instructions);
  TERTULIA_TRY_AS(const std::size_t first, first_of_input(assembled.messages));
  const auto split = assembled.messages.begin() + static_cast<std::ptrdiff_t>(first);
  if (stored.empty) chat.history.assign(assembled.messages.begin(), split);
  chat.input.messages.assign(split, assembled.messages.end());
  return {};
}

}  // namespace

Result<std::optional<SessionKey>> named_session(const Call& call, const JsonObject& body) {
  const Fields in(body);
  std::string name(call.request.header("Tertulia-Session"));
  if (const Json* conversation = in.find("conversation"); conversation != nullptr && name.empty()) {
    if (const JsonObject* object = conversation->as_object()) {
      TERTULIA_TRY_AS(name, Fields(*object, "conversation.").text("id"));
    } else {
      TERTULIA_TRY_AS(name, in.text("conversation"));
    }
  }
  if (name.empty()) {
    TERTULIA_TRY_AS(const JsonObject* metadata, in.object("metadata"));
    if (metadata != nullptr) {
      TERTULIA_TRY_AS(name, Fields(*metadata, "metadata.").text_or("session", {}));
    }
  }
  if (name.empty()) return std::optional<SessionKey>();
  TERTULIA_TRY_AS(SessionKey key, call.session_named(name));
  return std::optional(std::move(key));
}

Result<void> read_call_options(const Call& call, RunOptions& options) {
  options.tenant = call.principal.tenant;
  options.owner = call.principal.user;
  options.idempotency_key = call.request.header("Idempotency-Key");
  if (options.idempotency_key.size() > kMaxIdBytes) {
    return Error(ErrorCode::kTooLarge, "an Idempotency-Key has at most 128 bytes")
        .with("param", "Idempotency-Key");
  }
  if (const std::string_view branch = call.request.header("Tertulia-Branch"); !branch.empty()) {
    TERTULIA_TRY_AS(options.branch, BranchId::parse(branch));
  }
  return {};
}

Result<ChatRequest> read_chat_request(const Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json body, call.json());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(body, "the body"));
  const Fields in(*object);
  ChatRequest chat;
  TERTULIA_TRY_AS(chat.model, in.text("model"));
  TERTULIA_TRY_AS(const AgentDefinitionPtr agent, find_model(call.services, chat.model));
  TERTULIA_TRY_AS(chat.tools, read_client_tools(in.find("tools"), in.find("tool_choice")));
  TERTULIA_TRY_AS(chat.agent, with_client_tools(agent, chat.tools));
  chat.options.speech.tool_choice = chat.tools.choice;
  TERTULIA_TRY(read_call_options(call, chat.options));
  TERTULIA_TRY(read_chat_options(in, chat));
  TERTULIA_TRY_AS(chat.session, named_session(call, *object));
  TERTULIA_TRY(read_messages(call, in, chat));
  return chat;
}

}  // namespace tertulia::server
