// http_fetch and http_post: pages of the web for a model, within an EgressPolicy.
#pragma once

#include <cstddef>
#include <string>

#include "tertulia/base/clock.h"
#include "tertulia/tools/egress_policy.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct FetchOptions {
  // What is read of one answer; the rest is left out, and the output says so. Default: 2 MiB.
  std::size_t body_bytes = std::size_t{2} << 20;
  // Of the whole call, redirects included. Default: 30 s.
  Duration timeout = std::chrono::seconds(30);
  // The longest silence of a server. Default: 15 s.
  Duration idle_timeout = std::chrono::seconds(15);
  // How many redirects are followed. Default: 5.
  int redirects = 5;
  // Redirects that lead to another host are followed too, if the policy allows it. Default: no, the model is
  // told where it leads and can ask for that address, so that whoever approves calls sees it.
  bool follow_to_other_hosts = false;
  // Default: "tertulia".
  std::string user_agent = "tertulia";
};

// "http_fetch": {"url": "https://example.com/", "method": "HEAD", "raw": true}, GET by default. Read-only.
// The text begins with the status, the final address and the kind of content. HTML is given as its text with
// its links, unless it is asked for raw; text in other encodings becomes UTF-8; what is not text is an asset.
// A redirect is judged as the first address was, and from https to http it is not followed. kUrlNotAllowed.
//
// The policy judges the address of the server itself, so proxies of the environment are not used.
ToolPtr http_fetch_tool(EgressPolicy policy = {}, FetchOptions options = {});

// "http_post": {"url": …, "body": …, "content_type": "application/json"}. Unsafe: it is never run twice.
ToolPtr http_post_tool(EgressPolicy policy = {}, FetchOptions options = {});

}  // namespace tertulia
