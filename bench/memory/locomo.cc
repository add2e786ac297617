#include "locomo.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_set>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"

namespace tertulia::bench {
namespace {

std::string text_in(const JsonObject& object, std::string_view key) {
  const Json* value = object.find(key);
  const std::string* text = value ? value->as_string() : nullptr;
  return text ? *text : std::string();
}

// "1:56 pm on 8 May, 2023".
std::optional<Time> time_in(const std::string& text) {
  constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                        "May",       "June",     "July",     "August",
                                                        "September", "October",  "November", "December"};
  int hour = 0;
  int minute = 0;
  int day = 0;
  int year = 0;
  std::array<char, 3> half{};
  std::array<char, 16> name{};
  if (std::sscanf(text.c_str(), "%d:%d %2s on %d %15[A-Za-z], %d", &hour, &minute, half.data(), &day,
                  name.data(), &year) != 6) {
    return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), std::string_view(name.data()));
  if (month == kMonths.end()) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(day))};
  const int hours = hour % 12 + (std::string_view(half.data()) == "pm" ? 12 : 0);
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hours) + std::chrono::minutes(minute);
}

void read_session(const JsonObject& conversation, int session, std::vector<LocomoTurn>& turns) {
  const std::string name = "session_" + std::to_string(session);
  const Json* list = conversation.find(name);
  if (list == nullptr || list->as_array() == nullptr) return;
  const auto time = time_in(text_in(conversation, name + "_date_time"));
  for (const Json& value : *list->as_array()) {
    const JsonObject* turn = value.as_object();
    if (turn == nullptr) continue;
    std::string text = text_in(*turn, "text");
    const std::string caption = text_in(*turn, "blip_caption");
    if (!caption.empty()) text += " [shared photo: " + caption + "]";
    turns.push_back({text_in(*turn, "dia_id"), text_in(*turn, "speaker"), std::move(text), session, time});
  }
}

// Some lists are written into one text: "D8:6; D9:17".
std::vector<std::string> evidence_in(const Json* list, const std::unordered_set<std::string>& known) {
  std::vector<std::string> ids;
  if (list == nullptr || list->as_array() == nullptr) return ids;
  for (const Json& value : *list->as_array()) {
    const std::string* text = value.as_string();
    if (text == nullptr) continue;
    std::string word;
    for (const char letter : *text + " ") {
      if (letter == ':' || (letter >= '0' && letter <= '9') || letter == 'D') {
        word += letter;
        continue;
      }
      if (known.contains(word) && std::find(ids.begin(), ids.end(), word) == ids.end()) ids.push_back(word);
      word.clear();
    }
  }
  return ids;
}

LocomoConversation read_conversation(const JsonObject& sample) {
  LocomoConversation result{.name = text_in(sample, "sample_id")};
  const Json* conversation = sample.find("conversation");
  if (conversation == nullptr || conversation->as_object() == nullptr) return result;
  for (int session = 1; session < 200; ++session)
    read_session(*conversation->as_object(), session, result.turns);
  std::unordered_set<std::string> known;
  for (const LocomoTurn& turn : result.turns) known.insert(turn.id);
  const Json* questions = sample.find("qa");
  if (questions == nullptr || questions->as_array() == nullptr) return result;
  for (const Json& value : *questions->as_array()) {
    const JsonObject* question = value.as_object();
    const Json* category = question ? question->find("category") : nullptr;
    if (category == nullptr || category->as_int() == nullptr || *category->as_int() > 4) continue;
    LocomoQuestion read{text_in(*question, "question"), static_cast<int>(*category->as_int()),
                        evidence_in(question->find("evidence"), known)};
    if (!read.evidence.empty()) result.questions.push_back(std::move(read));
  }
  return result;
}

}  // namespace

Result<std::vector<LocomoConversation>> read_locomo(const std::string& path) {
  TERTULIA_TRY_AS(std::string text, read_file(real_env().files(), path));
  TERTULIA_TRY_AS(Json data, parse_json(text, {.values = 10'000'000}));
  std::vector<LocomoConversation> conversations;
  if (data.as_array() == nullptr)
    return Error(ErrorCode::kWrongType, path + " is not a list of conversations");
  for (const Json& sample : *data.as_array()) {
    if (sample.as_object() != nullptr) conversations.push_back(read_conversation(*sample.as_object()));
  }
  return conversations;
}

}  // namespace tertulia::bench
