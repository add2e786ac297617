#include "openai/speech.h"

namespace tertulia::server {

Result<void> read_sampling(const Fields& in, ModelOptions& speech) {
  TERTULIA_TRY_AS(speech.temperature, in.number("temperature", 0, 2));
  TERTULIA_TRY_AS(speech.top_p, in.number("top_p", 0, 1));
  TERTULIA_TRY_AS(speech.parallel_tool_calls, in.flag_or("parallel_tool_calls", true));
  for (const std::string_view name : {"presence_penalty", "frequency_penalty", "top_logprobs"}) {
    TERTULIA_TRY_AS(const std::optional<double> value, in.number(name, -2, 20));
    if (value && *value != 0)
      return in.unsupported(name, "'" + in.param(name) + "' is not supported; leave it at 0");
  }
  return {};
}

Result<void> read_format(const JsonObject* format, const std::string& param, ModelOptions& speech) {
  if (format == nullptr) return {};
  const Fields outer(*format, param + ".");
  TERTULIA_TRY_AS(const std::string type, outer.text("type"));
  if (type == "text") return {};
  if (type == "json_object") {
    speech.answer_schema = JsonText::of(JsonObject{{"type", "object"}});
    speech.answer_schema_name = "object";
    return {};
  }
  if (type != "json_schema") return outer.unsupported("type", "the format '" + type + "' is not supported");
  TERTULIA_TRY_AS(const JsonObject* inner, outer.object("json_schema"));
  const Fields in(inner != nullptr ? *inner : *format,
                  inner != nullptr ? outer.param("json_schema") + "." : param + ".");
  TERTULIA_TRY_AS(const JsonObject* schema, in.object("schema"));
  if (schema == nullptr) return in.missing("schema");
  speech.answer_schema = JsonText::of(*schema);
  TERTULIA_TRY_AS(speech.answer_schema_name, in.text_or("name", "answer"));
  return {};
}

}  // namespace tertulia::server
