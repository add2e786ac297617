#include "line_editor.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "tertulia/base/check.h"

namespace tertulia::cli {
namespace {

constexpr int kRemembered = 1'000;
// Around colours in a prompt, so that they are not counted as columns.
constexpr char kLiteral = '\1';
constexpr char kEndOfInput = '\4';
// How long the rest of a key may be behind its escape, over a slow connection.
constexpr int kSequenceMs = 50;

const char* const kPasteOn = "\x1b[?2004h";
const char* const kPasteOff = "\x1b[?2004l";

void to_terminal(const char* text) {
  std::fputs(text, stdout);
  std::fflush(stdout);
}

// What a terminal that is only a line of text would show as it is.
bool takes_sequences() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

std::string common_start(const std::vector<std::string>& words) {
  std::string start = words.front();
  for (const std::string& word : words) {
    const auto [end, other] = std::mismatch(start.begin(), start.end(), word.begin(), word.end());
    start.erase(end, start.end());
  }
  return start;
}

}  // namespace

struct LineEditor::Parts {
  Options options;
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string first_prompt;
  std::string more_prompt;
  bool more = false;
  bool interrupted = false;
  bool dropped = false;

  static Parts& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Parts*>(self);
  }

  static char* prompt(EditLine* editor) {
    Parts& parts = of(editor);
    return parts.more ? parts.more_prompt.data() : parts.first_prompt.data();
  }

  static unsigned char on_interrupt(EditLine* editor, int) {
    Parts& parts = of(editor);
    parts.interrupted = true;
    const LineInfo* line = el_line(editor);
    parts.dropped = parts.more || line->lastchar != line->buffer;
    // As if it were sent: then the cursor goes behind all of it, and what is shown next does not stand on it.
    el_push(editor, "\n");
    return CC_NORM;
  }

  // The editor puts the terminal right when the signal comes, and again when the program goes on.
  static unsigned char on_suspend(EditLine*, int) {
    std::raise(SIGTSTP);
    return CC_REDISPLAY;
  }

  static unsigned char on_new_line(EditLine* editor, int) {
    return el_insertstr(editor, "\n") == 0 ? CC_REFRESH : CC_ERROR;
  }

  // Everything up to the end of what is pasted, line ends included. By wide characters: the narrow form ends
  // at the first one that is no byte.
  static unsigned char on_paste(EditLine* editor, int) {
    constexpr std::wstring_view kEnd = L"\x1b[201~";
    std::wstring text;
    wchar_t c = 0;
    while (!text.ends_with(kEnd) && el_wgetc(editor, &c) == 1) text += c == L'\r' ? L'\n' : c;
    if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
    while (text.ends_with(L'\n')) text.pop_back();
    return text.empty() || el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  static unsigned char on_complete(EditLine* editor, int) {
    Parts& parts = of(editor);
    const LineInfo* line = el_line(editor);
    const std::string word(line->buffer, line->cursor);
    if (!parts.options.complete) return CC_ERROR;
    const std::vector<std::string> words = parts.options.complete(word);
    if (words.empty()) return CC_ERROR;
    const std::string start = common_start(words) + (words.size() == 1 ? " " : "");
    if (start.size() > word.size()) {
      return el_insertstr(editor, start.c_str() + word.size()) == 0 ? CC_REFRESH : CC_ERROR;
    }
    std::string list = "\n";
    for (const std::string& each : words) list += each + "  ";
    to_terminal((list + "\n").c_str());
    return CC_REDISPLAY;
  }

  void save() const {
    if (options.history_file.empty()) return;
    HistEvent event;
    // Only its owner may read what was said.
    const int file = ::open(options.history_file.c_str(), O_CREAT | O_CLOEXEC | O_WRONLY, 0600);
    if (file < 0) return;
    ::close(file);
    ::history(history, &event, H_SAVE, options.history_file.c_str());
  }
};

LineEditor::LineEditor(Options options) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.options = std::move(options);
  const auto in_colour = [&](const std::string& text) {
    if (!parts.options.colour) return text;
    return kLiteral + std::string("\x1b[1;36m") + kLiteral + text + kLiteral + "\x1b[0m" + kLiteral;
  };
  parts.first_prompt = in_colour(parts.options.prompt);
  parts.more_prompt = in_colour("· ");
  parts.history = history_init();
  HistEvent event;
  ::history(parts.history, &event, H_SETSIZE, kRemembered);
  ::history(parts.history, &event, H_SETUNIQUE, 1);
  if (!parts.options.history_file.empty()) {
    ::history(parts.history, &event, H_LOAD, parts.options.history_file.c_str());
  }
  parts.editor = el_init("tertulia", stdin, stdout, stderr);
  TERTULIA_CHECK(parts.editor != nullptr, "there is memory for a line editor");
  EditLine* editor = parts.editor;
  el_set(editor, EL_CLIENTDATA, &parts);
  el_set(editor, EL_PROMPT_ESC, &Parts::prompt, kLiteral);
  el_set(editor, EL_HIST, ::history, parts.history);
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_ADDFN, "tertulia-interrupt", "Stop", &Parts::on_interrupt);
  el_set(editor, EL_ADDFN, "tertulia-suspend", "Suspend", &Parts::on_suspend);
  el_set(editor, EL_ADDFN, "tertulia-new-line", "Begin another line", &Parts::on_new_line);
  el_set(editor, EL_ADDFN, "tertulia-paste", "Paste", &Parts::on_paste);
  el_set(editor, EL_ADDFN, "tertulia-complete", "Complete", &Parts::on_complete);
  // Ctrl-C and Ctrl-Z are keys here; while a turn runs they are signals.
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
  for (const auto& [keys, command] : {std::pair("^C", "tertulia-interrupt"),
                                      {"^Z", "tertulia-suspend"},
                                      {"\x1b\r", "tertulia-new-line"},
                                      {"\x1b\n", "tertulia-new-line"},
                                      {"\x1b[200~", "tertulia-paste"},
                                      {"\t", "tertulia-complete"},
                                      {"^R", "em-inc-search-prev"},
                                      {"\x1b[3~", "ed-delete-next-char"},
                                      {"\x1b[H", "ed-move-to-beg"},
                                      {"\x1b[F", "ed-move-to-end"}}) {
    el_set(editor, EL_BIND, keys, command, nullptr);
  }
}

