// /v1/models: every agent is a model.
#include <array>
#include <utility>

#include "tertulia/base/json.h"

#include "core/call.h"
#include "openai/client_tools.h"
#include "openai/routes.h"

namespace tertulia::server {
namespace {

void write_model(JsonWriter& out, const std::string& name) {
  // When an agent was made is not known; clients want a number.
  out.begin_object().key("id").string(name).key("object").string("model");
  out.key("created").number(0).key("owned_by").string("tertulia").end_object();
}

Result<Reply> list_models(Call& call) {
  TERTULIA_TRY(call.no_query());
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("object").string("list").key("data").begin_array();
  for (const std::string& name : call.services.agents.names()) write_model(out, name);
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_model(Call& call) {
  TERTULIA_TRY(call.no_query());
  const std::string& name = call.parameter("model");
  TERTULIA_TRY(find_model(call.services, name));
  std::string body;
  JsonWriter out(body);
  write_model(out, name);
  return Reply::json(std::move(body));
}

constexpr std::array kModelsRoutes{
    on_pool(Method::kGet, "/v1/models", Access::kRead, &list_models),
    on_pool(Method::kGet, "/v1/models/{model}", Access::kRead, &get_model),
};

}  // namespace

std::span<const Route> model_routes() { return kModelsRoutes; }

}  // namespace tertulia::server
