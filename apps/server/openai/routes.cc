#include "openai/routes.h"

#include "openai/error_form.h"

namespace tertulia::server {

void add_openai_routes(Router& router) {
  for (const std::span<const Route> routes :
       {chat_completion_routes(), model_routes(), embedding_routes(), response_routes(),
        response_tool_routes(), conversation_routes()}) {
    router.add({.prefix = "/v1/", .routes = routes, .error_body = &openai_error_body});
  }
  for (const std::span<const Route> routes : {ui_chat_routes(), ag_ui_routes()}) {
    router.add({.prefix = "/api/v1/", .routes = routes});
  }
}

}  // namespace tertulia::server
