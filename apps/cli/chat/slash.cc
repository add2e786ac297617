#include "slash.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/outside_name.h"

#include "branch_tree.h"
#include "context_bar.h"
#include "history.h"
#include "live_screen.h"
#include "plan_lines.h"
#include "words.h"

namespace tertulia::cli {
namespace {

using Words = std::vector<std::string>;
using Outcome = Result<SlashOutcome>;

struct Slash {
  std::string_view name;
  std::string_view usage;
  std::string_view doc;
  Outcome (*run)(const Words& words, Talk& talk, const Context& context);
};

std::span<const Slash> slashes();

Outcome refuse(std::string sentence) { return Error(ErrorCode::kOutOfRange, std::move(sentence)); }

void say_branch(const Talk& talk, const Context& context) {
  context.out.line(context.out.styled(Style::kDim, "now in branch ") +
                   context.out.styled(Style::kBold, talk.branch()));
}

Outcome fork(const Words& words, Talk& talk, const Context& context) {
  std::optional<std::uint64_t> at;
  if (words.size() > 2) {
    TERTULIA_TRY_AS(const auto head, talk.head());
    if (!head) return refuse("nothing has been said yet");
    TERTULIA_TRY_AS(at, message_index(talk.host().store(), talk.key(), *head, words[2]));
  }
  TERTULIA_TRY(talk.fork(words.size() > 1 ? words[1] : "", at));
  say_branch(talk, context);
  return SlashOutcome{};
}

Outcome branches(const Words&, Talk& talk, const Context& context) {
  TERTULIA_TRY_AS(const auto state, talk.state());
  if (!state) return refuse("nothing has been said yet");
  std::map<BranchId, std::string> previews;
  for (const BranchHead& head : state->branches) {
    if (head.message_count == 0) continue;
    const auto last =
        read_messages(talk.host().store(), talk.key(), head, head.message_count - 1, head.message_count);
    if (last && !last->empty()) previews[head.id] = fit(preview(last->back().message), 40);
  }
  const Time now = real_env().clock().now();
  for (const std::string& line :
       draw_tree(state->branches, previews, now, screen_size().columns - 1, context.out, talk.branch())) {
    context.out.line(line);
  }
  return SlashOutcome{};
}

Outcome switch_branch(const Words& words, Talk& talk, const Context& context) {
  if (words.size() != 2) return refuse("say which branch: /switch NAME");
  TERTULIA_TRY(talk.switch_to(words[1]));
  say_branch(talk, context);
  return SlashOutcome{};
}

Outcome undo(const Words&, Talk& talk, const Context& context) {
  const std::string left = talk.branch();
  TERTULIA_TRY_AS(const Message said, talk.step_back("undo"));
  context.out.line(context.out.styled(Style::kDim, "back before “") + fit(preview(said), 40) +
                   context.out.styled(Style::kDim, "”; it is still there: /switch " + left));
  say_branch(talk, context);
  return SlashOutcome{};
}

Outcome retry(const Words&, Talk& talk, const Context& context) {
  TERTULIA_TRY_AS(const auto waiting, talk.waiting());
  if (waiting) return SlashOutcome{.resume = true};
  TERTULIA_TRY_AS(Message said, talk.step_back("retry"));
  say_branch(talk, context);
  return SlashOutcome{.say_again = std::move(said)};
}

Outcome discard(const Words&, Talk& talk, const Context&) {
  TERTULIA_TRY_AS(const auto waiting, talk.waiting());
  if (!waiting) return refuse("every message here has its answer; /undo goes back before the last one");
  return SlashOutcome{.discard = true};
}

Outcome tools(const Words&, Talk& talk, const Context& context) {
  std::vector<std::vector<std::string>> rows;
  const AgentDefinition& agent = talk.agent();
  TERTULIA_TRY_AS(const auto state, talk.state());
  std::vector<PermissionRule> rules;
  if (state) {
    TERTULIA_TRY_AS(rules, session_rules(state->session.state));
  }
  const ToolSetPtr all = agent.tools->snapshot();
  std::size_t widest = 4;
  for (const ToolEntry& entry : all->entries()) widest = std::max(widest, entry.name().size());
  const std::size_t used = widest + 2 + 12 + 12;  // the columns beside, and what parts them
  const std::size_t width = screen_size().columns;
  for (const ToolEntry& entry : all->entries()) {
    const Permission permission = agent.permissions ? permission_for(*agent.permissions, rules, entry.name(),
                                                                     entry.tool->tool_class(), "")
                                                    : Permission::kAllow;
    rows.push_back(
        {entry.name(), std::string(name_of(entry.tool->tool_class())), std::string(name_of(permission)),
         fit(one_line(entry.tool->definition().description), width > used + 20 ? width - used : 20)});
  }
  if (rows.empty()) {
    context.out.line("This agent has no tools.");
  } else {
    context.out.table({"tool", "class", "permission", "what it does"}, rows);
  }
  return SlashOutcome{};
}

Outcome show_context(const Words&, Talk& talk, const Context& context) {
  TERTULIA_TRY_AS(const auto receipt, talk.receipt());
  if (!receipt) return refuse("no model call was made in this branch yet");
  for (const std::string& line : draw_context(*receipt, screen_size().columns - 1, context.out)) {
    context.out.line(line);
  }
  return SlashOutcome{};
}

// Plans are kept by the agent, in the state of the branch.
Outcome plan(const Words&, Talk& talk, const Context& context) {
  TERTULIA_TRY_AS(const auto head, talk.head());
  const auto found = head ? head->state.find("plan") : decltype(head->state.find("plan")){};
  if (!head || found == head->state.end()) {
    context.out.line("There is no plan in this branch.");
    return SlashOutcome{};
  }
  for (const std::string& line : plan_lines(found->second.value(), screen_size().columns - 1, context.out)) {
    context.out.line(line);
  }
  return SlashOutcome{};
}

Outcome close_session(const Words&, Talk& talk, const Context& context) {
  TERTULIA_TRY(talk.close());
  context.out.line("The session " + talk.key().session.text() + " is closed.");
  return SlashOutcome{.leave = true};
}

Outcome sessions(const Words& words, Talk& talk, const Context& context) {
  TERTULIA_TRY_AS(const std::vector<SessionLine> lines,
                  latest_sessions(talk.host().store(), talk.key(), 20, screen_size().columns - 6));
  if (words.size() < 2) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      context.out.line(std::string(number.size() < 2 ? 2 : 1, ' ') +
                       context.out.styled(Style::kAccent, number) + "  " + lines[i].text);
    }
    context.out.line(context.out.styled(
        Style::kDim, "/sessions NUMBER goes there; /sessions NAME too, also to a new one"));
    return SlashOutcome{};
  }
  std::size_t number = 0;
  const std::string& word = words[1];
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool counted_one =
      problem == std::errc() && end == word.data() + word.size() && number >= 1 && number <= lines.size();
  SessionKey key = talk.key();
  if (counted_one) {
    key = lines[number - 1].key;
  } else {
    TERTULIA_TRY_AS(key.session, from_outside<SessionId>(word));
  }
  TERTULIA_TRY(talk.enter(key));
  return SlashOutcome{.entered = true};
}

