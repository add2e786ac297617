// A Call: one request on its way through its handler, with everything a handler needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/store/session_key.h"

#include "core/principal.h"
#include "core/request_id.h"
#include "core/router.h"
#include "core/services.h"
#include "host/iso_time.h"
#include "http/request.h"
#include "http/service.h"

namespace tertulia::server {

class Call {
 public:
  Call(Services& services_in, Request& request_in, const Peer& peer_in)
      : services(services_in), request(request_in), peer(peer_in) {}

  Services& services;
  // Until the answer is given: what lives longer copies what it needs.
  Request& request;
  const Peer& peer;
  Principal principal;
  PathParameters parameters;
  RequestId request_id;

  // A parameter of the path. It must be one of the route's.
  const std::string& parameter(std::string_view name) const;

  // The body. Errors of parse_json.
  Result<Json> json() const;
  // As json(), but an empty body is an empty object.
  Result<Json> json_or_empty() const;
  Result<Query> query() const { return Query::parse(request.query); }
  // For routes without parameters: kUnknownField if there are some.
  Result<void> no_query() const;

  // The session that the path names, as the principal's own. kBadId for ids of the program.
  Result<SessionKey> session() const;
  Result<SessionKey> session_named(std::string_view id) const;
  Result<BranchId> branch() const;
  Result<TurnId> turn() const;

  // The revision of If-Match. kOutOfRange if it is none of ours.
  Result<std::optional<Revision>> if_match() const;
  bool accepts_events() const;
};

// "\"17\"".
std::string etag_of(Revision revision);

}  // namespace tertulia::server
