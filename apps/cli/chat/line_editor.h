// Where a person writes: a line, or several, with history and completion.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/file_system.h"

namespace tertulia::cli {

class LineEditor {
 public:
  struct Options {
    // Empty: nothing is remembered from one program to the next.
    Path history_file{};
    // Shown before the first line. Holds no line end; colours are fine.
    std::string prompt;
    bool colour = true;
    // What a word may become. The word is all that stands before the cursor.
    std::function<std::vector<std::string>(const std::string& word)> complete{};
  };
  enum class End { kMessage, kInterrupted, kLeft };
  struct Input {
    End end = End::kMessage;
    std::string text{};
    // Of an interruption: something had been written, and is gone.
    bool dropped = false;
  };

  explicit LineEditor(Options options);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Waits for a message. Alt-Enter, or a backslash at the end of a line, begins another line; what is pasted
  // is taken as it is. Ctrl-C gives kInterrupted, Ctrl-D on an empty line kLeft.
  Input read();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// While it lives, what is typed is not shown and waits to be read: it comes to the editor, or to key().
class QuietKeyboard {
 public:
  QuietKeyboard();
  ~QuietKeyboard();
  QuietKeyboard(const QuietKeyboard&) = delete;
  QuietKeyboard& operator=(const QuietKeyboard&) = delete;

  // What was typed until now is thrown away, so that nothing is answered by accident.
  static void forget();
  // A key that waits; none if there is none, 4 (Ctrl-D) at the end of the input. Arrows and the like, which
  // begin with an escape, are passed over: nobody means Escape by them.
  static std::optional<char> key();
};

}  // namespace tertulia::cli
