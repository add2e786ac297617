// OpenAssistant: {"message_tree_id", "prompt": {"message_id", "text", "role", "replies": […]}} on each line.
#include <utility>

#include "archive_lines.h"
#include "foreign.h"

namespace tertulia {

namespace {

// A reply and its replies nest two levels of JSON each.
constexpr JsonLimits kOasstLimits{.depth = 255, .values = 5'000'000};

Result<ForeignMessage> message_of(JsonReader& in) {
  ForeignMessage message;
  message.id = in.required_string("message_id");
  const std::string role = in.required_string("role");
  message.parts.push_back({.text = in.required_string("text")});
  message.author = in.string_or("model_name", "");
  message.time = time_of(in.optional("created_date"), {});
  TERTULIA_TRY(in.finish());
  if (role == "prompter") {
    message.role = Role::kUser;
  } else if (role == "assistant") {
    message.role = Role::kAssistant;
  } else {
    return Error(ErrorCode::kOutOfRange, "message '" + message.id + "' has the role '" + role +
                                             "'; it must be prompter or assistant");
  }
  return message;
}

Result<std::vector<ForeignNode>> nodes_of(const Json& prompt) {
  std::vector<ForeignNode> nodes;
  std::vector<std::pair<const Json*, std::size_t>> stack{{&prompt, kNoNode}};
  while (!stack.empty()) {
    const auto [json, parent] = stack.back();
    stack.pop_back();
    JsonReader in(*json, "message");
    TERTULIA_TRY_AS(ForeignMessage message, message_of(in));
    const JsonArray& replies = in.array_or_empty("replies");
    const std::string parent_id = in.string_or("parent_id", "");
    TERTULIA_TRY(in.finish());
    if (parent != kNoNode && !parent_id.empty() && parent_id != nodes[parent].message.id) {
      return Error(ErrorCode::kDamaged,
                   "message '" + message.id + "' names a parent that it does not stand under");
    }
    for (auto reply = replies.rbegin(); reply != replies.rend(); ++reply)
      stack.emplace_back(&*reply, nodes.size());
    nodes.push_back({.message = std::move(message), .parent = parent});
  }
  return nodes;
}

Result<ForeignSession> session_of_tree(std::string_view line) {
  TERTULIA_TRY_AS(const Json json, parse_json(line, kOasstLimits));
  JsonReader in(json, "tree");
  ForeignSession session;
  session.id = in.required_string("message_tree_id");
  session.source = "oasst";
  const std::string state = in.string_or("tree_state", "");
  const Json* prompt = in.required("prompt");
  TERTULIA_TRY(in.finish());
  session.metadata.set("source", "oasst");
  if (!state.empty()) session.metadata.set("tree_state", state);
  TERTULIA_TRY_AS(std::vector<ForeignNode> nodes, nodes_of(*prompt));
  session.created_at = session.last_activity = nodes.front().message.time;
  lay_out_tree(session, std::move(nodes), kNoNode);
  return session;
}

}  // namespace

Result<void> read_oasst(FileSystem& files, const Path& path, const ForeignVisit& visit) {
  TERTULIA_TRY_AS(const auto file, files.open(path, OpenMode::kRead));
  ArchiveLineReader lines(*file);
  std::string line;
  for (;;) {
    TERTULIA_TRY_AS(const bool more, lines.next(line));
    if (!more) return {};
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!visit("line " + std::to_string(lines.number()), session_of_tree(line))) return {};
  }
}

}  // namespace tertulia
