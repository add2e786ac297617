#include "tertulia/workflow/node.h"

#include <utility>

#include "caught.h"

namespace tertulia {

std::string describe_type(const std::string& type) {
  if (type.empty()) return "anything";
  const Result<Json> schema = parse_json(type);
  const JsonObject* object = schema ? schema->as_object() : nullptr;
  const Json* name = object == nullptr ? nullptr : object->find("type");
  if (name == nullptr || name->as_string() == nullptr) return "a value of another type";
  std::string text = *name->as_string();
  const Json* properties = object->find("properties");
  if (properties == nullptr || properties->as_object() == nullptr) return text;
  std::string fields;
  for (const auto& [field, ignored] : *properties->as_object())
    fields += (fields.empty() ? "" : ", ") + field;
  return text + " {" + fields + "}";
}

std::string_view name_of(ThreadKind kind) {
  switch (kind) {
    case ThreadKind::kShared:
      return "shared";
    case ThreadKind::kOwn:
      return "own";
    case ThreadKind::kFork:
      return "fork";
    case ThreadKind::kService:
      return "service";
  }
  return "invalid";
}

Node function_node(std::string id, std::function<Result<void>(NodeContext&)> body) {
  Node node;
  node.id = std::move(id);
  node.blocks = true;
  node.body = [body = std::move(body)](NodeContext& context, const Done<void>& done) {
    done(caught("node '" + context.node() + "'", [&] { return body(context); }));
  };
  return node;
}

}  // namespace tertulia
