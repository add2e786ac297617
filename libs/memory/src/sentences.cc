#include "sentences.h"

namespace tertulia {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// The full stop of scripts that need no space behind it; all of three bytes.
bool is_wide_stop(std::string_view text) {
  return text.starts_with("。") || text.starts_with("！") || text.starts_with("？");
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stop = (text[i] == '.' || text[i] == '!' || text[i] == '?') &&
                      (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n');
    if (is_wide_stop(text.substr(i))) {
      i += 2;
    } else if (!stop && text[i] != '\n' && i + 1 != text.size()) {
      continue;
    }
    std::string sentence = trimmed(text.substr(begin, i + 1 - begin));
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
    begin = i + 1;
  }
  return sentences;
}

bool is_question(std::string_view sentence) {
  return sentence.ends_with('?') || sentence.ends_with("？") || sentence.ends_with("؟");
}

}  // namespace tertulia
