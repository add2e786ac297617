// The one file that knows toml++.
//
// toml++ 3.3 states two things about its input that are not so, and tells the compiler, which is undefined
// behaviour on bad files: that a table header begins with a key ("[(" does not), and that every letter from
// U+00A1 to U+0499 is white space or ASCII. Behind both stands code that reports the error properly, so that
// here the first is not stated (TOML_ASSERT, which NDEBUG would override) and the second answers "no".
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// clang-format off: the order matters
#include <toml++/impl/forward_declarations.h>
#pragma push_macro("TOML_UNREACHABLE")
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#pragma pop_macro("TOML_UNREACHABLE")
#include <toml++/toml.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/toml.h"

#include "config_value.h"

namespace tertulia {
namespace {

// toml++ bounds how deep values nest, but not how many parts a dotted key has, and each part nests a table.
constexpr std::ptrdiff_t kMostDots = 4096;
constexpr std::size_t kShownBytes = 120;

std::string_view kind_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list of other things";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    case toml::node_type::none:
    case toml::node_type::string:
    case toml::node_type::integer:
    case toml::node_type::boolean:
      break;
  }
  return "something else";
}

void assign(RawSetting& raw, const toml::node& node) {
  raw.value = UnfitValue{kind_name(node.type())};
  if (const auto* flag = node.as_boolean()) raw.value = flag->get();
  if (const auto* number = node.as_integer()) raw.value = number->get();
  if (const auto* text = node.as_string()) raw.value = text->get();
  const toml::array* array = node.as_array();
  if (array == nullptr) return;
  std::vector<std::string> list;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return;
    list.push_back(text->get());
  }
  raw.value = std::move(list);
}

class Reader {
 public:
  Reader(const std::string& name, const Settings& settings, const std::vector<std::string>& tables,
         TomlContent& content, std::vector<std::string>& problems)
      : name_(name),
        settings_(settings),
        tables_(tables),
        known_(settings.keys()),
        content_(content),
        problems_(problems) {
    known_.insert(known_.end(), tables.begin(), tables.end());
  }

  void table(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key =
          prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
      member(key, place(name.source().begin), node);
    }
  }

  std::string place(const toml::source_position& position) const {
    return name_ + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
  }

 private:
  void member(const std::string& key, std::string origin, const toml::node& node) {
    if (std::ranges::find(tables_, key) != tables_.end()) {
      if (!node.is_table()) {
        problems_.push_back(origin + ": " + key + ": must be a table, written as [" + key + ".NAME]");
        return;
      }
      content_.tables.emplace_back(key, node_of(node, std::move(origin)));
      return;
    }
    if (settings_.find(key) != nullptr) {
      RawSetting raw{
          .key = key, .value = false, .source = RawSetting::Source::kFile, .origin = std::move(origin)};
      assign(raw, node);
      content_.values.push_back(std::move(raw));
      return;
    }
    const toml::table* inner = node.as_table();
    // Goes into an unknown table only to name the keys in it; no key has more than a few parts.
    const bool may_enter =
        settings_.has_table(key) || (inner != nullptr && !inner->empty() && key.size() < 128);
    if (inner != nullptr && may_enter) return table(*inner, key);
    problems_.push_back(origin + ": unknown key '" + printable(key, kShownBytes) + "'" +
                        did_you_mean(key, known_));
  }

  // toml++ bounds the nesting of what it has parsed.
  ConfigNode node_of(const toml::node& node, std::string origin) const {
    ConfigNode made{.origin = std::move(origin)};
    if (const auto* flag = node.as_boolean()) made.value = flag->get();
    if (const auto* number = node.as_integer()) made.value = number->get();
    if (const auto* fraction = node.as_floating_point()) made.value = fraction->get();
    if (const auto* text = node.as_string()) made.value = text->get();
    if (const toml::array* array = node.as_array()) {
      ConfigNode::List list;
      for (const toml::node& each : *array) list.push_back(node_of(each, place(each.source().begin)));
      made.value = std::move(list);
    }
    if (const toml::table* inner = node.as_table()) {
      ConfigNode::Table members;
      for (const auto& [name, each] : *inner) {
        members.emplace_back(name.str(), node_of(each, place(name.source().begin)));
      }
      made.value = std::move(members);
    }
    return made;
  }

  const std::string& name_;
  const Settings& settings_;
  const std::vector<std::string>& tables_;
  std::vector<std::string> known_;
  TomlContent& content_;
  std::vector<std::string>& problems_;
};

Result<Json> json_of(const toml::node& node, const std::string& name) {
  if (const auto* flag = node.as_boolean()) return Json(flag->get());
  if (const auto* number = node.as_integer()) return Json(std::int64_t{number->get()});
  if (const auto* text = node.as_string()) return Json(text->get());
  const auto* fraction = node.as_floating_point();
  if (fraction != nullptr && std::isfinite(fraction->get())) return Json(fraction->get());
  if (const toml::array* array = node.as_array()) {
    JsonArray values;
    for (const toml::node& element : *array) {
      TERTULIA_TRY_AS(Json value, json_of(element, name));
      values.push_back(std::move(value));
    }
    return Json(std::move(values));
  }
  if (const toml::table* table = node.as_table()) {
    JsonObject members;
    for (const auto& [key, member] : *table) {
      TERTULIA_TRY_AS(Json value, json_of(member, name));
      members.append(std::string(key.str()), std::move(value));
    }
    return Json(std::move(members));
  }
  const toml::source_position place = node.source().begin;
  return Error(ErrorCode::kBadConfig, name + ":" + std::to_string(place.line) + ":" +
                                          std::to_string(place.column) + ": " +
                                          std::string(kind_name(node.type())) + " cannot stand here");
}

std::string too_deep(const std::string& name) {
  return name + ": more than " + std::to_string(kMostDots) + " dots: no configuration nests so deep";
}

}  // namespace

TomlContent read_toml(std::string_view text, const std::string& name, const Settings& settings,
                      const std::vector<std::string>& tables, std::vector<std::string>& problems) {
  TomlContent content;
  if (std::ranges::count(text, '.') > kMostDots) {
    problems.push_back(too_deep(name));
    return content;
  }
  Reader reader(name, settings, tables, content, problems);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    problems.push_back(reader.place(error.source().begin) + ": " +
                       printable(error.description(), kShownBytes));
    return content;
  }
  reader.table(parsed.table(), "");
  return content;
}

Result<Json> parse_toml(std::string_view text, const std::string& name) {
  if (std::ranges::count(text, '.') > kMostDots) return Error(ErrorCode::kBadConfig, too_deep(name));
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return json_of(parsed.table(), name);
  const toml::source_position place = parsed.error().source().begin;
  return Error(ErrorCode::kBadConfig, name + ":" + std::to_string(place.line) + ":" +
                                          std::to_string(place.column) + ": " +
                                          printable(parsed.error().description(), kShownBytes));
}

}  // namespace tertulia
