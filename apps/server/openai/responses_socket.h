// The WebSocket at /v1/responses: a client asks with `response.create` messages and gets the events of each
// response as messages.
//
// One response at a time; those that are asked for meanwhile wait, 16 of them, and behind that nothing is
// read. A response that is not stored lives in the socket alone: the next one may go on from it, until one
// that tried to has failed. A client that goes away stops no response that is stored.
#pragma once

#include "core/call.h"
#include "http/reply.h"

namespace tertulia::server {

Result<Reply> open_responses_socket(Call& call);

}  // namespace tertulia::server
