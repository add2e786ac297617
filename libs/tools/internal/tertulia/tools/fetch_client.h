// The tools of fetch_tool.h on a client of the caller's choice.
#pragma once

#include <memory>

#include "tertulia/base/http_client.h"
#include "tertulia/tools/fetch_tool.h"

namespace tertulia {

ToolPtr http_fetch_tool(EgressPolicy policy, FetchOptions options, std::shared_ptr<HttpClient> client);
ToolPtr http_post_tool(EgressPolicy policy, FetchOptions options, std::shared_ptr<HttpClient> client);

}  // namespace tertulia
