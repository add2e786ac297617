// What a server wants to know, typed field by field: the fields of a flat JSON schema, as MCP allows them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/tools/json_schema.h"

namespace tertulia::cli {

class QuestionForm {
 public:
  enum class Step { kMore, kDone, kRefused };

  // Without fields the answer is one text, "answer". Without a schema there is nothing to be typed: somebody
  // is sent to an address, and says that it is done.
  explicit QuestionForm(const Json& schema);

  // The field that is asked for, with what it may be and what was typed so far.
  std::string prompt() const;
  // Enter ends a field; what does not fit it is asked for again. Escape and Ctrl-D refuse.
  Step key(char key);
  // JSON text of an object, when all is done.
  std::string output() const;

 private:
  // What may be chosen: what is sent, and what a person is shown for it.
  struct Choice {
    std::string value;
    std::string title;
  };
  struct Field {
    std::string name;
    std::string type;
    // What the server says about it.
    std::string about{};
    std::vector<Choice> choices{};
    // What it is if nothing is typed, in words; empty: nothing.
    std::string usual{};
    bool required = false;
    // Of what is typed.
    JsonSchema schema{};
  };
  static Field field_of(const std::string& name, const Json& form);
  // None if the text is none of the field's.
  static std::optional<Json> value_of(const Field& field, const std::string& text);
  static std::string usual_words(const Field& field, const Json& usual);
  static std::string hint_of(const Field& field);
  bool take(const Field& field, const std::string& text);

  std::vector<Field> fields_;
  std::size_t at_ = 0;
  std::string typed_;
  bool wrong_ = false;
  JsonObject answer_;
};

}  // namespace tertulia::cli
