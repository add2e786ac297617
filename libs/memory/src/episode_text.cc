// What is worth remembering of a conversation, taken from what was said.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "tertulia/memory/episodic_memory.h"

#include "sentences.h"

namespace tertulia {
namespace {

constexpr std::size_t kSummaryBytes = 600;
constexpr std::size_t kSentenceBytes = 240;
constexpr std::size_t kShortestWord = 4;
// In bytes: a shorter sentence, "Yes.", is part of others by chance.
constexpr std::size_t kShortestEcho = 10;
constexpr std::size_t kFewestDigits = 7;
// What a person tells is worth more than what they ask or are answered, and what a model says of itself less.
constexpr double kToldWeight = 4;
constexpr double kSelfWeight = 0.25;

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80U ||
         c == '\'';
}

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> words;
  std::string word;
  const auto close = [&] {
    if (word.size() >= kShortestWord) words.push_back(word);
    word.clear();
  };
  for (const char c : sentence) {
    if (is_word_byte(c)) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      close();
    }
  }
  close();
  return words;
}

struct Sentence {
  std::string text;
  std::size_t place = 0;
  bool by_person = false;
  double weight = 0;
};

double worth(const Sentence& sentence) {
  if (sentence.by_person) return sentence.text.ends_with('?') ? 1 : kToldWeight;
  return sentence.text.starts_with("I ") || sentence.text.starts_with("I'") ? kSelfWeight : 1;
}

// By how often what it speaks of comes up; long sentences have no advantage.
void weigh(std::vector<Sentence>& sentences) {
  std::map<std::string, double> frequency;
  std::vector<std::vector<std::string>> words;
  words.reserve(sentences.size());
  for (const Sentence& sentence : sentences) {
    words.push_back(words_of(sentence.text));
    for (const std::string& word : std::set<std::string>(words.back().begin(), words.back().end())) {
      frequency[word] += 1;
    }
  }
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    double sum = 0;
    for (const std::string& word : words[i]) sum += std::log1p(frequency[word]);
    sentences[i].weight = sum / std::sqrt(static_cast<double>(words[i].size()) + 3);
    sentences[i].weight *= worth(sentences[i]);
  }
}

// Each sentence once. An answer that repeats what a person said adds nothing to it.
std::vector<Sentence> candidates(std::span<const Message> messages) {
  std::vector<Sentence> sentences;
  std::set<std::string> seen;
  std::vector<std::string> said;
  for (const Message& message : messages) {
    const bool by_person = message.role() == Role::kUser;
    if (message.internal() || (!by_person && message.role() != Role::kAssistant)) continue;
    for (std::string& text : sentences_of(message.text_content())) {
      if (text.size() > kSentenceBytes || !seen.insert(text).second) continue;
      const auto is_in_text = [&](const std::string& one) { return text.find(one) != std::string::npos; };
      if (!by_person && std::any_of(said.begin(), said.end(), is_in_text)) continue;
      if (by_person && text.size() >= kShortestEcho) said.push_back(text);
      sentences.push_back({.text = std::move(text), .place = sentences.size(), .by_person = by_person});
    }
  }
  return sentences;
}

bool speaks_of_oneself(std::string_view sentence) {
  if (sentence.ends_with('?')) return false;
  std::string lower = " ";
  for (const char c : sentence) {
    lower += c == ',' || c == '.' || c == '!'
                 ? ' '
                 : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  lower += ' ';
  for (const std::string_view sign :
       {" i am ", " i'm ", " i live ", " i work ", " i have ", " i like ", " i love ", " i hate ",
        " i prefer ", " i need ", " i moved ", " i was born ", " my ", " call me ", " i study ", " i play ",
        " i use "}) {
    if (lower.find(sign) != std::string::npos) return true;
  }
  return false;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_number_sign(char c) { return is_digit(c) || c == ' ' || c == '-'; }

// The digits with which a text begins, as a number; none unless they are so many.
std::optional<int> digits_at(std::string_view text, std::size_t count) {
  if (text.size() < count || (text.size() > count && is_digit(text[count]))) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

bool is_year(std::optional<int> number) { return number && *number >= 1'900 && *number < 2'200; }
bool is_day_or_month(std::optional<int> number) { return number && *number >= 1 && *number <= 31; }

// How long the day with which a text begins is, as 2026-11-16 or 16-11-2026, or the years, as 2019-2023. 0 if
// it begins with none: they have as many digits as telephone numbers.
std::size_t date_length(std::string_view text) {
  const auto dash = [&](std::size_t at) { return at < text.size() && text[at] == '-'; };
  if (is_year(digits_at(text, 4)) && dash(4)) {
    const std::string_view rest = text.substr(5);
    if (is_year(digits_at(rest, 4))) return 9;
    const bool day =
        is_day_or_month(digits_at(rest, 2)) && dash(7) && is_day_or_month(digits_at(text.substr(8), 2));
    return day ? 10 : 0;
  }
  const bool day = is_day_or_month(digits_at(text, 2)) && dash(2) &&
                   is_day_or_month(digits_at(text.substr(3), 2)) && dash(5) &&
                   is_year(digits_at(text.substr(6), 4));
  return day ? 10 : 0;
}

// How long the telephone or card number with which a text begins is; 0 if it begins with none.
std::size_t number_length(std::string_view text) {
  if (!is_digit(text[0]) && text[0] != '+') return 0;
  std::size_t end = 1;
  while (end < text.size() && is_number_sign(text[end])) ++end;
  while (end > 0 && !is_digit(text[end - 1])) --end;
  const auto digits = std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), is_digit);
  return static_cast<std::size_t>(digits) >= kFewestDigits ? end : 0;
}

// How long the address of mail with which a text begins is; 0 if it begins with none.
std::size_t address_length(std::string_view text) {
  std::string_view word = text.substr(0, text.find_first_of(" \t\r\n\f\v"));
  // What ends the sentence is no part of it.
  word = word.substr(0, word.find_last_not_of(".,;:!?)>\"'") + 1);
  const std::size_t at = word.find('@');
  const bool address = at != std::string_view::npos && at > 0 && word.find('.', at) != std::string_view::npos;
  return address ? word.size() : 0;
}

}  // namespace

