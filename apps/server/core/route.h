// A Route: a method and a path, what they demand, and who answers.
//
//   on_pool(Method::kGet, "/api/v1/sessions/{session}", Access::kRead, &get_session),
//
// The tables of routes are also what the tests walk: every route is tried with every kind of principal, and
// every route must be in the OpenAPI document.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tertulia/base/done.h"
#include "tertulia/base/result.h"

#include "core/principal.h"
#include "http/reply.h"
#include "http/request.h"

namespace tertulia::server {

class Call;
using CallPtr = std::shared_ptr<Call>;

enum class BodyKind : std::uint8_t {
  kNone,   // must be empty
  kJson,   // application/json
  kBytes,  // anything
};

inline constexpr std::uint64_t kBodyLimit = 4U << 20U;

struct Route {
  Method method = Method::kGet;
  std::string_view pattern;
  Access access = Access::kRead;
  BodyKind body = BodyKind::kNone;
  std::uint64_t body_limit = kBodyLimit;

  // Exactly one of these answers.
  // On the I/O thread: must not wait for anything.
  Result<Reply> (*here)(Call&) = nullptr;
  // On a thread that may block.
  Result<Reply> (*pool)(Call&) = nullptr;
  // Begun on a thread that may block; answers when it can, from any thread. It must not keep a thread waiting
  // for a turn.
  void (*later)(const CallPtr&, Done<Reply>) = nullptr;
  // Says of a request for `later` that beginning it takes no time and waits for nothing: it is begun on the
  // I/O thread, which spares two switches between threads. Null: never.
  bool (*is_quick)(const Request&) = nullptr;
};

constexpr Route here(Method method, std::string_view pattern, Access access, Result<Reply> (*answer)(Call&)) {
  return {.method = method, .pattern = pattern, .access = access, .here = answer};
}
constexpr Route on_pool(Method method, std::string_view pattern, Access access,
                        Result<Reply> (*answer)(Call&), BodyKind body = BodyKind::kNone,
                        std::uint64_t body_limit = kBodyLimit) {
  return {.method = method,
          .pattern = pattern,
          .access = access,
          .body = body,
          .body_limit = body_limit,
          .pool = answer};
}
constexpr Route later(Method method, std::string_view pattern, Access access,
                      void (*answer)(const CallPtr&, Done<Reply>), BodyKind body = BodyKind::kNone,
                      std::uint64_t body_limit = kBodyLimit) {
  return {.method = method,
          .pattern = pattern,
          .access = access,
          .body = body,
          .body_limit = body_limit,
          .later = answer};
}

constexpr Route quick_if(bool (*is_quick)(const Request&), Route route) {
  route.is_quick = is_quick;
  return route;
}

// Routes that tell errors in the same form.
struct RouteGroup {
  // "/api/v1/": what is below it and no route is still refused in this form.
  std::string_view prefix;
  std::span<const Route> routes;
  std::string (*error_body)(const Problem& problem, std::string_view request_id) = &native_body;
};

}  // namespace tertulia::server
