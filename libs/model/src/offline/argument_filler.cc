#include "offline/argument_filler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "offline/arithmetic.h"
#include "offline/words.h"

namespace tertulia::offline {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view without_marks(std::string_view word) {
  constexpr std::string_view kMarks = ".,;:!?\"'`()[]<>";
  while (!word.empty() && kMarks.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  while (!word.empty() && word.front() != '.' && kMarks.find(word.front()) != std::string_view::npos)
    word.remove_prefix(1);
  return word;
}

// Calls `found` for each word between spaces, until it returns true.
template <typename Found>
std::optional<std::string> first_word(std::string_view text, Found found) {
  while (!(text = trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    const std::string_view word = without_marks(text.substr(0, end));
    if (found(word)) return std::string(word);
    text.remove_prefix(end);
  }
  return std::nullopt;
}

// What stands behind "in", "for", "of" or "about", up to the end of the clause.
std::optional<std::string> object_of(std::string_view question) {
  const std::string low = lower(question);
  for (const std::string_view word : {" in ", " for ", " about ", " of ", " at ", " to ", " on "}) {
    const std::size_t at = low.rfind(word);
    if (at == std::string::npos) continue;
    std::string_view rest = trim(question.substr(at + word.size()));
    while (!rest.empty() && (rest.back() == '?' || rest.back() == '.' || rest.back() == '!'))
      rest.remove_suffix(1);
    if (!rest.empty()) return std::string(rest);
  }
  return std::nullopt;
}

// "hello" of "Write hello to notes.txt": what stands between what to do and where to.
std::optional<std::string> content_of(std::string_view question) {
  const std::string low = lower(question);
  std::size_t from = std::string::npos;
  for (const std::string_view word : {"write ", "save ", "put ", "store ", "post ", "send "}) {
    const std::size_t at = low.find(word);
    if (at != std::string::npos && (at == 0 || low[at - 1] == ' ')) from = std::min(from, at + word.size());
  }
  if (from == std::string::npos) return std::nullopt;
  for (const std::string_view word : {" into ", " to ", " in ", " as "}) {
    const std::size_t to = low.rfind(word);
    if (to != std::string::npos && to > from) return std::string(trim(question.substr(from, to - from)));
  }
  return std::nullopt;
}

// What stands between backticks, or else behind "run": `ls -l`.
std::optional<std::string> command_of(std::string_view question) {
  const std::size_t open = question.find('`');
  const std::size_t close = open == std::string_view::npos ? open : question.find('`', open + 1);
  if (close != std::string_view::npos) return std::string(question.substr(open + 1, close - open - 1));
  const std::string low = lower(question);
  for (const std::string_view word : {"run ", "execute "}) {
    const std::size_t at = low.find(word);
    if (at != std::string::npos) return std::string(trim(question.substr(at + word.size())));
  }
  return std::nullopt;
}

}  // namespace

bool is_numeric(const Parameter& parameter) {
  return parameter.type == "number" || parameter.type == "integer";
}

Json number_json(double number) {
  if (number == std::trunc(number) && std::abs(number) < 9e15) return Json(static_cast<std::int64_t>(number));
  return Json(std::isfinite(number) ? number : 0.0);
}

std::optional<std::string> address_in(std::string_view text) {
  return first_word(text, [](std::string_view word) {
    return word.starts_with("http://") || word.starts_with("https://");
  });
}

std::optional<std::string> path_in(std::string_view text) {
  return first_word(text, [](std::string_view word) {
    if (word.find("://") != std::string_view::npos) return false;
    if (word.size() > 1 && word.find('/') != std::string_view::npos && word.find_first_of("0123456789") != 0)
      return true;
    const std::size_t point = word.rfind('.');
    const std::string_view ending = point == std::string_view::npos ? "" : word.substr(point + 1);
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    // Not "e.g." and "i.e.", and no version or sum.
    return point != 0 && !ending.empty() && ending.size() <= 5 && is_letter(ending.front()) &&
           (point > 1 || ending.size() > 1);
  });
}

std::optional<std::string> named_by_place(const Parameter& parameter, std::string_view text) {
  const std::string name = lower(parameter.name);
  if (is_one_of(name, {"path", "file", "filename", "file_name", "file_path", "filepath"}))
    return path_in(text);
  if (is_one_of(name, {"url", "uri", "address", "link"})) return address_in(text);
  return std::nullopt;
}

ArgumentFiller::ArgumentFiller(std::string_view question) : question_(question), words_(words_of(question)) {
  for (const Token& token : arithmetic_tokens(question)) {
    if (token.kind == Token::Kind::kNumber && token.digits) numbers_.push_back(token.number);
  }
}

std::optional<Json> ArgumentFiller::value_for(const Parameter& parameter) {
  if (!parameter.choices.empty()) return choice(parameter);
  if (is_numeric(parameter)) return number();
  if (parameter.type == "boolean") return Json(true);
  if (parameter.type == "string" || parameter.type.empty()) return text(parameter);
  return std::nullopt;
}

std::optional<Json> ArgumentFiller::choice(const Parameter& parameter) const {
  for (const std::string& one : parameter.choices) {
    if (std::ranges::find(words_, lower(one)) != words_.end()) return Json(one);
  }
  return std::nullopt;
}

std::optional<Json> ArgumentFiller::number() {
  if (next_number_ >= numbers_.size()) return std::nullopt;
  return number_json(numbers_[next_number_++]);
}

std::optional<Json> ArgumentFiller::text(const Parameter& parameter) {
  const std::string name = lower(parameter.name);
  if (auto place = named_by_place(parameter, question_)) return Json(*std::move(place));
  if (used_text_) return std::nullopt;
  used_text_ = true;
  if (auto inside = quoted(question_)) return Json(*std::move(inside));
  if (is_one_of(name, {"content", "contents", "body", "data"})) {
    if (auto content = content_of(question_)) return Json(*std::move(content));
  }
  if (is_one_of(name, {"command", "program", "cmd"})) {
    if (auto command = command_of(question_)) return Json(*std::move(command));
  }
  if (auto object = object_of(question_)) return Json(*std::move(object));
  if (is_one_of(name, {"query", "question", "text", "input", "message", "prompt", "q", "search", "topic",
                       "expression"}))
    return Json(trim(question_));
  if (next_number_ < numbers_.size()) return Json(number_text(numbers_[next_number_++]));
  return std::nullopt;
}

}  // namespace tertulia::offline
