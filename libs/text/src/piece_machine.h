// The splitting patterns once more, one character at a time, for text that is still arriving.
//
// PieceScanner reads a piece in one go and may look far ahead for its end. This machine remembers instead
// what the scanner would have seen, so going on costs only the new characters. Both find the same pieces; a
// test and a fuzzer hold them together.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "char_class.h"
#include "piece_scanner.h"

namespace tertulia {

// A plain value: a copy may be sent ahead to see what would be if the text ended, and be thrown away.
class PieceMachine {
 public:
  explicit PieceMachine(Pattern pattern) : pattern_(pattern) {}

  // Reads on to the end of `text`, which begins with everything read since the last rebase. Appends to `ends`
  // the end of each piece that is now settled.
  void read(std::string_view text, std::vector<std::size_t>& ends);

  // Where the piece begins that is not settled yet.
  std::size_t start() const { return start_; }
  // Where it would end if the text ended now. What is left behind that would be one more piece.
  std::size_t end_if_last() const { return state_ == State::kSpaces && newline_end_ == 0 ? at_ : accept_; }
  std::size_t at() const { return at_; }

  // Forgets the first `count` bytes, which must all be settled.
  void rebase(std::size_t count);

 private:
  enum class State {
    kStart,
    kApostrophe,       // cl100k: ' at the start
    kHalfContraction,  // cl100k: 'l, 'r or 'v at the start
    kMarkOne,          // one mark or sign, which may belong to a word
    kSpaceOne,         // one space, which may belong to a word or to marks
    kOtherSpaceOne,    // one other white space that is no newline
    kBothOne,          // o200k: one combining mark
    kUpper,            // o200k: within U*
    kLower,            // letters, in o200k within L+
    kSuffix,           // o200k: ' behind a word
    kHalfSuffix,       // o200k: 'l, 'r or 'v behind a word
    kNumber,
    kMarks,
    kNewlinesAfterMarks,
    kSpaces,
    kDone,  // nothing can be added
  };
  struct Char {
    std::string_view bytes;
    unsigned classes;
  };

  // True if the character belongs to what may become this piece.
  bool take(Char c);
  bool take_first(Char c);
  bool take_after_one(Char c);
  bool take_apostrophe(Char c);
  bool take_upper(Char c);
  bool take_suffix(Char c);
  bool take_space(Char c);

  bool is_word(Char c) const;
  bool begin_word(Char c);
  bool go(State state, Char c);
  std::size_t end_of(Char c) const { return at_ + c.bytes.size(); }

  Pattern pattern_;
  State state_ = State::kStart;
  std::size_t start_ = 0;
  std::size_t accept_ = 0;  // the end of the piece, should the next character not belong to it
  std::size_t at_ = 0;
  std::size_t newline_end_ = 0;  // behind the last newline of these spaces; 0 if there is none
  int digits_ = 0;
  bool after_both_ = false;  // the word stands behind a combining mark, which is a word without it
  bool has_both_ = false;    // within U*, something that L+ could be
  char awaited_ = 0;         // the second letter of a contraction
};

}  // namespace tertulia
