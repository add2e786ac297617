#include "follow_run.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include "tertulia/base/thread_annotations.h"

#include "exit_code.h"
#include "line_editor.h"
#include "question_form.h"

namespace tertulia::cli {
namespace {

constexpr int kBeatMs = 100;
constexpr int kSignalled = 128;  // what a shell adds to the number of the signal that ended a program

// Ctrl-C stops the turn and keeps what was said; a second one ends the program. Whoever ends it, the terminal
// is left as it was found: what the program has to keep is kept already.
class Interrupts {
 public:
  Interrupts() : has_terminal_(::tcgetattr(STDIN_FILENO, &terminal_) == 0) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([this, set] {
      int signal = 0;
      while (sigwait(&set, &signal) == 0) take(signal);
    }).detach();
  }

  void set_at_prompt() {
    MutexLock lock(mutex_);
    at_prompt_ = true;
  }

  void watch(Run* run) {
    MutexLock lock(mutex_);
    run_ = run;
    stopping_ = false;
  }

 private:
  void take(int signal) {
    MutexLock lock(mutex_);
    if (signal == SIGINT && run_ == nullptr && at_prompt_) return;
    if (signal != SIGINT || run_ == nullptr || stopping_) {
      if (has_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_);
      ::_exit(signal == SIGINT ? kExitInterrupted : kSignalled + signal);
    }
    stopping_ = true;
    run_->cancel();
  }

  termios terminal_{};
  const bool has_terminal_;
  Mutex mutex_;
  Run* run_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool at_prompt_ TERTULIA_GUARDED_BY(mutex_) = false;
};

// One object for the program: its thread lives as long.
Interrupts& interrupts() {
  static Interrupts* const kInterrupts = new Interrupts;
  return *kInterrupts;
}

// The next event of a run, with a file that becomes readable when it is there.
class Mailbox {
 public:
  using Letter = Result<std::optional<Event>>;

