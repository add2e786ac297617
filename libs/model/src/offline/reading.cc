#include "offline/reading.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/utf8.h"
#include "tertulia/model/asset.h"

#include "offline/words.h"

namespace tertulia::offline {
namespace {

std::string source_of(const Message& message) {
  if (!message.source().empty()) return std::string(message.source());
  return std::string(message.author());
}

std::string described(const Part& part, std::size_t bytes) {
  std::string text = part.kind == PartKind::kImage ? "an image" : "a file";
  if (part.kind == PartKind::kFile && !part.call_id.empty() && !part.text.empty()) {
    text = "the file '" + std::string(part.text) + "'";
  }
  text += " (" + std::string(part.name);
  if (bytes > 0) text += ", " + std::to_string(bytes) + " bytes";
  return text + ")";
}

// Keeps what is asked apart from what was said before.
class ViewReader {
 public:
  explicit ViewReader(const Assets* assets) : assets_(assets) {}

  Reading read(const View& view) {
    for (const Message& message : view) take(message);
    return std::move(reading_);
  }

 private:
  void take(const Message& message) {
    switch (message.role()) {
      case Role::kSystem:
        return;
      case Role::kContext:
        reading_.documents.push_back({.source = source_of(message), .text = message.text_content()});
        return;
      case Role::kUser:
        take_user(message.text_content());
        for (std::size_t i = 0; i < message.part_count(); ++i) take_asset(message.part(i));
        return;
      case Role::kAssistant:
        take_answer(message);
        return;
      case Role::kTool:
        for (std::size_t i = 0; i < message.part_count(); ++i) take_result(message.part(i));
        return;
    }
  }

  void take_user(std::string text) {
    if (asked_) reading_.history.push_back({.user = reading_.question, .answer = answer_});
    for (const ToolRun& run : reading_.runs) {
      if (answer_.empty()) remember_number(run.output);
    }
    remember_number(answer_);
    asked_ = true;
    reading_.question = std::move(text);
    reading_.runs.clear();
    reading_.given.clear();
    answer_.clear();
  }

  void take_asset(const Part& part) {
    if (!is_asset(part)) return;
    std::string_view bytes;
    if (assets_ != nullptr) {
      if (const auto found = assets_->find(part.call_id); found != assets_->end()) bytes = found->second;
    }
    reading_.given.push_back(described(part, std::max(bytes.size(), bytes_in_address(part.text))));
    if (part.kind != PartKind::kFile || !is_text_type(part.name) || !is_utf8(bytes)) return;
    reading_.documents.push_back({.source = std::string(part.text), .text = std::string(bytes)});
  }

  void take_answer(const Message& message) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      if (message.part(i).kind == PartKind::kToolCall) ++reading_.calls;
    }
    if (std::string text = message.text_content(); !text.empty()) answer_ = std::move(text);
  }

  void take_result(const Part& part) {
    if (part.kind != PartKind::kToolResult) return;
    reading_.runs.push_back(
        {.tool = std::string(part.name), .output = std::string(part.text), .outcome = part.outcome});
  }

  void remember_number(std::string_view text) {
    if (const auto number = last_number(text)) reading_.last_number = number;
  }

  const Assets* assets_;
  Reading reading_;
  bool asked_ = false;
  std::string answer_;
};

struct FactPattern {
  std::string_view words;
  std::string_view about;
  // The value may hold commas and "and".
  bool is_list = false;
};
constexpr std::array kPatterns = {
    FactPattern{"my name is ", "name"},      FactPattern{"my name's ", "name"},
    FactPattern{"i am called ", "name"},     FactPattern{"i'm called ", "name"},
    FactPattern{"call me ", "name"},         FactPattern{"i live in ", "home"},
    FactPattern{"i am from ", "origin"},     FactPattern{"i'm from ", "origin"},
    FactPattern{"i come from ", "origin"},   FactPattern{"i work ", "work"},
    FactPattern{"i like ", "likes", true},   FactPattern{"i love ", "likes", true},
    FactPattern{"i enjoy ", "likes", true},  FactPattern{"remember that ", "note", true},
    FactPattern{"remember: ", "note", true}, FactPattern{"note that ", "note", true}};

