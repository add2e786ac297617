#include "tertulia/tools/toolkit.h"

#include <algorithm>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxDescriptionBytes = 16 * 1024;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Result<void> check_name(std::string_view kind, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes &&
      std::all_of(name.begin(), name.end(), is_name_character)) {
    return {};
  }
  return Error(ErrorCode::kBadId, std::string(kind) + " " + in_quotes(utf8_prefix(name, 80)) +
                                      ": a name has 1 to 64 of the characters A-Z, a-z, 0-9, '_' and '-'");
}

Error duplicate(const std::string& name) {
  return Error(ErrorCode::kDuplicateKey,
               "there is another tool or toolkit '" + name + "'; names are given once")
      .with("tool", name);
}

}  // namespace

Result<JsonSchema> check_definition(const ToolDefinition& definition) {
  TERTULIA_TRY(check_name("tool", definition.name));
  const std::string where = "tool '" + definition.name + "'";
  if (definition.description.size() > kMaxDescriptionBytes) {
    return Error(ErrorCode::kTooLarge, where + ": the description has more than 16 KiB")
        .with("limit", std::int64_t{kMaxDescriptionBytes});
  }
  if (const auto offset = find_bad_utf8(definition.description)) {
    return Error(ErrorCode::kBadUnicode, where + ": the description is not UTF-8")
        .with("offset", static_cast<std::int64_t>(*offset));
  }
  if (definition.parameters.empty()) return JsonSchema::compile(JsonObject{{"type", "object"}});
  const Json parameters = definition.parameters.value();
  const JsonObject* object = parameters.as_object();
  const Json* type = object == nullptr ? nullptr : object->find("type");
  if (type == nullptr || *type != Json("object")) {
    return Error(ErrorCode::kBadConfig,
                 where + ": the schema of the arguments must be of \"type\": \"object\"")
        .with("param", "/type");
  }
  Result<JsonSchema> schema = JsonSchema::compile(parameters);
  if (!schema) return std::move(schema).error().in(where);
  return schema;
}

const ToolEntry* ToolSet::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ToolEntry& entry) { return entry.name() == name; });
  return found == entries_.end() ? nullptr : &*found;
}

Result<const ToolEntry*> ToolSet::get(std::string_view name) const {
  if (const ToolEntry* entry = find(name)) return entry;
  const std::vector<std::string> known = names();
  Error error(ErrorCode::kNoSuchTool,
              "there is no tool " + in_quotes(utf8_prefix(name, 80)) + did_you_mean(name, known));
  if (const auto near = nearest(name, known)) error = std::move(error).with("nearest", *near);
  return error;
}

std::vector<ToolDefinition> ToolSet::definitions() const {
  std::vector<ToolDefinition> all;
  all.reserve(entries_.size());
  for (const ToolEntry& entry : entries_) all.push_back(entry.tool->definition());
  return all;
}

std::vector<std::string> ToolSet::names() const {
  std::vector<std::string> all;
  for (const ToolEntry& entry : entries_) all.push_back(entry.name());
  return all;
}

Result<ToolSetPtr> ToolSet::only(std::span<const std::string> names) const {
  auto chosen = std::make_shared<ToolSet>();
  const auto wanted = [&](const ToolEntry& entry, const std::string& name) {
    return entry.name() == name || (!entry.toolkit.empty() && entry.toolkit == name);
  };
  for (const std::string& name : names) {
    const auto fits = [&](const ToolEntry& entry) { return wanted(entry, name); };
    if (std::none_of(entries_.begin(), entries_.end(), fits)) return std::move(get(name)).error();
  }
  for (const ToolEntry& entry : entries_) {
    const auto fits = [&](const std::string& name) { return wanted(entry, name); };
    if (std::any_of(names.begin(), names.end(), fits)) chosen->entries_.push_back(entry);
  }
  return ToolSetPtr(std::move(chosen));
}

Result<void> ToolSet::add(const ToolPtr& tool, const std::string& toolkit) {
  if (tool == nullptr) return Error(ErrorCode::kBadConfig, "there is no tool behind this pointer");
  TERTULIA_TRY_AS(JsonSchema schema, check_definition(tool->definition()));
  const std::string& name = tool->definition().name;
  if (const ToolEntry* present = find(name)) {
    if (present->tool == tool) return {};
    return duplicate(name);
  }
  for (const ToolEntry& entry : entries_) {
    if (entry.toolkit == name && entry.toolkit != toolkit) return duplicate(name);
  }
  entries_.push_back({tool, std::move(schema), toolkit});
  return {};
}

ToolRegistry::ToolRegistry() : set_(std::make_shared<const ToolSet>()) {}

Result<void> ToolRegistry::add(const ToolPtr& tool) { return add(std::span(&tool, 1), ""); }

Result<void> ToolRegistry::add(std::span<const ToolPtr> tools) { return add(tools, ""); }

Result<void> ToolRegistry::add(const Toolkit& toolkit) {
  TERTULIA_TRY(check_name("toolkit", toolkit.name()));
  return add(toolkit.tools(), toolkit.name());
}

Result<void> ToolRegistry::replace(const Toolkit& toolkit) {
  TERTULIA_TRY(check_name("toolkit", toolkit.name()));
  return add(toolkit.tools(), toolkit.name(), /*instead=*/true);
}

Result<void> ToolRegistry::add(std::span<const ToolPtr> tools, const std::string& toolkit, bool instead) {
  MutexLock lock(mutex_);
  // A toolkit may hold a tool of its own name; another's is a clash.
  const ToolEntry* namesake = toolkit.empty() ? nullptr : set_->find(toolkit);
  if (namesake != nullptr && namesake->toolkit != toolkit) return duplicate(toolkit);
  auto next = std::make_shared<ToolSet>(*set_);
  if (instead) {
    std::erase_if(next->entries_, [&](const ToolEntry& entry) { return entry.toolkit == toolkit; });
  }
  for (const ToolPtr& tool : tools) TERTULIA_TRY(next->add(tool, toolkit));
  set_ = std::move(next);
  return {};
}

bool ToolRegistry::remove(std::string_view name) {
  MutexLock lock(mutex_);
  auto next = std::make_shared<ToolSet>(*set_);
  const auto gone =
      std::erase_if(next->entries_, [&](const ToolEntry& entry) { return entry.name() == name; });
  set_ = std::move(next);
  return gone > 0;
}

ToolSetPtr ToolRegistry::snapshot() const {
  MutexLock lock(mutex_);
  return set_;
}

}  // namespace tertulia
