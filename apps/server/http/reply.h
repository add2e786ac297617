// A Reply: what a handler answers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/problem.h"

namespace tertulia::server {

class SocketSession;

// A body that comes bit by bit. It is pulled: nothing is asked for before the reader has taken what was
// written, so a slow reader costs no memory here.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Calls `done` once, from any thread, perhaps before it returns: with bytes that are written as one, or
  // with nothing at the end. Not called again before that. The stream is kept until then, also if the reader
  // has gone.
  virtual void next(std::function<void(std::optional<std::string>)> done) = 0;

  // Written when nothing has come for a while. Empty: the connection is just kept.
  virtual std::string_view heartbeat() const { return {}; }
};

struct Reply {
  int status = 200;
  std::string_view content_type = "application/json";
  // Beside those that every answer has.
  std::vector<std::pair<std::string_view, std::string>> headers{};
  std::string body{};
  // Instead of `body`: bytes that live as long as the program.
  std::string_view fixed{};
  // Instead of `body`.
  std::shared_ptr<ByteStream> stream{};
  // Instead of everything, where the request asks for a WebSocket. One that gets a stream of events instead
  // has them as messages.
  std::shared_ptr<SocketSession> socket{};
  // Instead of everything: written in the form that the route's API has for errors.
  std::optional<Problem> problem{};

  static Reply json(std::string body, int status = 200) {
    return {.status = status, .body = std::move(body)};
  }
  // A problem that says `retry_after`, in seconds, says it in the header as well.
  static Reply refused(Problem problem);
  static Reply refused(HttpProblem problem, std::string sentence, std::vector<ErrorFact> facts = {}) {
    return refused(Problem::of(problem, std::move(sentence), std::move(facts)));
  }

  Reply with(std::string_view name, std::string value) && {
    headers.emplace_back(name, std::move(value));
    return std::move(*this);
  }
};

// "OK", "Not Found", …
std::string_view reason_of(int status);

}  // namespace tertulia::server