Outcome attach(const Words& words, Talk& talk, const Context& context) {
  if (words.size() < 2) return refuse("say which file: /attach FILE");
  std::string file = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) file += " " + words[i];
  // As a shell or a file manager would write it.
  if (file.size() > 1 && (file.front() == '\'' || file.front() == '"') && file.back() == file.front())
    file = file.substr(1, file.size() - 2);
  if (const char* home = std::getenv("HOME"); home != nullptr && file.starts_with("~/"))
    file = home + file.substr(1);
  TERTULIA_TRY(talk.attach(file));
  context.out.line(context.out.styled(Style::kDim, "goes with your next message: ") + talk.attached().back());
  return SlashOutcome{};
}

Outcome help(const Words&, Talk&, const Context& context) {
  for (const Slash& slash : slashes()) {
    const std::string usage(slash.usage);
    context.out.line("  " + context.out.styled(Style::kAccent, usage) +
                     std::string(24 - std::min<std::size_t>(23, usage.size()), ' ') + std::string(slash.doc));
  }
  context.out.line("");
  context.out.line(
      context.out.styled(Style::kDim, "  Alt-Enter, or \\ at the end of a line, begins another line"));
  context.out.line(context.out.styled(
      Style::kDim, "  Ctrl-C stops the answer · Ctrl-D leaves · ↑ and Ctrl-R: what you said"));
  return SlashOutcome{};
}

