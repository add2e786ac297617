// tertulia messages: what was said.
#include <algorithm>
#include <memory>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/conversation/json_forms.h"

#include "commands.h"
#include "history.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct MessagesOptions {
  std::string session;
  std::string branch;
  std::uint64_t last = 20;
  std::string from;
  std::string message;
  bool full = false;
};

std::string json_of(const PlacedMessage& placed) {
  std::string text = "{\"index\":" + std::to_string(placed.index) +
                     ",\"revision\":" + std::to_string(number(placed.revision)) + ",\"message\":";
  append_json(text, placed.message);
  return text + "}";
}

Style style_of(Role role) {
  switch (role) {
    case Role::kUser:
      return Style::kAccent;
    case Role::kAssistant:
      return Style::kGood;
    case Role::kSystem:
    case Role::kContext:
    case Role::kTool:
      return Style::kDim;
  }
  return Style::kPlain;
}

// Several lines as they are, everything else made harmless.
std::string harmless(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

void show_line(const Output& out, const PlacedMessage& placed, std::size_t width) {
  const std::string index = std::to_string(placed.index);
  const std::string role(name_of(placed.message.role()));
  const std::string head = std::string(index.size() < 5 ? 5 - index.size() : 0, ' ') + index + "  ";
  const std::string column = role + std::string(role.size() < 10 ? 10 - role.size() : 1, ' ');
  const std::string marks = placed.message.interrupted() ? " (interrupted)" : "";
  const std::size_t used = head.size() + column.size() + marks.size();
  out.line(out.styled(Style::kDim, head) + out.styled(style_of(placed.message.role()), column) +
           fit(preview(placed.message), std::max<std::size_t>(20, width - std::min(width, used))) + marks);
}

void show_full(const Output& out, const PlacedMessage& placed) {
  const Message& message = placed.message;
  std::string head = std::to_string(placed.index) + " · " + std::string(name_of(message.role()));
  if (!message.author().empty()) head += " · " + one_line(message.author());
  if (message.time() != Time{}) head += " · " + iso_time(message.time());
  head += " · " + message.id().text();
  if (!message.source_id().empty())
    head += " · " + one_line(message.source()) + " " + one_line(message.source_id());
  if (number(message.tokens()) > 0) head += " · " + counted(number(message.tokens()), "token");
  if (message.interrupted()) head += " · interrupted";
  out.line(out.styled(style_of(message.role()), head));
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    if (part.kind == PartKind::kToolCall) out.print("→ " + one_line(part.name) + " " + harmless(part.text));
    if (part.kind == PartKind::kToolResult)
      out.print("← " + one_line(part.name) + "\n" + harmless(part.text));
    if (part.kind == PartKind::kText) out.print(harmless(part.text));
    if (part.kind == PartKind::kReasoning) out.print(out.styled(Style::kDim, harmless(part.text)));
    if (part.kind == PartKind::kImage || part.kind == PartKind::kFile) {
      out.line("[" + one_line(part.name) + " " + one_line(part.text) + one_line(part.call_id) + "]");
    }
  }
}

Result<void> list_messages(const MessagesOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  TERTULIA_TRY_AS(const BranchHead* branch, choose_branch(state, options.branch));
  const std::uint64_t count = branch->message_count;
  std::uint64_t begin = count - std::min(count, options.last);
  std::uint64_t end = count;
  if (!options.from.empty()) {
    TERTULIA_TRY_AS(begin, message_index(*open, key, *branch, options.from));
    end = std::min(count, begin + options.last);
  }
  const std::size_t width = output_width();
  constexpr std::uint64_t kPage = 512;
  if (!context.out.json && count == 0) context.out.line("No messages yet.");
  for (std::uint64_t at = begin; at < end; at += kPage) {
    TERTULIA_TRY_AS(const auto page, read_messages(*open, key, *branch, at, std::min(end, at + kPage)));
    for (const PlacedMessage& placed : page) {
      if (context.out.json) {
        context.out.line(json_of(placed));
      } else if (options.full) {
        show_full(context.out, placed);
        context.out.line("");
      } else {
        show_line(context.out, placed, width);
      }
    }
  }
  // Whether that was the end: what is damaged there is not counted.
  if (end == count) TERTULIA_TRY(read_turns(*open, key, {.branch = branch->id, .begin = count}));
  return {};
}

Result<void> show_message(const MessagesOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  TERTULIA_TRY_AS(const BranchHead* branch, choose_branch(state, options.branch));
  TERTULIA_TRY_AS(const std::uint64_t index, message_index(*open, key, *branch, options.message));
  TERTULIA_TRY_AS(const auto found, read_messages(*open, key, *branch, index, index + 1));
  for (const PlacedMessage& placed : found) {
    if (context.out.json) {
      context.out.line(json_of(placed));
    } else {
      show_full(context.out, placed);
    }
  }
  return {};
}

}  // namespace

void add_messages(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("messages", "Show the messages of a branch");
  command->require_subcommand(1);
  auto options = std::make_shared<MessagesOptions>();
  CLI::App* listing = command->add_subcommand("list", "List the last messages, a line each");
  listing->add_option("session", options->session, "The session")->required();
  listing->add_option("--branch", options->branch, "The branch; needed if there are several");
  listing->add_option("--last", options->last, "How many")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  listing->add_option("--from", options->from,
                      "Begin with this message (its number or id) instead of the last ones");
  listing->add_flag("--full", options->full, "Whole messages instead of lines");
  listing->callback([options, &context] { context.run([&] { return list_messages(*options, context); }); });
  CLI::App* showing = command->add_subcommand("show", "Show a whole message");
  showing->add_option("session", options->session, "The session")->required();
  showing->add_option("message", options->message, "Its number (-1 is the last one) or its id")->required();
  showing->add_option("--branch", options->branch, "The branch; needed if there are several");
  showing->callback([options, &context] { context.run([&] { return show_message(*options, context); }); });
}

}  // namespace tertulia::cli
