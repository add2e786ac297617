#include "question_form.h"

#include <algorithm>

#include "words.h"

namespace tertulia::cli {
namespace {

std::string text_in(const JsonObject& object, const char* key) {
  const Json* value = object.find(key);
  return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
}

const JsonArray& list_in(const JsonObject& object, const char* key) {
  static const JsonArray kNone;
  const Json* value = object.find(key);
  return value != nullptr && value->as_array() != nullptr ? *value->as_array() : kNone;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

QuestionForm::Field QuestionForm::field_of(const std::string& name, const Json& form) {
  Field field{.name = name, .type = "string"};
  if (Result<JsonSchema> schema = JsonSchema::compile(form)) field.schema = *std::move(schema);
  const JsonObject* about = form.as_object();
  if (about == nullptr) return field;
  field.type = text_in(*about, "type");
  field.about = text_in(*about, "description");
  // Of several, what each of them may be.
  const Json* items = about->find("items");
  const JsonObject& chosen = items != nullptr && items->as_object() != nullptr ? *items->as_object() : *about;
  const JsonArray& titles = list_in(chosen, "enumNames");
  for (const Json& one : list_in(chosen, "enum")) {
    if (one.as_string() == nullptr) continue;
    const std::size_t at = field.choices.size();
    const std::string* title = at < titles.size() ? titles[at].as_string() : nullptr;
    field.choices.push_back({*one.as_string(), title != nullptr ? *title : *one.as_string()});
  }
  for (const char* key : {"oneOf", "anyOf"}) {
    for (const Json& one : list_in(chosen, key)) {
      const JsonObject* choice = one.as_object();
      if (choice == nullptr || text_in(*choice, "const").empty()) continue;
      const std::string title = text_in(*choice, "title");
      field.choices.push_back({text_in(*choice, "const"), title.empty() ? text_in(*choice, "const") : title});
    }
  }
  if (const Json* usual = about->find("default")) field.usual = usual_words(field, *usual);
  return field;
}

// As one would type it.
std::string QuestionForm::usual_words(const Field& field, const Json& usual) {
  if (const JsonArray* several = usual.as_array()) {
    std::string words;
    for (const Json& one : *several) words += (words.empty() ? "" : ", ") + usual_words(field, one);
    return words;
  }
  const std::string* text = usual.as_string();
  if (text == nullptr) return field.type == "boolean" && usual == Json(true) ? "yes" : to_text(usual);
  for (const Choice& choice : field.choices) {
    if (choice.value == *text) return choice.title;
  }
  return *text;
}

QuestionForm::QuestionForm(const Json& schema) {
  const JsonObject* object = schema.as_object();
  const Json* properties = object == nullptr ? nullptr : object->find("properties");
  if (properties != nullptr && properties->as_object() != nullptr) {
    const JsonArray& required = list_in(*object, "required");
    for (const auto& [name, form] : *properties->as_object()) {
      fields_.push_back(field_of(name, form));
      fields_.back().required = std::ranges::find(required, Json(name)) != required.end();
    }
  }
  // Where there is a schema without fields, any text will do.
  if (fields_.empty() && !schema.is_null())
    fields_.push_back({.name = "answer", .type = "string", .required = true});
}

std::string QuestionForm::hint_of(const Field& field) {
  std::string hint;
  const auto add = [&hint](const std::string& words) { hint += (hint.empty() ? "" : "; ") + words; };
  if (!field.about.empty()) add(one_line(field.about));
  std::string choices;
  for (const Choice& choice : field.choices)
    choices += (choices.empty() ? "" : ", ") + one_line(choice.title);
  if (field.type == "array") choices = choices.empty() ? "several, with commas" : "some of " + choices;
  if (!choices.empty()) add(choices);
  if (field.type == "boolean") add("yes or no");
  if (field.type == "integer" || field.type == "number") add("a number");
  if (!field.usual.empty()) {
    add("Enter for " + one_line(field.usual));
  } else if (!field.required) {
    add("may be empty");
  }
  return hint.empty() ? "" : " (" + hint + ")";
}

std::string QuestionForm::prompt() const {
  if (fields_.empty()) return "Enter when it is done";
  const Field& field = fields_[std::min(at_, fields_.size() - 1)];
  return one_line(field.name) + hint_of(field) + (wrong_ ? " – not that" : "") + ": " + one_line(typed_);
}

std::optional<Json> QuestionForm::value_of(const Field& field, const std::string& text) {
  const auto chosen = [&field](const std::string& word) -> Json {
    for (const Choice& choice : field.choices) {
      if (choice.value == word || choice.title == word) return choice.value;
    }
    return word;
  };
  if (field.type == "boolean") {
    const bool yes = text == "yes" || text == "y" || text == "true";
    if (!yes && text != "no" && text != "n" && text != "false") return std::nullopt;
    return Json(yes);
  }
  if (field.type == "integer" || field.type == "number") {
    Result<Json> number = parse_json(text);
    if (!number) return std::nullopt;
    return *std::move(number);
  }
  if (field.type != "array") return chosen(text);
  JsonArray several;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (const std::string word = trimmed(text.substr(begin, end - begin)); !word.empty())
      several.push_back(chosen(word));
    begin = end + 1;
  }
  return Json(std::move(several));
}

bool QuestionForm::take(const Field& field, const std::string& text) {
  // What has a usual value gets it where the answer is checked.
  if (text.empty()) return !field.required || !field.usual.empty();
  std::optional<Json> value = value_of(field, text);
  if (!value || !field.schema.check(*value).empty()) return false;
  answer_.set(field.name, *std::move(value));
  return true;
}

QuestionForm::Step QuestionForm::key(char key) {
  if (key == '\x1b' || key == '\4') return Step::kRefused;
  if (key == '\x7f' || key == '\b') {
    // A character may be several bytes.
    while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xC0U) == 0x80U) typed_.pop_back();
    if (!typed_.empty()) typed_.pop_back();
    return Step::kMore;
  }
  const bool ends = key == '\r' || key == '\n';
  if (fields_.empty()) return ends ? Step::kDone : Step::kMore;
  if (!ends) {
    typed_ += key;
    return Step::kMore;
  }
  wrong_ = !take(fields_[at_], typed_);
  typed_.clear();
  if (!wrong_) ++at_;
  return at_ == fields_.size() ? Step::kDone : Step::kMore;
}

std::string QuestionForm::output() const { return to_text(Json(answer_)); }

}  // namespace tertulia::cli
