// /v1/responses/input_tokens and /v1/responses/compact: what a request would cost, and making it smaller.
#include <array>
#include <utility>

#include "core/call.h"
#include "openai/chat_form.h"
#include "openai/fields.h"
#include "openai/response_place.h"
#include "openai/response_request.h"
#include "openai/routes.h"
#include "openai/run_events.h"

namespace tertulia::server {
namespace {

constexpr std::uint64_t kTokensPerMessage = 4;
constexpr std::uint64_t kTokensPerTool = 8;

constexpr std::string_view kCompact =
    "Summarise the conversation so far for somebody who goes on with it and has not read it. Keep names, "
    "numbers, "
    "decisions, open questions and what the user wants. Say nothing else.";

// A request without its turn: what stands before it, and what it says.
struct Weighed {
  ResponseRequest request;
  Branch before;
  std::vector<Message> messages;
};

Result<Weighed> weigh(const Call& call) {
  TERTULIA_TRY_AS(const Json body, call.json());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(body, "the body"));
  Weighed weighed;
  TERTULIA_TRY_AS(weighed.request, read_response_request(call, *object));
  weighed.request.store = false;
  std::vector<Message> handed_back;
  if (!weighed.request.previous.empty()) {
    TERTULIA_TRY_AS(const KeptResponse previous,
                    load_response(call, weighed.request.previous, "previous_response_id"));
    TERTULIA_TRY_AS(ResponsePlace place, place_behind(call, previous, /*store=*/false, {}));
    weighed.before = *std::move(place.before);
    handed_back = std::move(place.handed_back);
  }
  if (Fields(*object).find("input") != nullptr) {
    TERTULIA_TRY_AS(Assembled assembled, read_response_input(call, *object, handed_back));
    weighed.messages = std::move(assembled.messages);
    weighed.request.options.extra_instructions += assembled.instructions;
  }
  return weighed;
}

std::uint64_t tokens_of(const Weighed& weighed) {
  const AgentDefinition& agent = *weighed.request.plan.agent;
  const std::shared_ptr<const Tokenizer> tokenizer = agent.model->info(agent.model_name).tokenizer;
  std::uint64_t tokens = tokenizer->count(agent.spec.persona) + tokenizer->count(agent.spec.system_prompt) +
                         tokenizer->count(weighed.request.options.extra_instructions) + kTokensPerMessage;
  const auto add = [&](std::size_t, const Message& message) {
    tokens += kTokensPerMessage;
    for (std::size_t i = 0; i < message.part_count(); ++i) tokens += tokenizer->count(message.part(i).text);
  };
  weighed.before.transcript.for_each(0, weighed.before.transcript.size(), add);
  for (const Message& message : weighed.messages) add(0, message);
  for (const ToolDefinition& tool : agent.tools->snapshot()->definitions()) {
    tokens += kTokensPerTool + tokenizer->count(tool.name) + tokenizer->count(tool.description) +
              tokenizer->count(tool.parameters.text());
  }
  return tokens;
}

Result<Reply> count_input_tokens(Call& call) {
  TERTULIA_TRY_AS(const Weighed weighed, weigh(call));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("object").string("response.input_tokens");
  out.key("input_tokens").number(tokens_of(weighed)).end_object();
  return Reply::json(std::move(body));
}

// The user's messages stay as they are; everything else becomes the summary, which anybody can read.
std::string compaction_body(const Weighed& weighed, const TurnOutcome& outcome, Time now) {
  const TurnIds ids{.turn = outcome.turn, .session = {}};
  std::vector<Message> kept;
  const auto keep = [&kept](std::size_t, const Message& message) {
    if (message.role() == Role::kUser) kept.push_back(message);
  };
  weighed.before.transcript.for_each(0, weighed.before.transcript.size(), keep);
  for (const Message& message : weighed.messages) keep(0, message);
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("id").string(ids.response()).key("object").string("response.compaction");
  out.key("created_at").number(unix_seconds(now)).key("output").begin_array();
  for (const std::string& item : items_of(kept, ids)) out.raw(item);
  out.begin_object().key("id").string(ids.item("cmp", kept.size())).key("type").string("compaction");
  out.key("encrypted_content").string(outcome.text).end_object().end_array();
  out.key("usage").raw(usage_form(outcome.usage)).end_object();
  return body;
}

void compact(const CallPtr& call, Done<Reply> done) {
  Result<Weighed> weighed = weigh(*call);
  if (!weighed) return done(std::move(weighed).error());
  Services& services = call->services;
  Branch branch = weighed->before;
  if (!weighed->messages.empty()) {
    Result<Turn> turn = Turn::from_messages(TurnId(services.ids().make()), weighed->messages);
    if (!turn) return done(std::move(turn).error());
    branch.transcript.append(*turn, Revision{number(branch.transcript.last_revision()) + 1});
  }
  if (branch.transcript.empty()) {
    return done(
        Error(ErrorCode::kMissingField, "there is nothing to compact: give 'input' or 'previous_response_id'")
            .with("param", "input"));
  }
  RunOptions options = weighed->request.options;
  options.tools = false;
  RunPtr run = run_stateless(*services.engine, weighed->request.plan.agent, {.text = std::string(kCompact)},
                             std::make_shared<Branch>(std::move(branch)), std::move(options));
  read_events(run, [&services, run, weighed = *std::move(weighed), done](const std::optional<Event>& event) {
    if (event) return true;
    Result<TurnOutcome> outcome = run->result();
    if (!outcome) {
      done(std::move(outcome).error());
    } else {
      done(Reply::json(compaction_body(weighed, *outcome, services.env.clock().now())));
    }
    return false;
  });
}

constexpr std::array kResponseToolsRoutes{
    on_pool(Method::kPost, "/v1/responses/input_tokens", Access::kRead, &count_input_tokens, BodyKind::kJson),
    later(Method::kPost, "/v1/responses/compact", Access::kWrite, &compact, BodyKind::kJson),
};

}  // namespace

std::span<const Route> response_tool_routes() { return kResponseToolsRoutes; }

}  // namespace tertulia::server
