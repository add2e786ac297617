// A folder of sessions/<id>/session.json and sessions/<id>/branches/<id>/branch.json, each branch with all
// its messages. Programs spell the fields in several ways; letters' case and underscores do not count.
#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "foreign.h"

namespace tertulia {

namespace {

constexpr JsonLimits kLimits{.depth = 96, .values = 20'000'000};
constexpr std::uint64_t kMaxFileBytes = 256U << 20U;

std::string plain(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c != '_' && c != '$') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// The first of `names` that is there and not null.
const Json* field(const Json& json, std::initializer_list<std::string_view> names) {
  const JsonObject* object = json.as_object();
  if (object == nullptr) return nullptr;
  for (const std::string_view name : names) {
    for (const auto& [key, value] : *object) {
      if (plain(key) == name && !value.is_null()) return &value;
    }
  }
  return nullptr;
}

std::string text_field(const Json& json, std::initializer_list<std::string_view> names) {
  const Json* value = field(json, names);
  if (value == nullptr) return {};
  if (const std::string* text = value->as_string()) return *text;
  if (const JsonObject* object = value->as_object(); object != nullptr && object->size() == 1) {
    if (const std::string* inner = object->begin()->second.as_string()) return *inner;  // {"value": "user"}
  }
  return {};
}

// Text as it is, anything else as JSON text.
std::string text_of(const Json* value) {
  if (value == nullptr) return {};
  const std::string* text = value->as_string();
  return text != nullptr ? *text : to_text(*value);
}

std::string arguments_of(const Json* value) {
  const std::string text = text_of(value);
  if (text.empty()) return "{}";
  return check_json(text) ? text : to_text(JsonObject{{"input", text}});
}

ForeignPart call_of(const Json& json) {
  const Json* function = field(json, {"function"});
  const Json& from = function != nullptr && function->as_object() != nullptr ? *function : json;
  return {.kind = PartKind::kToolCall,
          .name = text_field(from, {"name", "toolname", "tool"}),
          .call_id = text_field(json, {"callid", "toolcallid", "id"}),
          .text = arguments_of(field(from, {"arguments", "input", "args"}))};
}

ForeignPart result_of(const Json& json) {
  return {.kind = PartKind::kToolResult,
          .name = text_field(json, {"name", "toolname"}),
          .call_id = text_field(json, {"callid", "toolcallid", "tooluseid"}),
          .text = text_of(field(json, {"result", "output", "content", "text"}))};
}

void add_content(const Json& item, ForeignMessage& message, std::vector<std::string>& adapted) {
  if (const std::string* text = item.as_string()) {
    message.parts.push_back({.text = *text});
    return;
  }
  const std::string type = plain(text_field(item, {"type", "kind"}));
  if (type == "functioncall" || type == "toolcall" || type == "tooluse") {
    message.parts.push_back(call_of(item));
  } else if (type == "functionresult" || type == "toolresult") {
    message.parts.push_back(result_of(item));
  } else if (type == "reasoning" || type == "thinking") {
    message.parts.push_back(
        {.kind = PartKind::kReasoning, .text = text_field(item, {"text", "thinking", "content"})});
  } else if (std::string text = text_field(item, {"text", "content"}); !text.empty()) {
    message.parts.push_back({.text = std::move(text)});
  } else if (item.as_object() != nullptr && field(item, {"text", "content"}) == nullptr) {
    adapted.push_back("message '" + message.id + "': a part of the kind '" + type +
                      "' is kept as the JSON text that it was");
    message.parts.push_back({.text = to_text(item)});
  }
}

Result<ForeignMessage> message_of(const Json& json, std::vector<std::string>& adapted) {
  if (json.as_object() == nullptr) return Error(ErrorCode::kWrongType, "a message must be an object");
  ForeignMessage message{.id = text_field(json, {"id", "messageid"})};
  std::string role = plain(text_field(json, {"role"}));
  if (role == "human") role = "user";
  if (role == "ai" || role == "model") role = "assistant";
  if (role == "function") role = "tool";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
    return Error(ErrorCode::kOutOfRange,
                 "message '" + message.id + "' has the role '" + role + "', which is not known");
  }
  TERTULIA_TRY_AS(message.role, role_named(role));
  message.author = text_field(json, {"authorname", "author", "name"});
  message.time = time_of(field(json, {"createdat", "timestamp", "time"}), {});
  if (const Json* content = field(json, {"contents", "parts", "content", "text"})) {
    if (const JsonArray* items = content->as_array()) {
      for (const Json& item : *items) add_content(item, message, adapted);
    } else {
      add_content(*content, message, adapted);
    }
  }
  if (const Json* calls = field(json, {"toolcalls"}); calls != nullptr && calls->as_array() != nullptr) {
    for (const Json& call : *calls->as_array()) message.parts.push_back(call_of(call));
  }
  const auto is_result = [](const ForeignPart& part) { return part.kind == PartKind::kToolResult; };
  if (message.role == Role::kTool && std::none_of(message.parts.begin(), message.parts.end(), is_result)) {
    message.parts = {result_of(json)};
    message.parts.front().name = text_field(json, {"name", "toolname"});
  } else if (std::any_of(message.parts.begin(), message.parts.end(), is_result)) {
    message.role = Role::kTool;
  }
  return message;
}

MiddlewareState state_of(const Json& json) {
  MiddlewareState state;
  const Json* value = field(json, {"middlewarestate", "state"});
  if (value == nullptr || value->as_object() == nullptr) return state;
  for (const auto& [name, entry] : *value->as_object()) state[name] = JsonText::of(entry);
  return state;
}

// One branch.json, before it is known what it shares with its parent.
struct BranchFile {
  ForeignBranch branch;
  std::string parent;
  std::optional<std::int64_t> at_index;
  std::vector<ForeignMessage> messages;
};

class SessionFolder {
 public:
  SessionFolder(FileSystem& files, Path folder) : files_(files), folder_(std::move(folder)) {}

