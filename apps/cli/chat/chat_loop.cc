#include "chat_loop.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <utility>

#include <unistd.h>

#include "tertulia/base/version.h"

#include "context_bar.h"
#include "follow_run.h"
#include "history.h"
#include "kept_log.h"
#include "line_editor.h"
#include "live_screen.h"
#include "markdown.h"
#include "slash.h"
#include "turn_view.h"
#include "words.h"

namespace tertulia::cli {
namespace {

class ChatLoop {
 public:
  ChatLoop(Talk& talk, const Context& context, const ChatLoopOptions& options)
      : talk_(talk),
        context_(context),
        out_(context.out),
        options_(options),
        editor_({.history_file = options.history,
                 .prompt = "› ",
                 .colour = context.out.colour_out,
                 .complete = [this](const std::string& word) { return slash_completions(word, talk_); }}) {}

  Result<void> run() {
    catch_interrupts(true);
    greet();
    if (options_.pick) {
      TERTULIA_TRY_AS(const bool stays, pick());
      if (!stays) return {};
    }
    show_last_turn();
    TERTULIA_TRY(offer_resume());
    bool warned = false;
    while (true) {
      for (const std::string& line : KeptLog::instance().take()) dim(line);
      status_line();
      const LineEditor::Input input = editor_.read();
      if (input.end == LineEditor::End::kLeft) return {};
      if (input.end == LineEditor::End::kInterrupted) {
        // What was written is dropped first; whoever wrote something meanwhile has not meant to leave.
        if (std::exchange(warned, true) && !input.dropped) return {};
        dim("Ctrl-C again, or Ctrl-D, leaves the chat; everything is kept.");
        continue;
      }
      warned = false;
      if (!take(input.text)) return {};
    }
  }

 private:
  void dim(const std::string& text) const {
    for (const std::string& line : fold_words(text, screen_size().columns - 1))
      out_.line(out_.styled(Style::kDim, line));
  }

  void greet() const {
    out_.line(out_.styled(Style::kBold, "tertulia ") +
              out_.styled(Style::kDim, std::string(version()) + " · ") +
              out_.styled(Style::kAccent, one_line(talk_.agent().spec.name)) +
              out_.styled(Style::kDim, " speaks through " + one_line(talk_.model())));
    dim("/help for commands · Alt-Enter for another line · Ctrl-C stops · Ctrl-D leaves");
  }

  // False: the person has left.
  Result<bool> pick() {
    TERTULIA_TRY_AS(const std::vector<SessionLine> lines,
                    latest_sessions(talk_.host().store(), talk_.key(), 9, screen_size().columns - 6));
    if (lines.empty()) return true;
    out_.line("");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out_.line("  " + out_.styled(Style::kAccent, std::to_string(i + 1)) + "  " + lines[i].text);
    }
    dim("  A number goes on with that session; Enter, or a message, begins a new one.");
    const LineEditor::Input input = editor_.read();
    if (input.end != LineEditor::End::kMessage) return false;
    std::size_t number = 0;
    const std::string& text = input.text;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem == std::errc() && end == text.data() + text.size() && number >= 1 && number <= lines.size()) {
      TERTULIA_TRY(talk_.enter(lines[number - 1].key));
      return true;
    }
    if (text.find_first_not_of(" \t\n") != std::string::npos) return take(text);
    return true;
  }

  // What was said last, so that one knows where one is.
  void show_last_turn() const {
    const auto head = talk_.head();
    if (!head || !*head || (*head)->message_count == 0) return;
    const std::uint64_t count = (*head)->message_count;
    const auto turns = read_turns(talk_.host().store(), talk_.key(),
                                  {.branch = (*head)->id, .begin = count - 1, .end = count});
    if (!turns || turns->empty()) return;
    out_.line("");
    for (const Message& message : turns->back().turn.messages()) {
      const std::string text = message.text_content();
      if (text.empty() || message.role() == Role::kTool) continue;
      if (message.role() == Role::kUser) {
        out_.line(out_.styled(Style::kAccent, "› ") + fit(one_line(text), screen_size().columns - 4));
      } else if (message.role() == Role::kAssistant) {
        show_text(text);
      }
    }
  }

  void show_text(const std::string& text) const {
    if (!out_.colour_out) return out_.line(text);
    for (const std::string& line : render_markdown(text, LiveScreen(out_).width())) out_.line(line);
  }

  Result<void> offer_resume() {
    TERTULIA_TRY_AS(const auto turn, talk_.waiting());
    if (!turn) return {};
    if (turn->code.empty()) {
      dim("A turn was interrupted here; it goes on.");
      show_result(follow(talk_.resume()));
      return {};
    }
    // It has failed: whether it is worth another try is for the person to say.
    for (const Message& message : turn->input) {
      if (message.role() != Role::kUser || message.internal()) continue;
      out_.line(out_.styled(Style::kAccent, "› ") + fit(preview(message), screen_size().columns - 4));
    }
    tell_waiting(*turn);
    return {};
  }

