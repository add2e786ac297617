// Words of English text, as far as fixed rules can tell them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia::offline {

// Every byte of a character that is not ASCII counts as a letter.
bool is_letter(char c);
bool is_digit(char c);

// ASCII letters only; other characters stay as they are.
std::string lower(std::string_view text);
std::string_view trim(std::string_view text);

// Letters, digits and apostrophes behind one another, in lower case; '_' and '-' part words.
std::vector<std::string> words_of(std::string_view text);
// Those that carry meaning ("the", "is", "what" do not), by their stems ("refunds" and "refunded" are equal),
// each once.
std::vector<std::string> content_stems(std::string_view text);
std::string stem(std::string_view word);

// True if the words of `phrase` stand behind one another in `words`.
bool has_phrase(const std::vector<std::string>& words, std::string_view phrase);
bool has_any(const std::vector<std::string>& words, std::initializer_list<std::string_view> phrases);

// Sentences without the space around them.
std::vector<std::string> sentences_of(std::string_view text);

// The text between the first pair of quotes, if there is one.
std::optional<std::string> quoted(std::string_view text);

// "30", "0.5", "-2"; whole numbers without a point.
std::string number_text(double number);
// The last number in a text, if there is one.
std::optional<double> last_number(std::string_view text);

// At most `bytes` bytes of one line, with "…" if it was cut.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace tertulia::offline