std::string extractive_summary(std::span<const Message> messages, std::size_t most) {
  std::vector<Sentence> sentences = candidates(messages);
  weigh(sentences);
  std::sort(sentences.begin(), sentences.end(), [](const Sentence& a, const Sentence& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.place < b.place;
  });
  std::size_t bytes = 0;
  std::vector<Sentence> chosen;
  for (Sentence& sentence : sentences) {
    if (chosen.size() == most) break;
    if (bytes + sentence.text.size() + 1 > kSummaryBytes) continue;
    bytes += sentence.text.size() + 1;
    chosen.push_back(std::move(sentence));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Sentence& a, const Sentence& b) { return a.place < b.place; });
  std::string summary;
  for (const Sentence& sentence : chosen) {
    if (!summary.empty()) summary += ' ';
    summary += sentence.text;
  }
  return summary;
}

std::vector<std::string> key_facts_of(std::span<const Message> messages, std::size_t most) {
  std::vector<std::string> facts;
  for (const Message& message : messages) {
    if (message.role() != Role::kUser || message.internal()) continue;
    for (std::string& sentence : sentences_of(message.text_content())) {
      if (facts.size() == most) return facts;
      if (sentence.size() > kSentenceBytes || !speaks_of_oneself(sentence)) continue;
      if (std::find(facts.begin(), facts.end(), sentence) == facts.end())
        facts.push_back(std::move(sentence));
    }
  }
  return facts;
}

std::string mask_personal_data(std::string_view text) {
  std::string masked;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (i > 0 && is_word_byte(text[i - 1])) {
      masked += text[i++];
    } else if (const std::size_t date = date_length(rest); date > 0) {
      masked += rest.substr(0, date);
      i += date;
    } else if (const std::size_t number = number_length(rest); number > 0) {
      masked += "[number]";
      i += number;
    } else if (const std::size_t address = address_length(rest); address > 0) {
      masked += "[email]";
      i += address;
    } else {
      masked += text[i++];
    }
  }
  return masked;
}

Episode make_episode(const EpisodeParts& parts) {
  Episode episode{.id = parts.id,
                  .session = parts.session,
                  .branch = parts.branch,
                  .span = {.first = parts.first, .last = parts.first + parts.messages.size() - 1},
                  .opened_at = parts.messages.front().time(),
                  .closed_at = parts.closed_at,
                  .end_reason = parts.reason,
                  .summary = extractive_summary(parts.messages),
                  .key_facts = key_facts_of(parts.messages),
                  .message_count = parts.messages.size(),
                  .turn_count = parts.turns};
  for (const Message& message : parts.messages) {
    Tokens& side = message.role() == Role::kAssistant ? episode.output_tokens : episode.input_tokens;
    side = side + message.tokens();
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      if (message.part(i).kind == PartKind::kToolCall) ++episode.tool_call_count;
    }
  }
  if (parts.mask_personal_data) {
    episode.summary = mask_personal_data(episode.summary);
    for (std::string& fact : episode.key_facts) fact = mask_personal_data(fact);
  }
  return episode;
}

std::string text_of_episode(const Episode& episode) {
  std::string text = episode.summary;
  for (const std::string& fact : episode.key_facts) {
    if (text.find(fact) != std::string::npos) continue;
    if (!text.empty()) text += ' ';
    text += fact;
  }
  return text;
}

}  // namespace tertulia
