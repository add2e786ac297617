#include "piece_machine.h"

namespace tertulia {
namespace {

bool is_mark(unsigned classes) { return (classes & (kLetter | kNumber | kSpace)) == 0; }

char lower(char c) { return static_cast<char>(c | 0x20); }

// The letter that must follow the first of a contraction: 0 if it is whole, '?' if there is none like it.
char after_contraction(std::string_view letter) {
  if (letter == "\xC5\xBF") return 0;
  if (letter.size() != 1) return '?';
  switch (lower(letter[0])) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 0;
    case 'l':
      return 'l';
    case 'r':
    case 'v':
      return 'e';
    default:
      return '?';
  }
}

}  // namespace

void PieceMachine::read(std::string_view text, std::vector<std::size_t>& ends) {
  const CharClasses& classes = CharClasses::get();
  const char* end = text.data() + text.size();
  while (at_ < text.size()) {
    const CharAt c = classes.at(text.data() + at_, end);
    if (state_ != State::kDone && take({text.substr(at_, c.length), c.classes})) {
      at_ += c.length;
      continue;
    }
    ends.push_back(accept_);
    start_ = at_ = accept_;
    state_ = State::kStart;
  }
}

void PieceMachine::rebase(std::size_t count) {
  start_ -= count;
  accept_ -= count;
  at_ -= count;
  if (newline_end_ != 0) newline_end_ -= count;
}

bool PieceMachine::is_word(Char c) const {
  return (c.classes & (pattern_ == Pattern::kO200k ? kUpper | kLower : kLetter)) != 0;
}

bool PieceMachine::go(State state, Char c) {
  state_ = state;
  accept_ = end_of(c);
  return true;
}

bool PieceMachine::take(Char c) {
  switch (state_) {
    case State::kStart:
      return take_first(c);
    case State::kApostrophe:
    case State::kHalfContraction:
      return take_apostrophe(c);
    case State::kMarkOne:
    case State::kSpaceOne:
    case State::kOtherSpaceOne:
    case State::kBothOne:
      return take_after_one(c);
    case State::kUpper:
      return take_upper(c);
    case State::kLower:
      if (c.classes & (pattern_ == Pattern::kO200k ? kLower : kLetter)) return go(State::kLower, c);
      return pattern_ == Pattern::kO200k && take_suffix(c);
    case State::kSuffix:
    case State::kHalfSuffix:
      return take_suffix(c);
    case State::kNumber:
      if (!(c.classes & kNumber) || digits_ == (pattern_ == Pattern::kQwen ? 1 : 3)) return false;
      ++digits_;
      return go(State::kNumber, c);
    case State::kMarks:
      if (is_mark(c.classes)) return go(State::kMarks, c);
      return (c.classes & kNewline) && go(State::kNewlinesAfterMarks, c);
    case State::kNewlinesAfterMarks:
      return ((c.classes & kNewline) || (pattern_ == Pattern::kO200k && c.bytes == "/")) &&
             go(State::kNewlinesAfterMarks, c);
    case State::kSpaces:
      return take_space(c);
    case State::kDone:
      break;
  }
  return false;
}

bool PieceMachine::take_first(Char c) {
  newline_end_ = 0;
  digits_ = 1;
  after_both_ = false;
  has_both_ = false;
  if (c.classes & kLetter) return begin_word(c);
  if (c.classes & kNumber) return go(State::kNumber, c);
  if (c.classes & kNewline) return take_space(c);
  if (c.classes & kSpace) return go(c.bytes == " " ? State::kSpaceOne : State::kOtherSpaceOne, c);
  if (pattern_ == Pattern::kO200k) return go(c.classes & kLower ? State::kBothOne : State::kMarkOne, c);
  return go(c.bytes == "'" ? State::kApostrophe : State::kMarkOne, c);
}

bool PieceMachine::begin_word(Char c) {
  if (pattern_ != Pattern::kO200k || !(c.classes & kUpper)) return go(State::kLower, c);
  state_ = State::kUpper;
  return take_upper(c);
}

bool PieceMachine::take_after_one(Char c) {
  after_both_ = state_ == State::kBothOne;
  if (is_word(c)) return begin_word(c);
  switch (state_) {
    case State::kMarkOne:
      state_ = State::kMarks;
      return take(c);
    case State::kSpaceOne:
      if (is_mark(c.classes)) return go(State::kMarks, c);
      return (c.classes & kSpace) && take_space(c);
    case State::kOtherSpaceOne:
      return (c.classes & kSpace) && take_space(c);
    default:
      return take_suffix(c);
  }
}

bool PieceMachine::take_apostrophe(Char c) {
  if (state_ == State::kHalfContraction) {
    if (c.bytes.size() == 1 && lower(c.bytes[0]) == awaited_) return go(State::kDone, c);
    state_ = State::kLower;
    return take(c);
  }
  const char next = after_contraction(c.bytes);
  if (next == 0) return go(State::kDone, c);
  if (next != '?') {
    awaited_ = next;
    return go(State::kHalfContraction, c);
  }
  state_ = State::kMarkOne;
  return take_after_one(c);
}

bool PieceMachine::take_upper(Char c) {
  if (c.classes & kUpper) {
    // What is in both classes ends U*L+, which goes before U+; and so does a mark in front.
    if (c.classes & kLower) has_both_ = true;
    if ((c.classes & kLower) || (!has_both_ && !after_both_)) accept_ = end_of(c);
    return true;
  }
  if (c.classes & kLower) return go(State::kLower, c);
  return accept_ == at_ && take_suffix(c);
}

bool PieceMachine::take_suffix(Char c) {
  if (state_ == State::kHalfSuffix) {
    return c.bytes.size() == 1 && lower(c.bytes[0]) == awaited_ && go(State::kDone, c);
  }
  if (state_ == State::kSuffix) {
    const char next = after_contraction(c.bytes);
    if (next == 0) return go(State::kDone, c);
    awaited_ = next;
    state_ = State::kHalfSuffix;
    return next != '?';
  }
  state_ = State::kSuffix;
  return c.bytes == "'";
}

bool PieceMachine::take_space(Char c) {
  if (!(c.classes & kSpace)) return false;
  state_ = State::kSpaces;
  if (c.classes & kNewline) newline_end_ = end_of(c);
  // Without a newline the last space stays for what follows, unless it is the only one.
  accept_ = newline_end_ != 0 ? newline_end_ : at_ == start_ ? end_of(c) : at_;
  return true;
}

}  // namespace tertulia
