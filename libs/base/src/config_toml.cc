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
  Reader(const std::string& name, const Settings& settings, std::vector<RawSetting>& values,
         std::vector<std::string>& problems)
      : name_(name), settings_(settings), known_(settings.keys()), values_(values), problems_(problems) {}

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
    if (settings_.find(key) != nullptr) {
      RawSetting raw{
          .key = key, .value = false, .source = RawSetting::Source::kFile, .origin = std::move(origin)};
      assign(raw, node);
      values_.push_back(std::move(raw));
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

  const std::string& name_;
  const Settings& settings_;
  std::vector<std::string> known_;
  std::vector<RawSetting>& values_;
  std::vector<std::string>& problems_;
};

}  // namespace

void read_toml(std::string_view text, const std::string& name, const Settings& settings,
               std::vector<RawSetting>& values, std::vector<std::string>& problems) {
  if (std::ranges::count(text, '.') > kMostDots) {
    problems.push_back(name + ": more than " + std::to_string(kMostDots) +
                       " dots: no configuration nests so deep");
    return;
  }
  Reader reader(name, settings, values, problems);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    problems.push_back(reader.place(error.source().begin) + ": " +
                       printable(error.description(), kShownBytes));
    return;
  }
  reader.table(parsed.table(), "");
}

}  // namespace tertulia

// Files that are more than settings.
namespace tertulia {
namespace {

std::string place_in(const std::string& name, const toml::source_position& position) {
  return name + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

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
  return Error(ErrorCode::kBadConfig,
               place_in(name, node.source().begin) +
                   ": a date, a time or a number that is not finite cannot stand here");
}

}  // namespace

Result<Json> parse_toml(std::string_view text, const std::string& name) {
  if (std::ranges::count(text, '.') > kMostDots) {
    return Error(ErrorCode::kBadConfig,
                 name + ": more than " + std::to_string(kMostDots) + " dots: no configuration nests so deep");
  }
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return json_of(parsed.table(), name);
  return Error(ErrorCode::kBadConfig, place_in(name, parsed.error().source().begin) + ": " +
                                          printable(parsed.error().description(), kShownBytes));
}

}  // namespace tertulia
