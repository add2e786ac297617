#include "core/sse.h"

namespace tertulia::server {

void append_frame(std::string& out, std::string_view id, std::string_view event, std::string_view data) {
  if (!id.empty()) out.append("id: ").append(id).append("\n");
  if (!event.empty()) out.append("event: ").append(event).append("\n");
  out.append("data: ").append(data).append("\n\n");
}

}  // namespace tertulia::server