  Mailbox() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() { ::close(bell_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void put(Letter letter) {
    MutexLock lock(mutex_);
    letter_ = std::move(letter);
    const std::uint64_t one = 1;
    (void)!::write(bell_, &one, sizeof one);
  }

  std::optional<Letter> take() {
    MutexLock lock(mutex_);
    std::uint64_t count = 0;
    (void)!::read(bell_, &count, sizeof count);
    return std::exchange(letter_, std::nullopt);
  }

  int bell() const { return bell_; }

 private:
  const int bell_;
  Mutex mutex_;
  std::optional<Letter> letter_ TERTULIA_GUARDED_BY(mutex_);
};

struct Choice {
  char key;
  Answer::Choice choice;
  std::string_view words;
};
constexpr Choice kPromptChoices[] = {
    {'y', Answer::Choice::kOnce, "allowed once"},
    {'n', Answer::Choice::kDeny, "denied"},
    {'a', Answer::Choice::kAlways, "always allowed in this session"},
    {'e', Answer::Choice::kAlwaysExactly, "exactly this is always allowed in this session"},
    {'x', Answer::Choice::kAlwaysDeny, "never allowed in this session"},
};
// One key answers, yet many type Enter behind it: one that comes so soon does not answer the next question.
constexpr auto kStrayEnter = std::chrono::seconds(1);

std::string choices_line(bool colour) {
  const auto key = [&](const char* letter) {
    return colour ? "\x1b[1;36m" + std::string(letter) + "\x1b[0m" : "[" + std::string(letter) + "]";
  };
  return key("y") + " yes, once  " + key("n") + " no (Enter)  " + key("a") + " always  " + key("e") +
         " always just this  " + key("x") + " never";
}

class Follower {
 public:
  Follower(Engine& engine, const SessionKey& key, TurnView& view, const FollowOptions& options)
      : engine_(engine), key_(key), view_(view), options_(options) {}

  void follow(Run& run) {
    while (true) {
      run.next([box = box_](Mailbox::Letter letter) { box->put(std::move(letter)); });
      const Mailbox::Letter letter = wait();
      if (!letter || !*letter) return;
      take(**letter);
    }
  }

 private:
  void take(const Event& event) {
    if (options_.watch) options_.watch(event);
    // Whatever comes after a question means that it is settled.
    if (!question_.empty() && event.kind == EventKind::kPermissionGiven) {
      view_.answered(event.name == "expired" ? "nobody answered in time" : "answered elsewhere");
      question_.clear();
    }
    // The call that wanted to know something has ended without it.
    if (!question_.empty() && event.kind == EventKind::kToolCallResult && event.index == asking_call_) {
      view_.answered("not wanted any more");
      question_.clear();
    }
    view_.show(event);
    if (event.kind != EventKind::kPermissionAsked) return;
    if (options_.deny) {
      const Result<void> denied = engine_.answer(key_, event.call_id, {.choice = Answer::Choice::kDeny});
      // Then it waits until the question expires.
      if (!denied) view_.answered(denied.error().message());
    }
    if (!options_.person) return;
    question_ = event.call_id;
    asking_call_ = event.index;
    QuietKeyboard::forget();
    form_.reset();
    const Json data = event.data.value();
    const JsonObject* object = data.as_object();
    if (object != nullptr && object->find("text") != nullptr) {
      const Json* schema = object->find("schema");
      form_.emplace(schema != nullptr ? *schema : Json());
    }
    view_.ask(event, form_ ? form_->prompt() : choices_line(options_.colour));
  }

  Mailbox::Letter wait() {
    while (true) {
      if (auto letter = box_->take()) return *std::move(letter);
      pollfd files[] = {{.fd = box_->bell(), .events = POLLIN, .revents = 0},
                        {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
      const nfds_t count = question_.empty() ? 1 : 2;
      const int ready = ::poll(files, count, view_.moves() ? kBeatMs : question_.empty() ? -1 : 10 * kBeatMs);
      if (ready == 0) view_.tick();
      if (count == 2 && (files[1].revents & (POLLIN | POLLHUP)) != 0) answer();
    }
  }

  void give(Answer answer, std::string_view words) {
    const Result<void> given = engine_.answer(key_, question_, std::move(answer));
    view_.answered(given ? std::string(words) : given.error().message());
    question_.clear();
    answered_ = std::chrono::steady_clock::now();
  }

  // What a server wants to know is typed; everything that waits is taken, so that a paste is shown once.
  void fill_form() {
    while (const std::optional<char> key = QuietKeyboard::key()) {
      switch (form_->key(*key)) {
        case QuestionForm::Step::kMore:
          continue;
        case QuestionForm::Step::kDone:
          return give({.choice = Answer::Choice::kOutput, .output = form_->output()}, "answered");
        case QuestionForm::Step::kRefused:
          return give({.choice = Answer::Choice::kDeny}, "not answered");
      }
    }
    view_.typed(form_->prompt());
  }

  void answer() {
    if (form_) return fill_form();
    const std::optional<char> key = QuietKeyboard::key();
    if (!key) return;
    const bool is_enter = *key == '\r' || *key == '\n';
    if (is_enter && answered_ && std::chrono::steady_clock::now() - *answered_ < kStrayEnter) return;
    if ((*key | 0x20) == 'v') return view_.show_all();
    // Enter, Escape and Ctrl-D are a no, which is what a terminal that has gone away says too.
    const char meant = is_enter || *key == '\x1b' || *key == '\4' ? 'n' : *key;
    for (const Choice& choice : kPromptChoices) {
      if (choice.key != (meant | 0x20)) continue;
      return give({.choice = choice.choice}, choice.words);
    }
  }

  Engine& engine_;
  const SessionKey& key_;
  TurnView& view_;
  const FollowOptions& options_;
  std::shared_ptr<Mailbox> box_ = std::make_shared<Mailbox>();
  // The id of what is asked now; empty if nothing is.
  std::string question_;
  // The call that it is about.
  std::uint64_t asking_call_ = 0;
  // If it is to be typed.
  std::optional<QuestionForm> form_;
  // When a key answered last.
  std::optional<std::chrono::steady_clock::time_point> answered_;
};

}  // namespace

void catch_interrupts(bool at_prompt) {
  Interrupts& all = interrupts();
  if (at_prompt) all.set_at_prompt();
}

Result<TurnOutcome> follow_run(Engine& engine, const SessionKey& key, Run run, TurnView& view,
                               const FollowOptions& options) {
  std::optional<QuietKeyboard> quiet;
  if (options.person) quiet.emplace();
  interrupts().watch(&run);
  Follower(engine, key, view, options).follow(run);
  interrupts().watch(nullptr);
  view.end();
  return run.result();
}

}  // namespace tertulia::cli