LineEditor::~LineEditor() {
  el_end(parts_->editor);
  history_end(parts_->history);
}

LineEditor::Input LineEditor::read() {
  Parts& parts = *parts_;
  std::string message;
  bool left = false;
  parts.interrupted = false;
  parts.dropped = false;
  parts.more = false;
  const bool marks_pastes = takes_sequences();
  if (marks_pastes) to_terminal(kPasteOn);
  while (true) {
    int count = 0;
    // Before the prompt is there: el_gets() shows it first, and what is typed in between would be shown by
    // the terminal as well.
    el_set(parts.editor, EL_PREP_TERM, 1);
    const char* line = el_gets(parts.editor, &count);
    left = line == nullptr || count <= 0;
    if (parts.interrupted || left) break;
    message += line;
    while (message.ends_with('\n')) message.pop_back();
    if (!message.ends_with('\\')) break;
    message.back() = '\n';
    parts.more = true;
  }
  if (marks_pastes) to_terminal(kPasteOff);
  if (parts.interrupted) return {.end = End::kInterrupted, .dropped = parts.dropped};
  if (left) {
    to_terminal("\n");
    return {End::kLeft};
  }
  if (message.find_first_not_of(" \n\t") != std::string::npos) {
    HistEvent event;
    ::history(parts.history, &event, H_ENTER, message.c_str());
    parts.save();
  }
  return {End::kMessage, std::move(message)};
}

QuietKeyboard::QuietKeyboard() {
  termios state{};
  if (::tcgetattr(STDIN_FILENO, &state) != 0) return;
  state.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  state.c_cc[VMIN] = 0;
  state.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &state);
}

QuietKeyboard::~QuietKeyboard() {
  termios state{};
  if (::tcgetattr(STDIN_FILENO, &state) != 0) return;
  state.c_lflag |= static_cast<tcflag_t>(ICANON | ECHO);
  state.c_cc[VMIN] = 1;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &state);
}

void QuietKeyboard::forget() { ::tcflush(STDIN_FILENO, TCIFLUSH); }

namespace {

// A byte of the keyboard within this time.
std::optional<char> next_byte(int wait_ms) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, wait_ms) <= 0) return std::nullopt;
  char c = 0;
  const ssize_t size = ::read(STDIN_FILENO, &c, 1);
  if (size == 1) return c;
  return size == 0 && (input.revents & POLLHUP) != 0 ? std::optional<char>(kEndOfInput) : std::nullopt;
}

// Behind an escape: passes over the rest of an arrow, a function key or an Alt. False if there is none, and
// the escape is a key of its own.
bool pass_over_sequence() {
  const std::optional<char> second = next_byte(kSequenceMs);
  if (!second || *second == kEndOfInput) return false;
  if (*second != '[' && *second != 'O') return true;
  while (const std::optional<char> more = next_byte(kSequenceMs)) {
    if (*more >= '@' && *more <= '~') break;
  }
  return true;
}

}  // namespace

std::optional<char> QuietKeyboard::key() {
  while (true) {
    const std::optional<char> c = next_byte(0);
    if (!c || *c != '\x1b' || !pass_over_sequence()) return c;
  }
}

}  // namespace tertulia::cli
