#include "turn_view.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/conversation/json_forms.h"

#include "live_screen.h"
#include "markdown.h"
#include "markdown_stream.h"
#include "tool_line.h"
#include "words.h"

namespace tertulia::cli {
namespace {

std::string outcome_of(const Event& event) {
  const Json data = event.data.value();
  const JsonObject* object = data.as_object();
  const Json* outcome = object != nullptr ? object->find("outcome") : nullptr;
  const std::string* name = outcome != nullptr ? outcome->as_string() : nullptr;
  return name != nullptr ? *name : "ok";
}

// What is said about a turn beside its answer; empty for what needs no words.
std::string note_of(const Event& event) {
  switch (event.kind) {
    case EventKind::kRetry:
      return "trying again: " + one_line(event.text);
    case EventKind::kReset:
      return "(what was said since is void: " + one_line(event.text) + ")";
    case EventKind::kTurnInterrupted:
      return "(stopped" + (event.text == "user" ? "" : ": " + one_line(event.text)) +
             "; what was said is kept)";
    case EventKind::kContextDegraded:
      return "(without " + one_line(event.name) + ": " + one_line(event.text) + ")";
    case EventKind::kWarning:
      return "! " + one_line(event.text);
    default:
      return "";
  }
}

// What a running call wants to know; empty for a question whether it may run.
std::string wanted_by(const Event& event) {
  const Json data = event.data.value();
  const Json* text = data.as_object() != nullptr ? data.as_object()->find("text") : nullptr;
  return text != nullptr && text->as_string() != nullptr ? *text->as_string() : "";
}

// How much of a call is shown before one asks for more.
constexpr std::size_t kLinesAsked = 12;

// What the question is about; nothing if it is not about a call.
std::vector<std::string> arguments_asked(const Event& question, std::size_t width, std::size_t most,
                                         const Output& out) {
  const Json data = question.data.value();
  const Json* arguments = data.as_object() != nullptr ? data.as_object()->find("arguments") : nullptr;
  return arguments == nullptr ? std::vector<std::string>() : argument_lines(*arguments, width, most, out);
}

class JsonView final : public TurnView {
 public:
  explicit JsonView(const Output& out) : out_(out) {}
  void show(const Event& event) override { out_.line(to_json(event)); }

 private:
  const Output& out_;
};

class PlainView final : public TurnView {
 public:
  PlainView(const Output& out, bool notes) : out_(out), notes_(notes) {}

  void show(const Event& event) override {
    if (event.kind == EventKind::kTextDelta) {
      out_.print(printable_lines(event.text));
      said_ = said_ || !event.text.empty();
      if (!event.text.empty()) line_open_ = !event.text.ends_with('\n');
      return;
    }
    if (event.kind == EventKind::kTextEnded) return close_line();
    // Whoever comes back to a turn has seen nothing of what is void.
    if (event.kind == EventKind::kReset && !std::exchange(said_, false)) return;
    if (!notes_) return;
    if (event.kind == EventKind::kToolCallArguments) arguments_[event.index] += event.text;
    if (event.kind == EventKind::kToolCallResult) {
      return note("  " + std::string(mark_of(outcome_of(event))) + " " + one_line(event.name) + "  " +
                  fit(arguments_text(arguments_[event.index]), 60) + " → " + fit(one_line(event.text), 120));
    }
    if (const std::string text = note_of(event); !text.empty()) note(text);
  }

  void ask(const Event& event, const std::string& choices) override {
    question_ = event;
    choices_ = choices;
    ask_within(kLinesAsked);
  }
  void show_all() override { ask_within(SIZE_MAX); }
  void typed(const std::string& line) override {
    const std::size_t before = std::exchange(typed_width_, display_width(line));
    std::cerr << "\r    " << line << std::string(before > typed_width_ ? before - typed_width_ : 0, ' ')
              << std::flush;
  }
  void answered(const std::string& words) override {
    if (std::exchange(typed_width_, 0) > 0) std::cerr << "\n";
    note("    " + words);
  }
  void end() override { close_line(); }

 private:
  void ask_within(std::size_t most) {
    const std::string wanted = wanted_by(question_);
    note("  ? " + (wanted.empty() ? one_line(question_.name) + " wants to run" : one_line(wanted)));
    for (const std::string& line : arguments_asked(question_, screen_size().columns - 1, most, Output{}))
      note(line);
    note("    " + choices_);
  }
  void close_line() {
    if (std::exchange(line_open_, false)) out_.line("");
  }
  void note(const std::string& text) {
    close_line();
    std::cerr << out_.styled_err(Style::kDim, text) << "\n" << std::flush;
  }