Outcome quit(const Words&, Talk&, const Context&) { return SlashOutcome{.leave = true}; }

constexpr Slash kSlashes[] = {
    {"attach", "/attach FILE", "a text or a picture goes with your next message", attach},
    {"branches", "/branches", "the branches of this session, drawn", branches},
    {"close", "/close", "ends the session, and the chat", close_session},
    {"context", "/context", "what the model was shown last, in tokens", show_context},
    {"discard", "/discard", "takes back a message that has no answer", discard},
    {"fork", "/fork [NAME [MESSAGE]]", "a branch from here, or from behind a message", fork},
    {"help", "/help", "this", help},
    {"plan", "/plan", "the agent's plan", plan},
    {"quit", "/quit", "leaves; everything is kept", quit},
    {"retry", "/retry", "asks again in a branch, or what has no answer", retry},
    {"sessions", "/sessions [NUMBER|NAME]", "the latest sessions, or goes to one", sessions},
    {"switch", "/switch BRANCH", "goes on in another branch", switch_branch},
    {"tools", "/tools", "what the agent may use", tools},
    {"undo", "/undo", "goes on as if the last turn had not been", undo},
};

std::span<const Slash> slashes() { return kSlashes; }

Words split(const std::string& line) {
  Words words;
  std::size_t begin = line.find_first_not_of(" \t\n");
  while (begin != std::string::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\n", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(" \t\n", end);
  }
  return words;
}

}  // namespace

Result<SlashOutcome> run_slash(const std::string& line, Talk& talk, const Context& context) {
  const Words words = split(line);
  const std::string name = words.front().substr(1);
  for (const Slash& slash : kSlashes) {
    if (slash.name == name) return slash.run(words, talk, context);
  }
  std::vector<std::string> known;
  for (const Slash& slash : kSlashes) known.emplace_back(slash.name);
  return refuse("there is no command '/" + one_line(name) + "'" + did_you_mean(name, known) +
                "; see /help. With a space in front it is said as it is");
}

std::vector<std::string> slash_completions(const std::string& line, const Talk& talk) {
  std::vector<std::string> all;
  if (!line.starts_with('/')) return all;
  for (const Slash& slash : kSlashes) all.push_back("/" + std::string(slash.name));
  if (line.starts_with("/switch ")) {
    all.clear();
    if (const auto state = talk.state(); state && *state) {
      for (const BranchHead& head : (*state)->branches) all.push_back("/switch " + head.id.text());
    }
  }
  std::erase_if(all, [&](const std::string& each) { return !each.starts_with(line); });
  return all;
}

Result<std::vector<SessionLine>> latest_sessions(Store& store, const SessionKey& owner_of, std::size_t most,
                                                 std::size_t width) {
  TERTULIA_TRY_AS(const SessionPage page,
                  list(store, {.tenant = owner_of.tenant, .owner = owner_of.owner, .limit = most}));
  std::vector<SessionLine> lines;
  const Time now = real_env().clock().now();
  for (const SessionSummary& summary : page.sessions) {
    std::string said;
    std::uint64_t messages = 0;
    if (const auto state = load(store, summary.key); state && !state->branches.empty()) {
      const auto head = std::ranges::max_element(state->branches, {}, &BranchHead::last_activity);
      messages = head->message_count;
      const auto first = read_messages(store, summary.key, *head, 0, std::min<std::uint64_t>(1, messages));
      if (first && !first->empty()) said = " · “" + preview(first->front().message) + "”";
    }
    std::string line = summary.key.session.text() + " · " + ago(summary.last_activity, now) + " · " +
                       counted(messages, "message");
    if (summary.status == SessionStatus::kClosed) line += " · closed";
    line += said;
    lines.push_back({summary.key, fit(line, width)});
  }
  return lines;
}

}  // namespace tertulia::cli