  void tell_waiting(const InterruptedTurn& turn) const {
    dim("This message has no answer: " + one_line(turn.reason) + " (" + turn.code + ")");
    dim("/retry tries it again with " + one_line(talk_.model()) +
        " · /discard takes it back · or write on: it is tried once more before your next message");
  }

  void status_line() const {
    std::string text = "── " + talk_.key().session.text() + " · " + talk_.branch() + " · " + talk_.model();
    if (const auto receipt = talk_.receipt(); receipt && *receipt) {
      text += " · " + with_commas(number((*receipt)->total)) + " of " +
              with_commas(number((*receipt)->budget)) + " tokens";
    }
    for (const std::string& name : talk_.attached()) text += " · with " + name;
    const std::size_t width = screen_size().columns - 1;
    text = fit(one_line(text), width - 2) + " ";
    for (std::size_t used = display_width(text); used < width; ++used) text += "─";
    out_.line("");
    dim(text);
  }

  // False: the person has left.
  bool take(const std::string& text) {
    if (text.find_first_not_of(" \t\n") == std::string::npos) return true;
    if (!text.starts_with('/')) {
      say(text);
      return true;
    }
    const Result<SlashOutcome> outcome = run_slash(text, talk_, context_);
    if (!outcome) {
      out_.error(outcome.error());
      return true;
    }
    if (outcome->entered) {
      show_last_turn();
      if (const Result<void> offered = offer_resume(); !offered) out_.error(offered.error());
    }
    if (outcome->resume) show_result(follow(talk_.resume()));
    if (outcome->discard) take_back();
    if (outcome->say_again) {
      out_.line(out_.styled(Style::kAccent, "› ") +
                fit(preview(*outcome->say_again), screen_size().columns - 4));
      out_.line("");
      show_result(follow(talk_.say_again(*outcome->say_again)));
    }
    return !outcome->leave;
  }

  void say(const std::string& text) {
    out_.line("");
    show_result(follow(talk_.say(text)));
  }

  Result<TurnOutcome> follow(Run run) {
    const auto view = out_.colour_out ? make_rich_view(out_) : make_plain_view(out_, true);
    return follow_run(*talk_.host().engine(), talk_.key(), std::move(run), *view,
                      {.person = true, .colour = out_.colour_out, .watch = [this](const Event& event) {
                         talk_.saw(event);
                       }});
  }

  void take_back() {
    const Result<TurnOutcome> outcome = talk_.discard().result();
    if (!outcome) return out_.error(outcome.error());
    dim(outcome->messages.empty()
            ? "The message is taken back."
            : "What was done for the message stays in the history, marked as interrupted.");
  }

  void show_result(const Result<TurnOutcome>& outcome) const {
    if (outcome && outcome->finish == Finish::kLength)
      dim("The answer ends here because it has reached the longest that the model may give.");
    if (outcome) return;
    out_.error(outcome.error());
    const auto left = talk_.waiting();
    if (left && *left && !(*left)->code.empty())
      dim("/retry tries it again · /discard takes it back · or write on");
  }

  Talk& talk_;
  const Context& context_;
  const Output& out_;
  const ChatLoopOptions& options_;
  LineEditor editor_;
};

Result<void> follow_once(Talk& talk, Run run, const Context& context) {
  const bool person = !context.out.json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  const bool screen = ::isatty(STDOUT_FILENO) == 1;
  const auto view = context.out.json ? make_json_view(context.out)
                    : screen && person && context.out.colour_out
                        ? make_rich_view(context.out)
                        : make_plain_view(context.out, screen || person);
  const auto outcome = follow_run(*talk.host().engine(), talk.key(), std::move(run), *view,
                                  {.person = person, .deny = !person, .colour = context.out.colour_err});
  if (!outcome) return outcome.error();
  return {};
}

}  // namespace

Result<void> chat_loop(Talk& talk, const Context& context, const ChatLoopOptions& options) {
  return ChatLoop(talk, context, options).run();
}

Result<void> say_once(Talk& talk, const std::string& text, const Context& context) {
  return follow_once(talk, talk.say(text), context);
}

Result<void> resume_once(Talk& talk, const Context& context) {
  return follow_once(talk, talk.resume(), context);
}

Path history_file(const Config& config) {
  return config.secret("store.key") != nullptr ? Path() : config.path("data") / "chat_history";
}

}  // namespace tertulia::cli
