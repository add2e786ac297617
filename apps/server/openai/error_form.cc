#include "openai/error_form.h"

#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"

namespace tertulia::server {
namespace {

std::string_view type_of(const Problem& problem) {
  if (problem.status == 401) return "authentication_error";
  if (problem.status == 403) return "permission_error";
  if (problem.status == 429) return "rate_limit_error";
  return problem.status < 500 ? "invalid_request_error" : "server_error";
}

const std::string* param_of(const Problem& problem) {
  for (const ErrorFact& fact : problem.facts) {
    if (fact.name == "param") return std::get_if<std::string>(&fact.value);
  }
  return nullptr;
}

// What the clients look for where they have a name of their own for it.
std::string_view code_of(const Problem& problem) {
  if (problem.code == name_of(ErrorCode::kContextOverflow)) return "context_length_exceeded";
  if (problem.code == name_of(ErrorCode::kMessageExceedsContext)) return "context_length_exceeded";
  const std::string* param = param_of(problem);
  const bool missing = problem.code == name_of(ErrorCode::kNotFound);
  if (missing && param != nullptr && *param == "previous_response_id") return "previous_response_not_found";
  if (problem.code == name_of(ErrorCode::kRateLimited)) return "rate_limit_exceeded";
  return problem.code;
}

}  // namespace

std::string openai_error(const Problem& problem) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("message").string(sanitize_utf8(problem.message));
  out.key("type").string(type_of(problem)).key("param");
  if (const std::string* param = param_of(problem)) {
    out.string(sanitize_utf8(*param));
  } else {
    out.null();
  }
  out.key("code").string(code_of(problem)).end_object();
  return body;
}

std::string openai_error_body(const Problem& problem, std::string_view) {
  std::string body;
  JsonWriter(body).begin_object().key("error").raw(openai_error(problem)).end_object();
  return body;
}

}  // namespace tertulia::server