// Where the clause ends that begins at `from`.
std::size_t clause_end(const std::string& low, std::size_t from, bool is_list) {
  std::size_t end = low.size();
  for (const std::string_view stop : {" and i ", " and my ", " but ", ", i ", ", my ", " and i'm ", "; "})
    end = std::min(end, low.find(stop, from));
  if (!is_list) end = std::min(end, low.find(',', from));
  return end;
}

std::string_view without_end_marks(std::string_view text) {
  text = trim(text);
  while (!text.empty() && (text.back() == '.' || text.back() == '!' || text.back() == ','))
    text.remove_suffix(1);
  return text;
}

bool starts_word(const std::string& low, std::size_t at) {
  return at == 0 || low[at - 1] == ' ' || low[at - 1] == ',' || low[at - 1] == '(';
}

void add_pattern_facts(std::string_view sentence, const std::string& low, std::vector<Fact>& facts) {
  for (const FactPattern& pattern : kPatterns) {
    const std::size_t at = low.find(pattern.words);
    if (at == std::string::npos || !starts_word(low, at)) continue;
    const std::size_t from = at + pattern.words.size();
    const std::string_view value =
        without_end_marks(sentence.substr(from, clause_end(low, from, pattern.is_list) - from));
    if (!value.empty()) facts.push_back({.about = std::string(pattern.about), .value = std::string(value)});
  }
}

// "my dog's name is Rex", "my favourite colour is green", "I am 40 years old".
void add_open_facts(std::string_view sentence, const std::string& low, std::vector<Fact>& facts) {
  if (const std::size_t at = low.find("my "); at != std::string::npos && starts_word(low, at)) {
    const std::size_t is = low.find(" is ", at);
    const std::string_view about = is == std::string::npos ? "" : sentence.substr(at + 3, is - at - 3);
    if (!about.empty() && lower(about) != "name" && words_of(about).size() <= 4) {
      const std::string_view value =
          without_end_marks(sentence.substr(is + 4, clause_end(low, is + 4, false) - is - 4));
      if (!value.empty()) facts.push_back({.about = "your " + lower(about), .value = std::string(value)});
    }
  }
  for (const std::string_view start : {"i am ", "i'm "}) {
    const std::size_t at = low.find(start);
    const std::size_t end = low.find(" years old");
    if (at == std::string::npos || end == std::string::npos || end < at || !starts_word(low, at)) continue;
    facts.push_back(
        {.about = "age", .value = std::string(sentence.substr(at + start.size(), end - at - start.size()))});
  }
}

}  // namespace

Reading read_view(const View& view, const Assets* assets) { return ViewReader(assets).read(view); }

std::string Fact::sentence() const {
  if (about == "name") return "Your name is " + value + ".";
  if (about == "home") return "You live in " + value + ".";
  if (about == "origin") return "You are from " + value + ".";
  if (about == "age") return "You are " + value + " years old.";
  if (about == "work") return "You work " + value + ".";
  if (about == "likes") return "You like " + value + ".";
  if (about == "note") return "You asked me to remember this: " + value + ".";
  std::string start = about;
  start[0] = 'Y';
  return start + " is " + value + ".";
}

std::vector<Fact> facts_in(std::string_view text) {
  std::vector<Fact> facts;
  for (const std::string& sentence : sentences_of(text)) {
    if (sentence.ends_with('?')) continue;
    const std::string low = lower(sentence);
    const std::size_t before = facts.size();
    add_pattern_facts(sentence, low, facts);
    const bool is_note = std::any_of(facts.begin() + static_cast<std::ptrdiff_t>(before), facts.end(),
                                     [](const Fact& fact) { return fact.about == "note"; });
    if (!is_note) add_open_facts(sentence, low, facts);
  }
  return facts;
}

}  // namespace tertulia::offline
