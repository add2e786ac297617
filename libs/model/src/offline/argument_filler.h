// Finds in a question what a tool wants to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"

namespace tertulia::offline {

struct Parameter {
  std::string name;
  // "string", "number", "integer", "boolean", "array" or "object"; empty if the schema does not say.
  std::string type;
  bool required = false;
  // The words it must be one of; none: any.
  std::vector<std::string> choices;
};

bool is_numeric(const Parameter& parameter);
Json number_json(double number);

// "http://…" in a text, and a word that can only be the name of a file: notes.txt, /etc/hosts.
std::optional<std::string> address_in(std::string_view text);
std::optional<std::string> path_in(std::string_view text);
// The file or the address that the text names, if that is what the parameter wants.
std::optional<std::string> named_by_place(const Parameter& parameter, std::string_view text);

// Fills the parameters of one call; what was given to one parameter is not given to another.
class ArgumentFiller {
 public:
  explicit ArgumentFiller(std::string_view question);

  std::optional<Json> value_for(const Parameter& parameter);

 private:
  std::optional<Json> choice(const Parameter& parameter) const;
  std::optional<Json> number();
  std::optional<Json> text(const Parameter& parameter);

  std::string_view question_;
  std::vector<std::string> words_;
  std::vector<double> numbers_;
  std::size_t next_number_ = 0;
  bool used_text_ = false;
};

}  // namespace tertulia::offline
