#include "offline/arithmetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "offline/words.h"

namespace tertulia::offline {
namespace {

constexpr std::size_t kMostSteps = 16;

constexpr std::string_view kSmall[] = {"zero",    "one",     "two",       "three",    "four",
                                       "five",    "six",     "seven",     "eight",    "nine",
                                       "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                       "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"twenty", "thirty",  "forty",  "fifty",
                                      "sixty",  "seventy", "eighty", "ninety"};

std::optional<double> number_word(std::string_view word) {
  if (const auto* small = std::ranges::find(kSmall, word); small != std::end(kSmall))
    return static_cast<double>(small - std::begin(kSmall));
  if (word == "hundred") return 100;
  if (word == "thousand") return 1000;
  const std::size_t hyphen = word.find('-');
  const auto* tens = std::ranges::find(kTens, word.substr(0, hyphen));
  if (tens == std::end(kTens)) return std::nullopt;
  const double value = 10.0 * static_cast<double>(tens - std::begin(kTens) + 2);
  if (hyphen == std::string_view::npos) return value;
  const auto* unit = std::ranges::find(kSmall, word.substr(hyphen + 1));
  if (unit == std::end(kSmall) || unit - std::begin(kSmall) > 9) return std::nullopt;
  return value + static_cast<double>(unit - std::begin(kSmall));
}

// "1,234,567.5" from `at` on; moves behind it.
double read_number(std::string_view text, std::size_t& at) {
  std::string digits;
  const auto group_follows = [&] {
    if (at + 3 >= text.size() || text[at] != ',') return false;
    if (!is_digit(text[at + 1]) || !is_digit(text[at + 2]) || !is_digit(text[at + 3])) return false;
    return at + 4 >= text.size() || !is_digit(text[at + 4]);
  };
  while (at < text.size()) {
    if (is_digit(text[at])) {
      digits += text[at++];
    } else if (!digits.empty() && group_follows()) {
      ++at;
    } else {
      break;
    }
  }
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    digits += text[at++];
    while (at < text.size() && is_digit(text[at])) digits += text[at++];
  }
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string read_word(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && (is_letter(text[at]) || text[at] == '\'' || text[at] == '_' ||
                              (text[at] == '-' && at + 1 < text.size() && is_letter(text[at + 1]))))
    ++at;
  return lower(text.substr(begin, at - begin));
}

// Multiplication, division and minus signs that are not ASCII.
constexpr std::pair<std::string_view, std::string_view> kSigns[] = {{"×", "*"}, {"÷", "/"}, {"−", "-"}};

}  // namespace

std::vector<Token> arithmetic_tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const auto* sign = std::ranges::find_if(
        kSigns, [&](const auto& pair) { return text.substr(at).starts_with(pair.first); });
    if (sign != std::end(kSigns)) {
      tokens.push_back({.kind = Token::Kind::kSymbol, .text = std::string(sign->second)});
      at += sign->first.size();
    } else if (c == '-' && at + 1 < text.size() && is_digit(text[at + 1]) &&
               (tokens.empty() ||
                (tokens.back().kind != Token::Kind::kNumber && tokens.back().text != ")")) &&
               (at == 0 || !is_letter(text[at - 1]))) {
      ++at;
      tokens.push_back({.kind = Token::Kind::kNumber, .number = -read_number(text, at), .digits = true});
    } else if (is_digit(c)) {
      tokens.push_back({.kind = Token::Kind::kNumber, .number = read_number(text, at), .digits = true});
    } else if (is_letter(c)) {
      std::string word = read_word(text, at);
      if (const auto number = number_word(word)) {
        tokens.push_back({.kind = Token::Kind::kNumber, .text = std::move(word), .number = *number});
      } else {
        tokens.push_back({.kind = Token::Kind::kWord, .text = std::move(word)});
      }
    } else {
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
        tokens.push_back({.kind = Token::Kind::kSymbol, .text = std::string(1, c)});
      ++at;
    }
  }
  return tokens;
}

std::string_view symbol_of(Op op) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "^"};
  return kSymbols[static_cast<std::size_t>(op)];
}

double apply(Op op, double left, double right) {
  switch (op) {
    case Op::kAdd:
      return left + right;
    case Op::kSubtract:
      return left - right;
    case Op::kMultiply:
      return left * right;
    case Op::kDivide:
      return left / right;
    case Op::kPower:
      return std::pow(left, right);
  }
  return 0;
}