  Result<ForeignSession> read() {
    TERTULIA_TRY_AS(const Json json, read_json(folder_ / "session.json"));
    session_.source = "layout";
    session_.id = text_field(json, {"id", "sessionid"});
    if (session_.id.empty()) session_.id = folder_.filename().string();
    session_.created_at = time_of(field(json, {"createdat"}), {});
    session_.last_activity = time_of(field(json, {"lastactivity", "updatedat"}), session_.created_at);
    session_.state = state_of(json);
    if (const Json* metadata = field(json, {"metadata"});
        metadata != nullptr && metadata->as_object() != nullptr) {
      session_.metadata = *metadata->as_object();
    }
    TERTULIA_TRY(read_branches());
    TERTULIA_TRY(add_branches());
    if (files_.info(folder_ / "uncommitted.json")) {
      session_.adapted.push_back("session '" + session_.id + "' has an unfinished turn, which is left out");
    }
    if (const auto assets = files_.list(folder_ / "assets"); assets && !assets->empty()) {
      session_.adapted.push_back("session '" + session_.id + "' has " + std::to_string(assets->size()) +
                                 " assets, which are left out");
    }
    return std::move(session_);
  }

 private:
  Result<Json> read_json(const Path& path) {
    TERTULIA_TRY_AS(const std::string text, read_file(files_, path, kMaxFileBytes));
    auto json = parse_json(text, kLimits);
    if (!json) return std::move(json).error().in(path.string());
    return json;
  }

  Result<void> read_branches() {
    const Path folder = folder_ / "branches";
    auto names = files_.list(folder);
    if (!names && names.error().code() == ErrorCode::kNotFound) return {};
    if (!names) return std::move(names).error();
    for (const std::string& name : *names) {
      TERTULIA_TRY_AS(const Json json, read_json(folder / name / "branch.json"));
      BranchFile file;
      file.branch.id = text_field(json, {"id", "branchid"});
      if (file.branch.id.empty()) file.branch.id = name;
      file.branch.label = text_field(json, {"label", "name"});
      file.branch.created_at = time_of(field(json, {"createdat"}), {});
      file.branch.last_activity = time_of(field(json, {"lastactivity", "updatedat"}), {});
      file.branch.state = state_of(json);
      file.parent = text_field(json, {"forkedfrom"});
      if (const Json* at = field(json, {"forkedatmessageindex"}); at != nullptr && at->as_int() != nullptr) {
        file.at_index = *at->as_int();
      }
      const Json* messages = field(json, {"messages"});
      if (messages == nullptr || messages->as_array() == nullptr) {
        return Error(ErrorCode::kMissingField, "branch '" + name + "' has no list of messages");
      }
      for (const Json& message : *messages->as_array()) {
        auto read = message_of(message, session_.adapted);
        if (!read) return std::move(read).error().in("branch '" + name + "'");
        if (!read->parts.empty()) file.messages.push_back(*std::move(read));
      }
      if (!files_by_id_.emplace(file.branch.id, std::move(file)).second) {
        return Error(ErrorCode::kDuplicateKey,
                     "there are two branches of one name in '" + folder.string() + "'");
      }
    }
    return {};
  }

