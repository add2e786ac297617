// What a server wants to know, typed field by field: the fields of a flat JSON schema, as MCP allows them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tertulia/base/json.h"

namespace tertulia::cli {

class QuestionForm {
 public:
  enum class Step { kMore, kDone, kRefused };

  // Without fields the answer is one text, "answer".
  explicit QuestionForm(const Json& schema);

  // The field that is asked for, with what it may be and what was typed so far.
  std::string prompt() const;
  // Enter ends a field; what does not fit it is asked for again. Escape and Ctrl-D refuse.
  Step key(char key);
  // JSON text of an object, when all is done.
  std::string output() const;

 private:
  struct Field {
    std::string name;
    std::string type;
    std::vector<std::string> choices;
    bool required = false;
  };
  // False if the text is none of the field's.
  bool take(const Field& field, const std::string& text);
  static std::string hint_of(const Field& field);

  std::vector<Field> fields_;
  std::size_t at_ = 0;
  std::string typed_;
  bool wrong_ = false;
  JsonObject answer_;
};

}  // namespace tertulia::cli