namespace {

constexpr std::string_view kReferences[] = {"it",    "that",    "this",       "result",   "answer", "sum",
                                            "total", "product", "difference", "quotient", "number"};
// Where an expression may begin and end, so that "2024-01-05" in a story is not taken for a sum.
constexpr std::string_view kBefore[] = {"is",   "what's", "calculate", "compute", "evaluate", "solve", "and",
                                        "then", "much",   "now",       "makes",   "please",   ",",     ";",
                                        ":",    ".",      "does",      "are",     "equals",   "?",     "or"};
constexpr std::string_view kAfter[] = {"and", "then", "make", "equal", "please", ",",  ";",
                                       ".",   "?",    "!",    "=",     "or",     "be", "is"};

class SumReader {
 public:
  SumReader(std::vector<Token> tokens, std::optional<double> last)
      : tokens_(std::move(tokens)), last_(last) {}

  Sums read() {
    while (at_ < tokens_.size() && sums_.steps.size() < kMostSteps) {
      const std::size_t start = at_;
      const Sums before = sums_;
      if (read_verb() || read_expression()) continue;
      at_ = start + 1;
      sums_ = before;
    }
    return std::move(sums_);
  }

 private:
  bool word_at(std::size_t index, std::string_view word) const {
    return index < tokens_.size() && tokens_[index].kind != Token::Kind::kNumber &&
           tokens_[index].text == word;
  }
  bool take(std::string_view word) {
    if (!word_at(at_, word)) return false;
    ++at_;
    return true;
  }

  // What "the result" means here.
  Operand previous() {
    if (!sums_.steps.empty()) return {.step = sums_.steps.size() - 1};
    if (!last_) sums_.unresolved = true;
    return {.number = last_.value_or(0)};
  }

  bool refers(std::size_t index) const {
    return index < tokens_.size() &&
           std::ranges::find(kReferences, tokens_[index].text) != std::end(kReferences);
  }

  std::optional<Operand> take_operand() {
    std::size_t next = at_;
    if (word_at(next, "the") || ((word_at(next, "that") || word_at(next, "this")) && refers(next + 1)))
      ++next;
    if (next >= tokens_.size()) return std::nullopt;
    const Token& token = tokens_[next];
    if (token.kind == Token::Kind::kNumber) {
      at_ = next + 1;
      return Operand{.number = token.number};
    }
    if (!refers(next)) return std::nullopt;
    at_ = next + 1;
    return previous();
  }

  Operand push(Op op, Operand left, Operand right, bool is_part) {
    sums_.steps.push_back({.op = op, .left = left, .right = right, .is_part = is_part});
    return {.step = sums_.steps.size() - 1};
  }

  bool read_verb() {
    if (at_ >= tokens_.size() || tokens_[at_].kind != Token::Kind::kWord) return false;
    const std::string verb = tokens_[at_].text;
    ++at_;
    if (verb == "add" || verb == "sum" || verb == "total") return read_list(Op::kAdd);
    if (verb == "product") return word_at(at_, "of") && read_list(Op::kMultiply);
    if (verb == "multiply") return read_list(Op::kMultiply);
    if (verb == "divide") return read_pair(Op::kDivide, "by");
    if (verb == "subtract") return read_subtraction();
    if (verb == "double") return read_one(Op::kMultiply, 2);
    if (verb == "triple") return read_one(Op::kMultiply, 3);
    if (verb == "halve") return read_one(Op::kDivide, 2);
    if (verb == "square") return read_one(Op::kPower, 2);
    return false;
  }

  bool ends_here() const {
    return at_ >= tokens_.size() || tokens_[at_].kind == Token::Kind::kSymbol ||
           std::ranges::find(kAfter, tokens_[at_].text) != std::end(kAfter) || word_at(at_, "now");
  }

  // "10 and 20", "of 1, 2 and 3", "the result by 5", "by 5", "5 to it".
  bool read_list(Op op) {
    take("up");
    take("of");
    std::vector<Operand> operands;
    if (take("by")) operands.push_back(previous());
    bool is_number = false;
    while (const std::optional<Operand> operand = take_operand()) {
      is_number = tokens_[at_ - 1].kind == Token::Kind::kNumber;
      operands.push_back(*operand);
      const std::size_t separator = at_;
      bool more = false;
      for (const std::string_view word : {",", "and", "to", "by", "with", "plus"}) more = take(word) || more;
      if (!more) break;
      const std::size_t behind = at_;
      const bool follows = take_operand().has_value();
      at_ = behind;
      if (follows) continue;
      // "add 5 to my list" is no sum; "add 1 and 2 and …" goes on with something else.
      if (tokens_[at_ - 1].text == "to" || tokens_[at_ - 1].text == "by") return false;
      at_ = separator;
      break;
    }
    if (operands.size() == 1 && is_number && ends_here()) operands.insert(operands.begin(), previous());
    if (operands.size() < 2) return false;
    Operand result = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i)
      result = push(op, result, operands[i], i + 1 < operands.size());
    return true;
  }

