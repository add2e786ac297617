#include "question_form.h"

#include <algorithm>

#include "words.h"

namespace tertulia::cli {
namespace {

std::string text_in(const JsonObject& object, const char* key) {
  const Json* value = object.find(key);
  return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
}

std::vector<std::string> texts_of(const Json* list) {
  std::vector<std::string> texts;
  if (list == nullptr || list->as_array() == nullptr) return texts;
  for (const Json& one : *list->as_array()) {
    if (one.as_string() != nullptr) texts.push_back(*one.as_string());
  }
  return texts;
}

}  // namespace

QuestionForm::QuestionForm(const Json& schema) {
  const JsonObject* object = schema.as_object();
  const Json* properties = object == nullptr ? nullptr : object->find("properties");
  const std::vector<std::string> required =
      object == nullptr ? std::vector<std::string>() : texts_of(object->find("required"));
  if (properties != nullptr && properties->as_object() != nullptr) {
    for (const auto& [name, form] : *properties->as_object()) {
      Field field{.name = name, .required = std::ranges::find(required, name) != required.end()};
      if (const JsonObject* about = form.as_object()) {
        field.type = text_in(*about, "type");
        field.choices = texts_of(about->find("enum"));
      }
      fields_.push_back(std::move(field));
    }
  }
  if (fields_.empty()) fields_.push_back({.name = "answer", .type = "string", .required = true});
}

std::string QuestionForm::hint_of(const Field& field) {
  std::string hint;
  for (const std::string& choice : field.choices) hint += (hint.empty() ? "" : ", ") + one_line(choice);
  if (field.type == "boolean") hint = "yes or no";
  if (field.type == "integer" || field.type == "number") hint = "a number";
  if (!field.required) hint += hint.empty() ? "may be empty" : "; may be empty";
  return hint.empty() ? "" : " (" + hint + ")";
}

std::string QuestionForm::prompt() const {
  const Field& field = fields_[std::min(at_, fields_.size() - 1)];
  return one_line(field.name) + hint_of(field) + (wrong_ ? " – not that" : "") + ": " + one_line(typed_);
}

bool QuestionForm::take(const Field& field, const std::string& text) {
  if (text.empty()) return !field.required;
  if (!field.choices.empty() && std::ranges::find(field.choices, text) == field.choices.end()) return false;
  if (field.type == "boolean") {
    const bool yes = text == "yes" || text == "y" || text == "true";
    if (!yes && text != "no" && text != "n" && text != "false") return false;
    answer_.set(field.name, yes);
    return true;
  }
  if (field.type == "integer" || field.type == "number") {
    Result<Json> number = parse_json(text);
    const bool whole = number && number->as_int() != nullptr;
    if (!whole && (field.type == "integer" || !number || !std::holds_alternative<double>(number->variant())))
      return false;
    answer_.set(field.name, *std::move(number));
    return true;
  }
  answer_.set(field.name, text);
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
  if (key != '\r' && key != '\n') {
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