  const Output& out_;
  const bool notes_;
  bool line_open_ = false;
  bool said_ = false;
  Event question_;
  std::string choices_;
  // Of what is being typed; 0: nothing is.
  std::size_t typed_width_ = 0;
  std::map<std::uint64_t, std::string> arguments_;
};

struct RunningTool {
  std::uint64_t index = 0;
  std::string name;
  std::string arguments{};
  Time since{};
};

class RichView final : public TurnView {
 public:
  explicit RichView(const Output& out) : out_(out), screen_(out) {}

  bool moves() const override { return !asking_ && (waiting_ || !tools_.empty()); }
  void tick() override {
    ++beat_;
    draw();
  }

  void show(const Event& event) override {
    if (event.kind != EventKind::kReceipt)
      waiting_ = event.kind == EventKind::kTurnStarted || event.kind == EventKind::kIteration ||
                 event.kind == EventKind::kReasoningDelta || event.kind == EventKind::kReasoningStarted ||
                 event.kind == EventKind::kTextStarted;
    switch (event.kind) {
      case EventKind::kTextDelta:
        said_ = said_ || !event.text.empty();
        stream_.add(event.text);
        keep_closed();
        break;
      case EventKind::kTextEnded:
        end_text();
        break;
      case EventKind::kToolCallStarted:
        end_text();
        tools_.push_back({.index = event.index, .name = event.name, .since = event.time});
        break;
      case EventKind::kToolCallArguments:
        if (RunningTool* tool = running(event.index)) tool->arguments += event.text;
        break;
      case EventKind::kPermissionGiven:
        // Nothing of a batch runs before all of it is settled.
        for (RunningTool& tool : tools_) tool.since = event.time;
        break;
      case EventKind::kToolCallResult:
        end_tool(event);
        break;
      case EventKind::kReset:
        tools_.clear();
        stream_ = {};
        // Whoever comes back to a turn has seen nothing of what is void.
        if (!std::exchange(said_, false)) return draw();
        break;
      default:
        break;
    }
    if (const std::string text = note_of(event); !text.empty()) {
      end_text();
      keep({out_.styled(Style::kDim, fit(text, screen_.width()))});
    }
    draw();
  }

  void ask(const Event& event, const std::string& choices) override {
    end_text();
    asking_ = true;
    question_ = event;
    choices_ = choices;
    draw();
  }

  void show_all() override {
    if (asking_) keep(arguments_asked(question_, screen_.width(), SIZE_MAX, out_));
    draw();
  }

  void typed(const std::string& line) override {
    choices_ = line;
    draw();
  }

  void answered(const std::string& words) override {
    if (!std::exchange(asking_, false)) return;
    if (const std::string wanted = wanted_by(question_); !wanted.empty()) {
      keep({"  " + out_.styled(Style::kAccent, "?") + " " + fit(one_line(wanted), screen_.width() / 2) +
            out_.styled(Style::kDim, " · " + words)});
      return draw();
    }
    const RunningTool* tool = running(question_.index);
    const std::string arguments = arguments_text(tool != nullptr ? tool->arguments : "");
    const std::string line = "  " + out_.styled(Style::kAccent, "?") + " " +
                             out_.styled(Style::kBold, one_line(question_.name)) +
                             (arguments.empty() ? "" : "  " + fit(arguments, screen_.width() / 2));
    keep({line + out_.styled(Style::kDim, " · " + words)});
    draw();
  }

  void end() override {
    end_text();
    tools_.clear();
    waiting_ = asking_ = false;
    screen_.clear();
  }

 private:
  RunningTool* running(std::uint64_t index) {
    const auto found = std::ranges::find(tools_, index, &RunningTool::index);
    return found == tools_.end() ? nullptr : &*found;
  }

  std::vector<std::string> lines_of(const MarkdownBlock& block) {
    std::vector<std::string> lines;
    if (!first_ && !block.joined) lines.emplace_back();
    const auto drawn = block.code ? std::vector<std::string>{render_code_line(block.text)}
                                  : render_markdown(block.text, screen_.width());
    lines.insert(lines.end(), drawn.begin(), drawn.end());
    return lines;
  }

