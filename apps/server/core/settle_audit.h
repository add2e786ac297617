// What the store says of a request that the end of a process has cut.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/store/store.h"

#include "core/audit_log.h"
#include "http/request.h"

namespace tertulia::server {

// The session that a request is about, where its path does not say so: by a header, or a field of its body.
// Empty if it does not say, or says it in a body that is too long to be looked at for this.
std::string session_named_in(const Request& request, std::string_view route);

// As Landed. Reads the store.
std::string_view landed_in(Store& store, const CutRequest& cut);

}  // namespace tertulia::server
