#include "server_door.h"

#include <utility>

#include "tertulia/base/done.h"
#include "tertulia/base/http_client.h"

namespace tertulia::cli {
namespace {

constexpr int kNoContent = 204;

// {"error":{"code":…,"message":…}}
Error error_in(const Json& body, int status) {
  const JsonObject* form = body.as_object();
  const Json* error = form == nullptr ? nullptr : form->find("error");
  const JsonObject* members = error == nullptr ? nullptr : error->as_object();
  const Json* code = members == nullptr ? nullptr : members->find("code");
  const Json* message = members == nullptr ? nullptr : members->find("message");
  const std::string* name = code == nullptr ? nullptr : code->as_string();
  const std::string* sentence = message == nullptr ? nullptr : message->as_string();
  return {name == nullptr ? ErrorCode::kClosed : error_code_named(*name).value_or(ErrorCode::kNotPermitted),
          sentence == nullptr ? "the server answered with status " + std::to_string(status) : *sentence};
}

}  // namespace

ServerDoor::ServerDoor(std::string url, const Environment& environment) : url_(std::move(url)) {
  while (url_.ends_with('/')) url_.pop_back();
  const auto found = environment.find("TERTULIA_API_KEY");
  if (found != environment.end()) key_ = std::make_shared<const Secret>(found->second);
}

Result<Json> ServerDoor::ask(const std::string& method, const std::string& path, std::string body) const {
  HttpRequest request{.method = method,
                      .url = url_ + path,
                      .headers = {{"Content-Type", "application/json"}},
                      .body = std::move(body),
                      .once = true};
  if (key_) request.secret_headers.push_back({"Authorization", "Bearer ", key_});
  int status = 0;
  std::string text;
  const std::shared_ptr<HttpClient> client = HttpClient::shared({.proxy = ""});
  const HttpEnd end = *wait<HttpEnd>([&](const Done<HttpEnd>& done) {
    client->send(std::move(request), {.on_head = [&status](const HttpHead& head) -> Result<void> {
                                        status = head.status;
                                        return {};
                                      },
                                      .on_body = [&text](std::string_view bytes) -> Result<void> {
                                        text += bytes;
                                        return {};
                                      },
                                      .on_end = [done](const HttpEnd& how) { done(how); }});
  });
  if (end.how != HttpEnd::How::kComplete) return Error(ErrorCode::kClosed, end.sentence);
  if (status == kNoContent) return Json();
  TERTULIA_TRY_AS(Json answer, parse_json(text));
  if (status >= 400) return error_in(answer, status);
  return answer;
}

}  // namespace tertulia::cli
