// Cuts text into the pieces that byte pairs are merged within.
//
// Each vocabulary comes with a regular expression for this; these scanners find the same pieces as the
// expressions do, by hand, in one pass. What they were written from:
//
//   cl100k   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
//            |\s*[\r\n]+|\s+(?!\S)|\s+
//   qwen     the same with \p{N} for \p{N}{1,3}
//   o200k    P?U*L+C?|P?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//            where P = [^\r\n\p{L}\p{N}], U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}],
//            C = (?i:'s|'t|'re|'ve|'m|'ll|'d)
#pragma once

#include <cstddef>

#include "char_class.h"

namespace tertulia {

enum class Pattern { kCl100k, kO200k, kQwen };

// The length of 's, 't, 're, 've, 'm, 'll or 'd in either case at `at`, or 0. The long s (U+017F) is an s
// too.
inline std::size_t contraction_length(const char* at, const char* end) {
  if (end - at < 2 || *at != '\'') return 0;
  const char first = static_cast<char>(at[1] | 0x20);
  switch (first) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    default:
      break;
  }
  if (end - at < 3) return 0;
  if (at[1] == '\xC5' && at[2] == '\xBF') return 3;
  const char second = static_cast<char>(at[2] | 0x20);
  const bool matches = (first == 'l' && second == 'l') || ((first == 'r' || first == 'v') && second == 'e');
  return matches ? 3 : 0;
}

template <Pattern pattern>
class PieceScanner {
 public:
  explicit PieceScanner(const CharClasses& classes) : classes_(classes) {}

  // The end of the piece that starts at `at`, which must be before `end`.
  const char* next(const char* at, const char* end) const {
    if constexpr (pattern != Pattern::kO200k) {
      if (*at == '\'') {
        if (std::size_t length = contraction_length(at, end)) return at + length;
      }
    }
    const CharAt first = classes_.at(at, end);
    const char* second = at + first.length;
    if (const char* word = word_end(first, at, second, end)) return word;
    if (first.classes & kNumber) return number_end(second, end);
    if (first.classes & kSpace) {
      if (*at == ' ' && second != end && is_mark(classes_.at(second, end).classes))
        return marks_end(second, end);
      return space_end(at, end);
    }
    return marks_end(second, end);
  }

 private:
  static bool is_mark(unsigned classes) { return (classes & (kLetter | kNumber | kSpace)) == 0; }

  const char* run_end(const char* at, const char* end, unsigned mask) const {
    while (at != end) {
      const CharAt c = classes_.at(at, end);
      if (!(c.classes & mask)) break;
      at += c.length;
    }
    return at;
  }

  // The end of a word that starts with `first`, or null if none does.
  const char* word_end(CharAt first, const char* at, const char* second, const char* end) const {
    if (first.classes & kLetter) return letters_end(at, end);
    if (first.classes & (kNumber | kNewline)) return nullptr;
    if (pattern == Pattern::kO200k && (first.classes & kLower)) {
      // A mark, which is both what may stand before a word and a lower-case letter: where no L+ follows, it
      // is the whole of U*L+ itself, before U+L* is ever tried.
      const Letters after = letters(second, end);
      return with_contraction(after.has_lower ? after.end : second, end);
    }
    return letters_end(second, end);
  }

  struct Letters {
    const char* end;
    bool has_lower;  // U*L+ matched, not only U+
  };

  // o200k's U*L+ or U+L* at `at`. U* runs on; if no L follows there, L+ has to take back what U* took too
  // much: from the last character that is in both.
  Letters letters(const char* at, const char* end) const {
    const char* both = nullptr;
    while (at != end) {
      const CharAt c = classes_.at(at, end);
      if (!(c.classes & kUpper)) {
        if (c.classes & kLower) return {run_end(at + c.length, end, kLower), true};
        break;
      }
      at += c.length;
      if (c.classes & kLower) both = at;
    }
    return both ? Letters{both, true} : Letters{at, false};
  }

  // The end of the letters at `at` with what belongs to them, or null if there are none.
  const char* letters_end(const char* at, const char* end) const {
    if constexpr (pattern == Pattern::kO200k) {
      const Letters found = letters(at, end);
      return found.end == at ? nullptr : with_contraction(found.end, end);
    } else {
      const char* letters = run_end(at, end, kLetter);
      return letters == at ? nullptr : letters;
    }
  }

  static const char* with_contraction(const char* at, const char* end) {
    return at + contraction_length(at, end);
  }

  const char* number_end(const char* at, const char* end) const {
    if constexpr (pattern == Pattern::kQwen) return at;
    for (int digits = 1; digits < 3 && at != end; ++digits) {
      const CharAt c = classes_.at(at, end);
      if (!(c.classes & kNumber)) break;
      at += c.length;
    }
    return at;
  }

  const char* marks_end(const char* at, const char* end) const {
    while (at != end) {
      const CharAt c = classes_.at(at, end);
      if (!is_mark(c.classes)) break;
      at += c.length;
    }
    while (at != end && (*at == '\r' || *at == '\n' || (pattern == Pattern::kO200k && *at == '/'))) ++at;
    return at;
  }

  // Through the last newline, if there is one; else all, but for the last space before something else.
  const char* space_end(const char* at, const char* end) const {
    const char* after_newline = nullptr;
    const char* last = at;
    const char* run = at;
    while (run != end) {
      const CharAt c = classes_.at(run, end);
      if (!(c.classes & kSpace)) break;
      last = run;
      run += c.length;
      if (c.classes & kNewline) after_newline = run;
    }
    if (after_newline) return after_newline;
    return run == end || last == at ? run : last;
  }

  const CharClasses& classes_;
};

}  // namespace tertulia
