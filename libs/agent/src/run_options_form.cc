#include "run_options_form.h"

#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace {

JsonObject projection_form(const Projection& projection) {
  JsonObject form{{"participant", projection.participant},
                  {"policy", parse_json(to_json(projection.policy)).value_or({})}};
  if (projection.shared > 0) form.append("shared", projection.shared);
  if (number(projection.before) > 0) form.append("before", number(projection.before));
  return form;
}

Result<Projection> read_projection(const Json& form) {
  JsonReader in(form, "projection");
  Projection projection{.participant = in.required_string("participant")};
  if (const Json* policy = in.required("policy")) {
    TERTULIA_TRY_AS(projection.policy, from_json<ConversationPolicy>(*policy));
  }
  if (in.optional("shared") != nullptr)
    projection.shared = static_cast<std::uint64_t>(in.required_int("shared", 0, INT64_MAX));
  if (in.optional("before") != nullptr)
    projection.before = Revision{static_cast<std::uint64_t>(in.required_int("before", 0, INT64_MAX))};
  TERTULIA_TRY(in.finish());
  return projection;
}

}  // namespace

JsonText options_form(const Submission& submission) {
  const RunOptions& options = submission.options;
  const ModelOptions& speech = options.speech;
  JsonObject form;
  const auto text = [&form](const char* key, const std::string& value) {
    if (!value.empty()) form.append(key, value);
  };
  text("body", submission.body_hash);
  text("model", options.model_name);
  text("instructions", options.instructions);
  text("extra_instructions", options.extra_instructions);
  if (options.budget) form.append("budget", number(*options.budget));
  if (options.projection) form.append("projection", projection_form(*options.projection));
  if (!options.tools) form.append("tools", false);
  if (options.timeout) form.append("timeout_us", std::int64_t{options.timeout->count()});
  if (speech.temperature) form.append("temperature", *speech.temperature);
  if (speech.top_p) form.append("top_p", *speech.top_p);
  if (speech.max_output_tokens) {
    form.append("max_output_tokens", std::int64_t{*speech.max_output_tokens});
  }
  if (!speech.stop.empty()) {
    JsonArray stop;
    for (const std::string& one : speech.stop) stop.emplace_back(one);
    form.append("stop", std::move(stop));
  }
  if (speech.seed) form.append("seed", *speech.seed);
  text("reasoning_effort", speech.reasoning_effort);
  if (!speech.answer_schema.empty()) form.append("answer_schema", speech.answer_schema.value());
  text("answer_schema_name", speech.answer_schema_name);
  if (!speech.extra.empty()) form.append("extra", speech.extra.value());
  return JsonText::of_fields(form);
}

std::string body_hash_in(const JsonText& form) {
  if (form.empty()) return {};
  const Json value = form.value();
  return JsonReader(value, "turn options").string_or("body", {});
}

Result<void> read_options_form(const JsonText& form, Submission& submission) {
  submission.options.speech = {};
  if (form.empty()) return {};
  const Json value = form.value();
  JsonReader in(value, "turn options");
  RunOptions& options = submission.options;
  ModelOptions& speech = options.speech;
  submission.body_hash = in.string_or("body", {});
  options.model_name = in.string_or("model", {});
  options.instructions = in.string_or("instructions", {});
  options.extra_instructions = in.string_or("extra_instructions", {});
  options.budget.reset();
  if (in.optional("budget") != nullptr) {
    options.budget = Tokens{static_cast<std::uint64_t>(in.required_int("budget", 0, INT64_MAX))};
  }
  options.projection.reset();
  if (const Json* projection = in.optional("projection")) {
    TERTULIA_TRY_AS(options.projection, read_projection(*projection));
  }
  options.tools = in.bool_or("tools", true);
  options.timeout.reset();
  if (in.optional("timeout_us") != nullptr) {
    options.timeout = Duration(in.required_int("timeout_us", 0, INT64_MAX));
  }
  if (in.optional("temperature") != nullptr) speech.temperature = in.double_or("temperature", 0);
  if (in.optional("top_p") != nullptr) speech.top_p = in.double_or("top_p", 0);
  if (in.optional("max_output_tokens") != nullptr) {
    speech.max_output_tokens =
        static_cast<std::uint32_t>(in.required_int("max_output_tokens", 0, UINT32_MAX));
  }
  for (const Json& one : in.array_or_empty("stop")) {
    if (one.as_string() != nullptr) speech.stop.push_back(*one.as_string());
  }
  if (in.optional("seed") != nullptr) {
    speech.seed = static_cast<std::uint64_t>(in.required_int("seed", INT64_MIN, INT64_MAX));
  }
  speech.reasoning_effort = in.string_or("reasoning_effort", {});
  if (const Json* schema = in.optional("answer_schema")) speech.answer_schema = JsonText::of(*schema);
  speech.answer_schema_name = in.string_or("answer_schema_name", {});
  if (const Json* extra = in.optional("extra")) speech.extra = JsonText::of(*extra);
  return in.finish();
}

}  // namespace tertulia