  bool read_pair(Op op, std::string_view between) {
    std::optional<Operand> left;
    if (!word_at(at_, between)) left = take_operand();
    if (!left && !word_at(at_, between)) return false;
    if (!take(between)) return false;
    const Operand first = left ? *left : previous();
    const std::optional<Operand> right = take_operand();
    if (!right) return false;
    push(op, first, *right, false);
    return true;
  }

  bool read_subtraction() {
    const std::optional<Operand> what = take_operand();
    if (!what) return false;
    Operand from;
    if (take("from")) {
      const std::optional<Operand> operand = take_operand();
      if (!operand) return false;
      from = *operand;
    } else {
      if (!ends_here()) return false;
      from = previous();
    }
    push(Op::kSubtract, from, *what, false);
    return true;
  }

  bool read_one(Op op, double by) {
    const std::optional<Operand> operand = take_operand();
    if (!operand) return false;
    push(op, *operand, {.number = by}, false);
    return true;
  }

  // The operator here, with how many tokens it has.
  std::optional<std::pair<Op, std::size_t>> operator_here() const {
    if (at_ >= tokens_.size() || tokens_[at_].kind == Token::Kind::kNumber) return std::nullopt;
    const std::string& text = tokens_[at_].text;
    if (text == "+" || text == "plus") return std::pair(Op::kAdd, std::size_t{1});
    if (text == "-" || text == "minus") return std::pair(Op::kSubtract, std::size_t{1});
    if (text == "*" || text == "times" || text == "x") return std::pair(Op::kMultiply, std::size_t{1});
    if (text == "/" || text == "over") return std::pair(Op::kDivide, std::size_t{1});
    if (text == "^") return std::pair(Op::kPower, std::size_t{1});
    if (text == "multiplied" && word_at(at_ + 1, "by")) return std::pair(Op::kMultiply, std::size_t{2});
    if (text == "divided" && word_at(at_ + 1, "by")) return std::pair(Op::kDivide, std::size_t{2});
    return std::nullopt;
  }

  static int rank(Op op) {
    if (op == Op::kAdd || op == Op::kSubtract) return 1;
    return op == Op::kPower ? 3 : 2;
  }

  std::optional<Operand> take_primary(int depth) {
    if (take("(")) {
      std::optional<Operand> inner = take_expression(1, depth + 1);
      if (!inner || !take(")")) return std::nullopt;
      return inner;
    }
    return take_operand();
  }

  std::optional<Operand> take_expression(int least, int depth) {
    if (depth > 16) return std::nullopt;
    std::optional<Operand> left = take_primary(depth);
    while (left && sums_.steps.size() < kMostSteps) {
      const auto op = operator_here();
      if (!op || rank(op->first) < least) break;
      at_ += op->second;
      const std::optional<Operand> right = take_expression(rank(op->first) + 1, depth + 1);
      if (!right) return std::nullopt;
      left = push(op->first, *left, *right, true);
    }
    return left;
  }

  bool read_expression() {
    const std::size_t first_step = sums_.steps.size();
    if (at_ > 0 && tokens_[at_ - 1].kind == Token::Kind::kNumber) return false;
    if (at_ > 0 && std::ranges::find(kBefore, tokens_[at_ - 1].text) == std::end(kBefore)) return false;
    std::optional<Operand> whole;
    // "plus 7": to what was answered before.
    if (const auto op = operator_here(); op && tokens_[at_].kind == Token::Kind::kWord) {
      at_ += op->second;
      const Operand left = previous();
      const std::optional<Operand> right = take_operand();
      if (right) whole = push(op->first, left, *right, true);
    } else {
      whole = take_expression(1, 0);
    }
    if (!whole || sums_.steps.size() == first_step) return false;
    if (at_ < tokens_.size() && std::ranges::find(kAfter, tokens_[at_].text) == std::end(kAfter))
      return false;
    sums_.steps.back().is_part = false;
    return true;
  }

  std::vector<Token> tokens_;
  std::optional<double> last_;
  std::size_t at_ = 0;
  Sums sums_;
};

}  // namespace

Sums read_sums(std::string_view text, std::optional<double> last) {
  Sums sums = SumReader(arithmetic_tokens(text), last).read();
  if (sums.steps.empty()) sums.unresolved = false;
  return sums;
}

}  // namespace tertulia::offline