  // Parents first, `main` before all others of its kind.
  Result<void> add_branches() {
    if (const auto main = files_by_id_.find("main"); main != files_by_id_.end())
      TERTULIA_TRY(add(main->second, 0));
    for (auto& [id, file] : files_by_id_) TERTULIA_TRY(add(file, 0));
    return {};
  }

  Result<std::size_t> place(const std::string& id, std::size_t depth) {
    const auto found = files_by_id_.find(id);
    if (found == files_by_id_.end()) return kNoNode;
    TERTULIA_TRY(add(found->second, depth));
    return places_.at(id);
  }

  Result<void> add(BranchFile& file, std::size_t depth) {
    if (places_.contains(file.branch.id)) return {};
    if (depth > files_by_id_.size()) {
      return Error(ErrorCode::kDamaged,
                   "branch '" + file.branch.id + "' descends from itself: the parents go round in a circle");
    }
    ForeignBranch& branch = file.branch;
    if (!file.parent.empty()) {
      TERTULIA_TRY_AS(branch.parent, place(file.parent, depth + 1));
      if (branch.parent == kNoNode) {
        session_.adapted.push_back("branch '" + branch.id + "' was forked from '" + file.parent +
                                   "', which is not there; it stands alone");
      } else {
        branch.shared = shared_with_parent(file, branch.parent);
        if (branch.shared == 0) branch.parent = kNoNode;
      }
    }
    std::vector<std::size_t> path;
    if (branch.parent != kNoNode) {
      const auto& whole = paths_[branch.parent];
      path.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(branch.shared));
    }
    for (std::size_t i = branch.shared; i < file.messages.size(); ++i) {
      branch.own.push_back(session_.messages.size());
      path.push_back(session_.messages.size());
      session_.messages.push_back(std::move(file.messages[i]));
    }
    places_.emplace(branch.id, session_.branches.size());
    paths_.push_back(std::move(path));
    session_.branches.push_back(branch);
    return {};
  }

  // How many messages at the start are the parent's, up to where the branch says that it left.
  std::size_t shared_with_parent(const BranchFile& file, std::size_t parent) {
    const auto& whole = paths_[parent];
    std::size_t most = std::min(whole.size(), file.messages.size());
    if (file.at_index)
      most = std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(0, *file.at_index + 1)));
    std::size_t shared = 0;
    while (shared < most && session_.messages[whole[shared]] == file.messages[shared]) ++shared;
    if (file.at_index && static_cast<std::int64_t>(shared) != *file.at_index + 1) {
      session_.adapted.push_back("branch '" + file.branch.id + "' says that it left '" + file.parent +
                                 "' after message " + std::to_string(*file.at_index) + ", but shares " +
                                 std::to_string(shared) + " messages with it");
    }
    return shared;
  }

  FileSystem& files_;
  const Path folder_;
  ForeignSession session_;
  std::map<std::string, BranchFile> files_by_id_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::size_t>> paths_;
};

}  // namespace

Result<void> read_layout(FileSystem& files, const Path& path, const ForeignVisit& visit) {
  const bool listed = files.info(path / "sessions").ok();
  const Path folder = listed ? path / "sessions" : path;
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(folder));
  for (const std::string& name : names) {
    if (!files.info(folder / name / "session.json")) {
      // Beside sessions there may be anything; among them there is nothing else.
      const Result<FileInfo> there = files.info(folder / name);
      if (!listed || !there || !there->is_directory) continue;
      if (!visit(name,
                 Error(ErrorCode::kForeignData,
                       "session '" + name + "' has no session.json; put it back, or take the folder out")))
        return {};
      continue;
    }
    if (!visit(name, SessionFolder(files, folder / name).read())) return {};
  }
  return {};
}

}  // namespace tertulia
