#include "http/problem.h"

#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"

namespace tertulia::server {

std::string_view name_of(HttpProblem problem) {
  switch (problem) {
#define TERTULIA_X(enumerator, name, status) \
  case HttpProblem::enumerator:              \
    return name;
    TERTULIA_HTTP_PROBLEMS(TERTULIA_X)
#undef TERTULIA_X
  }
  return {};
}

int status_of(HttpProblem problem) {
  switch (problem) {
#define TERTULIA_X(enumerator, name, status) \
  case HttpProblem::enumerator:              \
    return status;
    TERTULIA_HTTP_PROBLEMS(TERTULIA_X)  // NOLINT(bugprone-branch-clone): several problems have one status
#undef TERTULIA_X
  }
  return 500;
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kEmptyBody:
    case ErrorCode::kBadJson:
    case ErrorCode::kTooDeep:
    case ErrorCode::kDuplicateKey:
    case ErrorCode::kBadNumber:
    case ErrorCode::kBadUnicode:
    case ErrorCode::kUnknownField:
    case ErrorCode::kMissingField:
    case ErrorCode::kWrongType:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kBadId:
    case ErrorCode::kBadForkPoint:
    case ErrorCode::kEmptyMessage:
    case ErrorCode::kUnpairedToolCall:
    case ErrorCode::kBudgetTooSmall:
    case ErrorCode::kUnsupportedParameter:
    case ErrorCode::kUrlNotAllowed:
    case ErrorCode::kBadArguments:
    case ErrorCode::kBadGraph:
    case ErrorCode::kInvalidHandle:
    case ErrorCode::kDamaged:
    case ErrorCode::kNeedsVersion:
    case ErrorCode::kForeignData:
    case ErrorCode::kUnknownTokenizer:
      return 400;
    case ErrorCode::kRoleNotAllowed:
    case ErrorCode::kNotPermitted:
      return 403;
    case ErrorCode::kNoSession:
    case ErrorCode::kNoBranch:
    case ErrorCode::kNoMessage:
    case ErrorCode::kNoTurn:
    case ErrorCode::kNoQuestion:
    case ErrorCode::kNoCheckpoint:
    case ErrorCode::kNoSuchTool:
    case ErrorCode::kNotFound:
    case ErrorCode::kModelNotFound:
      return 404;
    case ErrorCode::kSessionExists:
    case ErrorCode::kSessionClosed:
    case ErrorCode::kBranchExists:
    case ErrorCode::kAmbiguousBranch:
    case ErrorCode::kProtectedBranch:
    case ErrorCode::kHasChildren:
    case ErrorCode::kRevisionConflict:
    case ErrorCode::kTurnRunning:
    case ErrorCode::kNothingToResume:
    case ErrorCode::kTurnInterrupted:
    case ErrorCode::kStateConflict:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kLeaseLost:
      return 409;
    case ErrorCode::kStreamGone:
      return 410;
    case ErrorCode::kTooLarge:
    case ErrorCode::kMessageExceedsContext:
    case ErrorCode::kContextOverflow:
      return 413;
    case ErrorCode::kKeyReuse:
      return 422;
    case ErrorCode::kRateLimited:
    case ErrorCode::kQueueFull:
    case ErrorCode::kLimitReached:
      return 429;
    case ErrorCode::kBadConfig:
    case ErrorCode::kScriptMismatch:
    case ErrorCode::kToolFailed:
    case ErrorCode::kWouldDeadlock:
      return 500;
    case ErrorCode::kModelUnavailable:
    case ErrorCode::kModelRefused:
    case ErrorCode::kModelKey:
    case ErrorCode::kBadStream:
      return 502;
    case ErrorCode::kSessionDamaged:
    case ErrorCode::kStorageIo:
    case ErrorCode::kStoreUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kLocked:
    case ErrorCode::kClosed:
    case ErrorCode::kCancelled:
      return 503;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kStorageFull:
      return 507;
  }
  return 500;
}

Problem Problem::of(const Error& error) {
  return {.status = status_of(error.code()),
          .code = name_of(error.code()),
          .message = error.message(),
          .facts = error.facts()};
}

Problem Problem::of(HttpProblem problem, std::string sentence, std::vector<ErrorFact> facts) {
  return {.status = status_of(problem),
          .code = name_of(problem),
          .message = std::move(sentence),
          .facts = std::move(facts)};
}

namespace {

struct FactWriter {
  JsonWriter& out;
  void operator()(std::int64_t number) const { out.number(number); }
  void operator()(const std::string& text) const { out.string(sanitize_utf8(text)); }
  void operator()(const std::vector<std::string>& texts) const {
    out.begin_array();
    for (const std::string& text : texts) out.string(sanitize_utf8(text));
    out.end_array();
  }
};

}  // namespace

std::string native_body(const Problem& problem, std::string_view request_id) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("error").begin_object();
  out.key("code").string(problem.code).key("message").string(sanitize_utf8(problem.message));
  for (const ErrorFact& fact : problem.facts) {
    out.key(fact.name);
    std::visit(FactWriter{out}, fact.value);
  }
  out.key("request").string(request_id).end_object().end_object();
  return body;
}

}  // namespace tertulia::server
