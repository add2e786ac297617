#include "openai/response_request.h"

#include <utility>

#include "openai/chat_request.h"
#include "openai/fields.h"
#include "openai/read_items.h"
#include "openai/response_store.h"
#include "openai/speech.h"

namespace tertulia::server {
namespace {

// A member as the client gave it, or what it is if it did not.
Json given_or(const Fields& in, std::string_view key, const Json& other) {
  const Json* value = in.find(key);
  return value == nullptr ? other : *value;
}

// Function tools, with the members that clients expect to find again.
Json echoed_tools(const Fields& in) {
  JsonArray echoed;
  const Json* tools = in.find("tools");
  if (tools == nullptr) return echoed;
  for (const Json& tool : *tools->as_array()) {
    const JsonObject& given = *tool.as_object();
    const Fields fields(given);
    echoed.emplace_back(JsonObject{{"type", "function"},
                                   {"name", given_or(fields, "name", "")},
                                   {"description", given_or(fields, "description", nullptr)},
                                   {"parameters", given_or(fields, "parameters", JsonObject())},
                                   {"strict", given_or(fields, "strict", true)}});
  }
  return echoed;
}

Json echoed_text(const Fields& in) {
  const Json* text = in.find("text");
  JsonObject echoed = text != nullptr && text->as_object() != nullptr ? *text->as_object() : JsonObject();
  if (echoed.find("format") == nullptr) echoed.set("format", JsonObject{{"type", "text"}});
  return echoed;
}

Json echoed_reasoning(const Fields& in) {
  const Json* reasoning = in.find("reasoning");
  JsonObject echoed =
      reasoning != nullptr && reasoning->as_object() != nullptr ? *reasoning->as_object() : JsonObject();
  for (const char* key : {"effort", "summary"}) {
    if (echoed.find(key) == nullptr) echoed.set(key, nullptr);
  }
  return echoed;
}

JsonObject echo_of(const Fields& in, const ResponseRequest& request) {
  JsonObject echo{{"model", request.plan.model},
                  {"previous_response_id", given_or(in, "previous_response_id", nullptr)},
                  {"instructions", given_or(in, "instructions", nullptr)},
                  {"tools", echoed_tools(in)},
                  {"tool_choice", given_or(in, "tool_choice", "auto")},
                  {"truncation", given_or(in, "truncation", "disabled")},
                  {"parallel_tool_calls", given_or(in, "parallel_tool_calls", true)},
                  {"text", echoed_text(in)},
                  {"temperature", given_or(in, "temperature", 1)},
                  {"top_p", given_or(in, "top_p", 1)},
                  {"presence_penalty", 0},
                  {"frequency_penalty", 0},
                  {"top_logprobs", 0},
                  {"reasoning", echoed_reasoning(in)},
                  {"max_output_tokens", given_or(in, "max_output_tokens", nullptr)},
                  {"max_tool_calls", given_or(in, "max_tool_calls", nullptr)},
                  {"store", request.store},
                  {"background", request.background},
                  {"service_tier", "default"},
                  {"metadata", given_or(in, "metadata", JsonObject())},
                  {"safety_identifier", given_or(in, "safety_identifier", nullptr)},
                  {"prompt_cache_key", given_or(in, "prompt_cache_key", nullptr)}};
  if (const Json* user = in.find("user")) echo.append("user", *user);
  return echo;
}

Result<void> read_response_options(const Fields& in, RunOptions& options) {
  ModelOptions& speech = options.speech;
  TERTULIA_TRY(read_sampling(in, speech));
  TERTULIA_TRY_AS(const std::optional<std::int64_t> most, in.integer("max_output_tokens", 1, UINT32_MAX));
  if (most) speech.max_output_tokens = static_cast<std::uint32_t>(*most);
  TERTULIA_TRY_AS(const JsonObject* reasoning, in.object("reasoning"));
  if (reasoning != nullptr) {
    TERTULIA_TRY_AS(speech.reasoning_effort, Fields(*reasoning, "reasoning.").text_or("effort", {}));
    if (speech.reasoning_effort == "none") speech.reasoning_effort.clear();
  }
  TERTULIA_TRY_AS(const JsonObject* text, in.object("text"));
  if (text != nullptr) {
    TERTULIA_TRY_AS(const JsonObject* format, Fields(*text, "text.").object("format"));
    TERTULIA_TRY(read_format(format, "text.format", speech));
  }
  TERTULIA_TRY(in.object("metadata"));
  TERTULIA_TRY_AS(options.extra_instructions, in.text_or("instructions", {}));
  if (in.find("prompt") != nullptr) return in.unsupported("prompt", "stored prompts are not supported");
  return {};
}

Result<void> read_place(const Call& call, const JsonObject& body, const Fields& in,
                        ResponseRequest& request) {
  TERTULIA_TRY_AS(request.previous, in.text_or("previous_response_id", {}));
  const Json* conversation = in.find("conversation");
  if (conversation != nullptr && !request.previous.empty()) {
    return Error(ErrorCode::kOutOfRange, "say 'conversation' or 'previous_response_id', not both")
        .with("param", "conversation");
  }
  if (conversation != nullptr) {
    const JsonObject* object = conversation->as_object();
    TERTULIA_TRY_AS(const std::string id, object != nullptr ? Fields(*object, "conversation.").text("id")
                                                            : in.text("conversation"));
    TERTULIA_TRY_AS(request.plan.key, conversation_key(call, id));
    request.conversation = true;
  } else if (request.previous.empty()) {
    TERTULIA_TRY_AS(request.plan.key, named_session(call, body));
  }
  return {};
}

}  // namespace

std::string conversation_id(const SessionId& session) { return "conv_" + session.text(); }

Result<SessionKey> conversation_key(const Call& call, std::string_view id) {
  if (id.starts_with("conv_")) id.remove_prefix(5);
  return call.session_named(id);
}

Result<ResponseRequest> read_response_request(const Call& call, const JsonObject& body) {
  const Fields in(body);
  ResponseRequest request;
  ResponsePlan& plan = request.plan;
  TERTULIA_TRY_AS(plan.model, in.text("model"));
  TERTULIA_TRY_AS(const AgentDefinitionPtr agent, find_model(call.services, plan.model));
  TERTULIA_TRY_AS(plan.tools, read_client_tools(in.find("tools"), in.find("tool_choice")));
  TERTULIA_TRY_AS(plan.agent, with_client_tools(agent, plan.tools));
  TERTULIA_TRY(read_call_options(call, request.options));
  request.options.speech.tool_choice = plan.tools.choice;
  TERTULIA_TRY(read_response_options(in, request.options));
  TERTULIA_TRY_AS(request.store, in.flag_or("store", true));
  TERTULIA_TRY_AS(request.background, in.flag_or("background", false));
  TERTULIA_TRY_AS(request.stream, in.flag_or("stream", false));
  if (request.background && !request.store) {
    return Error(ErrorCode::kOutOfRange, "a response in the background must be stored")
        .with("param", "store");
  }
  TERTULIA_TRY(read_place(call, body, in, request));
  plan.echo = echo_of(in, request);
  if (plan.key && request.conversation) {
    plan.echo.append("conversation", JsonObject{{"id", conversation_id(plan.key->session)}});
  }
  return request;
}

Result<Json> find_item(const Call& call, const std::string& id) {
  const Error missing =
      Error(ErrorCode::kNotFound, "Item with id '" + id + "' not found.").with("param", "input");
  const std::optional<TurnIds> ids = TurnIds::of_item(id);
  if (!ids) return missing;
  TERTULIA_TRY_AS(const KeptResponse kept, load_response(call, ids->response(), "input"));
  const auto matches = [&id](const Json& item) {
    const JsonObject* object = item.as_object();
    const Json* named = object == nullptr ? nullptr : object->find("id");
    return named != nullptr && named->as_string() != nullptr && *named->as_string() == id;
  };
  for (const std::string& text : kept.plan->input) {
    TERTULIA_TRY_AS(Json item, parse_json(text));
    if (matches(item)) return item;
  }
  if (!kept.ended) return missing;
  TERTULIA_TRY_AS(const Json body, parse_json(kept.ended->body));
  const Json* output = body.as_object() == nullptr ? nullptr : body.as_object()->find("output");
  if (output == nullptr || output->as_array() == nullptr) return missing;
  for (const Json& item : *output->as_array()) {
    if (matches(item)) return item;
  }
  return missing;
}

Result<Assembled> read_response_input(const Call& call, const JsonObject& body,
                                      const std::vector<Message>& handed_back) {
  const Fields in(body);
  Assembler out(call.services.ids(), call.services.env.clock().now());
  out.begin_with(handed_back);
  const Json* input = in.find("input");
  if (input == nullptr) return in.missing("input");
  TERTULIA_TRY(read_input_items(*input, [&call](const std::string& id) { return find_item(call, id); }, out));
  return out.finish();
}

}  // namespace tertulia::server
