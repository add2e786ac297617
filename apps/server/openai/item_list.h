// Pages of items, as OpenAI's clients turn them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/call.h"
#include "http/reply.h"

namespace tertulia::server {

struct ListRequest {
  std::size_t limit = 20;
  // The id of the last item of the page before.
  std::string after;
  // The newest first.
  bool descending = true;
};

// Query limit (1 to 100), order (asc, desc), after; `include` changes nothing.
Result<ListRequest> read_list_request(const Call& call);

// {"object":"list","data":[…],"first_id":…,"last_id":…,"has_more":…}. `items` are JSON text, the oldest
// first. kNotFound if `after` is none of them.
Result<Reply> list_reply(const std::vector<std::string>& items, const ListRequest& list);

// The id that an item has.
std::string id_of_item(const std::string& item);

}  // namespace tertulia::server
