#include "provider/http_errors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "tertulia/base/json.h"
#include "tertulia/base/printable.h"

#include "provider/json_access.h"

namespace tertulia {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool speaks_of_length(std::string_view code, std::string_view message) {
  if (code == "context_length_exceeded" || code == "request_too_large" || code == "exceed_context_size_error")
    return true;
  return contains(message, "context length") || contains(message, "context window") ||
         contains(message, "context size") || contains(message, "prompt is too long") ||
         contains(message, "maximum context");
}

std::string said(std::string_view message) {
  return message.empty() ? std::string("nothing more") : printable(message, 400);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the only form that may be sent.
std::optional<Time> http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = -1;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  const auto* month = std::ranges::find(kMonths, text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  const std::chrono::year_month_day date(
      std::chrono::year(number(12, 4)),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin() + 1)),
      std::chrono::day(static_cast<unsigned>(std::max(number(5, 2), 0))));
  if (!date.ok() || number(17, 2) < 0 || number(20, 2) < 0 || number(23, 2) < 0) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(number(17, 2)) +
         std::chrono::minutes(number(20, 2)) + std::chrono::seconds(number(23, 2));
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return std::clamp(value, 0.0, 1e9);
}

Error with_retry_after(Error error, std::optional<Duration> wait) {
  if (!wait) return error;
  // In whole seconds, as the header has it; rounded up, so that it is never too early.
  return std::move(error).with("retry_after", std::chrono::ceil<std::chrono::seconds>(*wait).count());
}

}  // namespace

std::optional<Duration> retry_after(const HttpHead& head, Time now) {
  if (const auto exact = plain_number(head.header("retry-after-ms")))
    return Duration(static_cast<std::int64_t>(*exact * 1e3));
  const std::string_view text = head.header("retry-after");
  if (const auto seconds = plain_number(text)) return Duration(static_cast<std::int64_t>(*seconds * 1e6));
  if (const auto date = http_date(text)) return std::max(Duration(*date - now), Duration::zero());
  return std::nullopt;
}

Error error_of_words(std::string_view type, std::string_view code, std::string_view message) {
  const std::string text = said(message);
  if (speaks_of_length(code, message) || type == "request_too_large")
    return Error(ErrorCode::kContextOverflow, "the request is longer than the model can take: " + text);
  if (type == "authentication_error" || type == "permission_error" || code == "invalid_api_key" ||
      type == "billing_error" || code == "insufficient_quota" || type == "insufficient_quota")
    return Error(ErrorCode::kModelKey, "the provider refused the key or the account");
  if (type == "rate_limit_error" || code == "rate_limit_exceeded" || type == "rate_limit_exceeded")
    return Error(ErrorCode::kRateLimited, "the provider is asked too often: " + text);
  if (type == "not_found_error" || code == "model_not_found")
    return Error(ErrorCode::kModelNotFound, "the provider does not know it: " + text);
  if (type == "invalid_request_error" || code == "invalid_prompt")
    return Error(ErrorCode::kModelRefused, "the provider found fault with the request: " + text);
  return Error(ErrorCode::kModelUnavailable, "the provider failed: " + text);
}

Error error_of_status(const HttpHead& head, std::string_view body, Time now) {
  const Result<Json> parsed = parse_json(body);
  const Json* root = parsed ? &*parsed : nullptr;
  std::string_view message = text_at(root, "error", "message");
  if (message.empty()) message = text_at(root, "error");
  if (message.empty()) message = text_at(root, "message");
  if (message.empty() && root == nullptr) message = body.substr(0, 400);
  const std::string_view code = text_at(root, "error", "code");
  const std::string_view type = text_at(root, "error", "type");
  const std::string status = "the provider answered " + std::to_string(head.status) + ": ";
  const std::optional<Duration> wait = retry_after(head, now);

  // What it says to a bad key may hold a part of the key.
  if (head.status == 401 || head.status == 403 || code == "insufficient_quota" || type == "billing_error")
    return Error(ErrorCode::kModelKey, "the provider refused the key or the account (status " +
                                           std::to_string(head.status) + "): check the configured key");
  if (head.status == 429)
    return with_retry_after(Error(ErrorCode::kRateLimited, status + said(message)), wait);
  if (head.status == 413 || ((head.status == 400 || head.status == 422) && speaks_of_length(code, message)))
    return Error(ErrorCode::kContextOverflow, status + said(message));
  if (head.status == 404) return Error(ErrorCode::kModelNotFound, status + said(message));
  if (head.status == 408 || head.status == 409 || head.status == 425 || head.status >= 500)
    return with_retry_after(Error(ErrorCode::kModelUnavailable, status + said(message)), wait);
  return Error(ErrorCode::kModelRefused, status + said(message));
}

Error error_of_end(const HttpEnd& end, bool began, const CancelToken& cancel) {
  switch (end.how) {
    case HttpEnd::How::kUnreachable:
    case HttpEnd::How::kConnectTimeout:
    case HttpEnd::How::kIdle:
      return Error(ErrorCode::kModelUnavailable, end.sentence);
    case HttpEnd::How::kDeadline:
      return Error(ErrorCode::kDeadlineExceeded, end.sentence);
    case HttpEnd::How::kCancelled: {
      const Result<void> alive = cancel.check();
      return alive ? Error(ErrorCode::kCancelled, end.sentence) : alive.error();
    }
    case HttpEnd::How::kCut:
      return Error(began ? ErrorCode::kBadStream : ErrorCode::kModelUnavailable, end.sentence);
    case HttpEnd::How::kTooLarge:
      return Error(ErrorCode::kBadStream, end.sentence);
    case HttpEnd::How::kStopped:
      return end.error.value_or(Error(ErrorCode::kBadStream, end.sentence));
    case HttpEnd::How::kBadUrl:
      return Error(ErrorCode::kBadConfig, "the address of the provider is not usable: " + end.sentence);
    case HttpEnd::How::kClosed:
      return Error(ErrorCode::kClosed, end.sentence);
    case HttpEnd::How::kComplete:
      break;
  }
  return Error(ErrorCode::kBadStream, "the answer ended without being one");
}

}  // namespace tertulia
