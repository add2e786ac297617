#include "tertulia/agent/middleware_state.h"

#include <algorithm>

namespace tertulia {
namespace {

const JsonObject* member_object(const JsonObject& schema, std::string_view name) {
  const Json* member = schema.find(name);
  return member == nullptr ? nullptr : member->as_object();
}

// "string" of "string" and of ["string", "null"].
std::string type_of(const JsonObject& schema) {
  const Json* type = schema.find("type");
  if (type == nullptr) return {};
  if (const JsonArray* several = type->as_array(); several != nullptr && !several->empty()) {
    type = &several->front();
  }
  return type->as_string() == nullptr ? std::string() : *type->as_string();
}

// Brings what was stored into the shape that a schema made by JsonType describes today.
class Fitter {
 public:
  explicit Fitter(std::vector<std::string>& left_out) : left_out_(left_out) {}

  Json fit(const Json& schema, const Json& value, const std::string& path) {
    const JsonObject* shape = schema.as_object();
    if (shape == nullptr || value.is_null()) return value;
    if (const Json* either = shape->find("anyOf"); either != nullptr && either->as_array() != nullptr) {
      return fit(either->as_array()->front(), value, path);
    }
    if (const JsonObject* object = value.as_object()) {
      if (const JsonObject* fields = member_object(*shape, "properties")) {
        return fit_object(*shape, *fields, *object, path);
      }
      return fit_members(*shape, *object, path);
    }
    const Json* items = shape->find("items");
    if (const JsonArray* array = value.as_array(); array != nullptr && items != nullptr) {
      JsonArray fitted;
      for (const Json& item : *array) {
        fitted.push_back(fit(*items, item, path + "/" + std::to_string(fitted.size())));
      }
      return fitted;
    }
    return value;
  }

 private:
  Json fit_object(const JsonObject& shape, const JsonObject& fields, const JsonObject& object,
                  const std::string& path) {
    JsonObject fitted;
    for (const auto& [name, schema] : fields) {
      if (const Json* stored = object.find(name)) {
        fitted.append(name, fit(schema, *stored, path + "/" + name));
      } else if (is_required(shape, name)) {
        fitted.append(name, initial(schema));
      }
    }
    for (const auto& [name, stored] : object) {
      if (fields.find(name) == nullptr) left_out_.push_back(path + "/" + name);
    }
    return fitted;
  }

  // A map: any names, one shape.
  Json fit_members(const JsonObject& shape, const JsonObject& object, const std::string& path) {
    const Json* each = shape.find("additionalProperties");
    JsonObject fitted;
    for (const auto& [name, stored] : object) {
      fitted.append(name, each == nullptr ? stored : fit(*each, stored, path + "/" + name));
    }
    return fitted;
  }

  static bool is_required(const JsonObject& shape, std::string_view name) {
    const Json* required = shape.find("required");
    if (required == nullptr || required->as_array() == nullptr) return false;
    return std::ranges::any_of(*required->as_array(), [&](const Json& one) {
      return one.as_string() != nullptr && *one.as_string() == name;
    });
  }

  // What a value-initialised member of this schema is written as.
  Json initial(const Json& schema) {
    const JsonObject* shape = schema.as_object();
    if (shape == nullptr) return {};
    const std::string type = type_of(*shape);
    if (const Json* words = shape->find("enum"); words != nullptr && words->as_array() != nullptr) {
      return words->as_array()->front();
    }
    if (type == "string") return "";
    if (type == "integer" || type == "number") return 0;
    if (type == "boolean") return false;
    if (type == "array") return JsonArray();
    if (type == "object") return fit(schema, JsonObject(), {});
    return {};
  }

  std::vector<std::string>& left_out_;
};

}  // namespace

Result<FittedState> fit_state(const std::string& name, const JsonText& stored, std::uint32_t version,
                              const Json& schema) {
  const Json form = stored.value();
  JsonReader in(form, "state '" + name + "'");
  const std::int64_t written = in.required_int("v", 1, INT32_MAX);
  const Json* value = in.required("state");
  if (auto read = in.finish(); !read) return Error(ErrorCode::kDamaged, read.error().message());
  if (written > version) {
    return Error(ErrorCode::kNeedsVersion, "state '" + name + "' was written by version " +
                                               std::to_string(written) + ", and this program knows " +
                                               std::to_string(version) + "; use the newer program")
        .with("version", written);
  }
  FittedState fitted;
  fitted.value = Fitter(fitted.left_out).fit(schema, *value, {});
  return fitted;
}

JsonText stored_state(std::uint32_t version, const Json& value) {
  return JsonText::of(JsonObject{{"v", std::int64_t{version}}, {"state", value}});
}

Error misfit(const std::string& name, const JsonProblem& problem) {
  return Error(ErrorCode::kDamaged, "state '" + name + "' cannot be read: " + problem.text());
}

}  // namespace tertulia
