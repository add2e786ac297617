#include "api/turn_request.h"

#include <utility>
#include <vector>

#include "core/once_table.h"
#include "core/part_address.h"
#include "host/model_choices.h"

namespace tertulia::server {
namespace {

constexpr std::int64_t kMost = INT64_MAX;

Result<OnBusy> on_busy_named(const std::string& name) {
  for (const OnBusy on_busy : {OnBusy::kReject, OnBusy::kQueue, OnBusy::kSteer, OnBusy::kInterrupt}) {
    if (name_of(on_busy) == name) return on_busy;
  }
  return Error(ErrorCode::kOutOfRange, "on_busy is reject, queue, steer or interrupt")
      .with("param", "on_busy");
}

Result<OnInterrupted> on_interrupted_named(const std::string& name) {
  for (const OnInterrupted choice :
       {OnInterrupted::kGoOn, OnInterrupted::kFinish, OnInterrupted::kAbandon, OnInterrupted::kDiscard}) {
    if (name_of(choice) == name) return choice;
  }
  return Error(ErrorCode::kOutOfRange, "on_interrupted is go_on, finish, abandon or discard")
      .with("param", "on_interrupted");
}

// The texts of a part, kept while the message is made from views of them.
struct PartText {
  PartKind kind = PartKind::kText;
  std::string name;
  std::string asset;
  std::string text;
};

Result<PartText> read_part(const Json& form) {
  JsonReader in(form, "message.parts");
  PartText part;
  const std::string kind = in.required_string("kind");
  if (kind == "text") {
    part.text = in.required_string("text");
  } else if (kind == "image" || kind == "file") {
    part.kind = kind == "image" ? PartKind::kImage : PartKind::kFile;
    part.name = in.required_string("media_type");
    part.asset = in.string_or("asset", {});
    part.text = in.string_or("address", {});
  } else if (!in.failed()) {
    return Error(ErrorCode::kOutOfRange, "a part of a message is text, image or file, not '" + kind + "'")
        .with("param", "message.parts.kind");
  }
  TERTULIA_TRY(in.finish_strict());
  if (!part.asset.empty()) TERTULIA_TRY(AssetId::parse(part.asset));
  // With an asset, which is ours, it is the name that the asset is shown by.
  const bool elsewhere = part.kind != PartKind::kText && part.asset.empty() && !part.text.empty();
  if (elsewhere) TERTULIA_TRY(check_part_address(part.text, "message.parts.address"));
  return part;
}

Result<Message> read_message(const Call& call, const Json& form) {
  JsonReader in(form, "message");
  std::vector<PartText> texts;
  for (const Json& part : in.array_or_empty("parts")) {
    TERTULIA_TRY_AS(PartText text, read_part(part));
    texts.push_back(std::move(text));
  }
  TERTULIA_TRY(in.finish_strict());
  if (texts.empty()) return Error(ErrorCode::kEmptyMessage, "the message has no parts");
  MessageDraft draft{.id = MessageId(call.services.ids().make()), .time = call.services.env.clock().now()};
  for (const PartText& text : texts) {
    draft.parts.push_back({.kind = text.kind, .name = text.name, .call_id = text.asset, .text = text.text});
  }
  return Message::make(draft);
}

Result<Input> read_input(const Call& call, const Json* message) {
  if (message == nullptr) {
    return Error(ErrorCode::kMissingField, "turn: field 'message' is missing").with("param", "message");
  }
  if (const std::string* text = message->as_string()) {
    if (text->empty())
      return Error(ErrorCode::kEmptyMessage, "the message is empty").with("param", "message");
    return Input{.text = *text};
  }
  if (message->as_object() == nullptr) {
    return Error(ErrorCode::kWrongType, "turn: field 'message' must be a string or an object, not " +
                                            std::string(message->type_name()))
        .with("param", "message");
  }
  TERTULIA_TRY_AS(Message made, read_message(call, *message));
  return Input{.messages = {std::move(made)}};
}

Result<std::optional<double>> optional_number(JsonReader& in, std::string_view name, double most) {
  if (in.optional(name) == nullptr) return std::optional<double>();
  const double value = in.double_or(name, 0);
  if (value < 0 || value > most) {
    return Error(ErrorCode::kOutOfRange, "options: '" + std::string(name) + "' must be from 0 to " +
                                             std::to_string(static_cast<int>(most)))
        .with("param", "options." + std::string(name));
  }
  return std::optional(value);
}

Result<void> read_options(const Json& form, RunOptions& options) {
  JsonReader in(form, "options");
  options.model_name = in.string_or("model", {});
  if (!ModelChoices::chosen_name(options.model_name).empty()) {
    return Error(ErrorCode::kOutOfRange,
                 "options: 'model' names a model of the agent's provider; one of the configuration is chosen "
                 "by "
                 "the turn's own 'model'")
        .with("param", "options.model");
  }
  TERTULIA_TRY_AS(options.speech.temperature, optional_number(in, "temperature", 2));
  TERTULIA_TRY_AS(options.speech.top_p, optional_number(in, "top_p", 1));
  if (const std::int64_t most = in.int_or("max_output_tokens", 0, 1, UINT32_MAX); most > 0) {
    options.speech.max_output_tokens = static_cast<std::uint32_t>(most);
  }
  for (const Json& stop : in.array_or_empty("stop")) {
    const std::string* text = stop.as_string();
    if (text == nullptr) {
      return Error(ErrorCode::kWrongType, "options: 'stop' must be a list of strings")
          .with("param", "options.stop");
    }
    options.speech.stop.push_back(*text);
  }
  if (in.optional("seed") != nullptr) {
    options.speech.seed = static_cast<std::uint64_t>(in.int_or("seed", 0, 0, kMost));
  }
  options.speech.reasoning_effort = in.string_or("reasoning_effort", {});
  options.instructions = in.string_or("instructions", {});
  options.extra_instructions = in.string_or("extra_instructions", {});
  if (const std::int64_t budget = in.int_or("budget", 0, 1, kMost); budget > 0) {
    options.budget = Tokens{static_cast<std::uint64_t>(budget)};
  }
  options.tools = in.bool_or("tools", true);
  if (const std::int64_t timeout = in.int_or("timeout_ms", 0, 1, 86'400'000); timeout > 0) {
    options.timeout = std::chrono::milliseconds(timeout);
  }
  return in.finish_strict();
}

// A field under its own name, or under the one that other interfaces have for it.
std::string named_either(JsonReader& in, std::string_view name, std::string_view other) {
  std::string value = in.string_or(name, {});
  const std::string also = in.string_or(other, {});
  if (!also.empty() && !value.empty() && also != value) {
    in.fail(Error(ErrorCode::kDuplicateKey, "turn: '" + std::string(name) + "' and '" + std::string(other) +
                                                "' are the same thing, and say two")
                .with("param", std::string(other)));
  }
  return value.empty() ? also : value;
}

// A model of the configuration, by its name there, in place of the agent's own.
Result<void> choose_model(const Call& call, const std::string& name, RunOptions& options) {
  if (!options.model_name.empty()) {
    return Error(ErrorCode::kDuplicateKey,
                 "turn: 'model' chooses a model of the configuration and 'options.model' another one of the "
                 "agent's provider; give one of them")
        .with("param", "model");
  }
  TERTULIA_TRY_AS(options.model_name, call.services.models->choose(name));
  return {};
}

// What costs more is not everybody's to choose.
Result<void> check_choice(const Principal& principal, const std::string& model, const RunOptions& options) {
  if (!principal.models || (model.empty() && options.model_name.empty())) return {};
  if (options.model_name.empty() && principal.may_choose(model)) return {};
  if (principal.models->empty()) {
    return Error(ErrorCode::kNotPermitted,
                 principal.visitor
                     ? "a visitor speaks with the agent's own model; leave 'model' out, or use a key"
                     : "this key speaks with the agents' own models; leave 'model' and 'options.model' out")
        .with("param", "model");
  }
  return Error(ErrorCode::kNotPermitted,
               "this key may choose some models only, by 'model'; GET /api/v1/models lists them")
      .with("param", options.model_name.empty() ? "model" : "options.model")
      .with("models", *principal.models);
}

}  // namespace

Result<TurnRequest> read_turn_request(const Call& call, TurnPlace place) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, place == TurnPlace::kResuming ? call.json_or_empty() : call.json());
  JsonReader in(form, "turn");
  TurnRequest turn;
  turn.agent = named_either(in, "agent", "agentId");
  if (turn.agent.empty()) turn.agent = "default";
  turn.stream = in.bool_or("stream", false) || call.accepts_events();
  std::string branch;
  if (place == TurnPlace::kFree) turn.session = named_either(in, "session", "sessionId");
  if (place != TurnPlace::kInTurn) branch = named_either(in, "branch", "branchId");
  std::string on_busy = "reject";
  std::string on_interrupted = "go_on";
  const Json* message = nullptr;
  std::string model;
  // A turn that goes on keeps the model that it was begun with, unless another is chosen for it.
  model = in.string_or("model", {});
  on_interrupted = in.string_or("on_interrupted", on_interrupted);
  if (place != TurnPlace::kResuming) {
    message = in.optional("message");
    if (place == TurnPlace::kFree) on_busy = in.string_or("on_busy", on_busy);
  }
  const Json* options = in.optional("options");
  TERTULIA_TRY(in.finish_strict());
  if (place != TurnPlace::kResuming) {
    TERTULIA_TRY_AS(turn.input, read_input(call, message));
  }
  if (options != nullptr) TERTULIA_TRY(read_options(*options, turn.options));
  TERTULIA_TRY(check_choice(call.principal, model, turn.options));
  if (!model.empty()) TERTULIA_TRY(choose_model(call, model, turn.options));
  TERTULIA_TRY_AS(turn.options.on_busy, on_busy_named(on_busy));
  TERTULIA_TRY_AS(turn.options.on_interrupted, on_interrupted_named(on_interrupted));
  if (!branch.empty()) {
    TERTULIA_TRY_AS(turn.options.branch, BranchId::parse(branch));
  }
  turn.options.tenant = call.principal.tenant;
  turn.options.owner = call.principal.user;
  turn.options.idempotency_key = call.request.header("Idempotency-Key");
  if (turn.options.idempotency_key.size() > kMaxIdBytes) {
    return Error(ErrorCode::kTooLarge, "an Idempotency-Key has at most 128 bytes")
        .with("param", "Idempotency-Key")
        .with("limit", std::int64_t{kMaxIdBytes});
  }
  if (place == TurnPlace::kFree && turn.session.empty() && !turn.options.idempotency_key.empty()) {
    turn.session = once_session(turn.options.idempotency_key);
  }
  return turn;
}

}  // namespace tertulia::server