  void keep_closed() {
    for (const MarkdownBlock& block : stream_.take_closed()) {
      screen_.keep(lines_of(block));
      first_ = false;
      after_tool_ = false;
    }
  }

  void end_text() {
    stream_.finish();
    keep_closed();
  }

  // An empty line parts text from tools.
  void keep(std::vector<std::string> lines) {
    if (!first_ && !after_tool_) lines.insert(lines.begin(), "");
    screen_.keep(std::move(lines));
    first_ = false;
    after_tool_ = true;
  }

  void end_tool(const Event& event) {
    const RunningTool* tool = running(event.index);
    const std::string outcome = outcome_of(event);
    keep({tool_line(out_, screen_.width(), mark_of(outcome), outcome, event.name,
                    arguments_text(tool != nullptr ? tool->arguments : ""), event.text,
                    duration_words(tool != nullptr ? event.time - tool->since : Duration{}))});
    std::erase_if(tools_, [&](const RunningTool& each) { return each.index == event.index; });
  }

  std::string spinner() const {
    static const char* const kBeats[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return kBeats[beat_ % std::size(kBeats)];
  }

  void draw() {
    std::vector<std::string> lines;
    if (const auto open = stream_.open()) lines = lines_of(*open);
    if (lines.empty() && (!tools_.empty() || asking_) && !first_ && !after_tool_) lines.emplace_back();
    const Time now = real_env().clock().now();
    for (const RunningTool& tool : tools_) {
      if (asking_ && tool.index == question_.index) continue;
      lines.push_back(tool_line(out_, screen_.width(), asking_ ? "…" : spinner(), "", tool.name,
                                arguments_text(tool.arguments), "",
                                asking_ ? "waits" : duration_words(now - tool.since)));
    }
    if (asking_) add_question(lines);
    if (lines.empty() && waiting_) lines.push_back(out_.styled(Style::kDim, "  " + spinner()));
    screen_.show(std::move(lines));
  }

  void add_question(std::vector<std::string>& lines) {
    if (const std::string wanted = wanted_by(question_); !wanted.empty()) {
      add_folded(lines, "  " + out_.styled(Style::kAccent, "?") + " " + one_line(wanted) + " " +
                            out_.styled(Style::kDim, "(Escape: no answer)"));
      // What is typed stands at its end, spaces included.
      lines.push_back("    " + choices_);
      return;
    }
    const Json data = question_.data.value();
    const JsonObject* object = data.as_object();
    const Json* kind = object != nullptr ? object->find("class") : nullptr;
    const bool reads = kind != nullptr && kind->as_string() != nullptr && *kind->as_string() == "read_only";
    add_folded(lines, "  " + out_.styled(Style::kAccent, "?") + " May " +
                          out_.styled(Style::kBold, one_line(question_.name)) + " run? " +
                          (reads ? "It only reads." : "It may change something."));
    // All of the question must be on the screen.
    const std::size_t rows = screen_size().rows;
    const std::size_t most = std::min(kLinesAsked, rows > lines.size() + 5 ? rows - lines.size() - 5 : 1);
    for (std::string& line : arguments_asked(question_, screen_.width(), most, out_))
      lines.push_back(std::move(line));
    add_folded(lines, "    " + choices_);
  }

  void add_folded(std::vector<std::string>& lines, const std::string& text) const {
    for (std::string& line : fold_words(text, screen_.width(), 4)) lines.push_back(std::move(line));
  }

  const Output& out_;
  LiveScreen screen_;
  MarkdownStream stream_;
  std::vector<RunningTool> tools_;
  Event question_;
  std::string choices_;
  // Something of this answer was shown.
  bool said_ = false;
  bool asking_ = false;
  // The model has not said anything yet.
  bool waiting_ = true;
  // Nothing of the turn stands on the screen yet; or a line about a tool was the last.
  bool first_ = true;
  bool after_tool_ = false;
  std::size_t beat_ = 0;
};

}  // namespace

std::unique_ptr<TurnView> make_json_view(const Output& out) { return std::make_unique<JsonView>(out); }
std::unique_ptr<TurnView> make_plain_view(const Output& out, bool notes) {
  return std::make_unique<PlainView>(out, notes);
}
std::unique_ptr<TurnView> make_rich_view(const Output& out) { return std::make_unique<RichView>(out); }

}  // namespace tertulia::cli
