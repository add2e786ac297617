// ChatGPT: an array of conversations, each {"title", "mapping": {id: {"message", "parent", "children"}}, …}.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "foreign.h"
#include "json_array_reader.h"

namespace tertulia {

namespace {

constexpr JsonLimits kChatgptLimits{.depth = 96, .values = 20'000'000};

const Json* member(const Json* json, std::string_view key) {
  const JsonObject* object = json != nullptr ? json->as_object() : nullptr;
  const Json* value = object != nullptr ? object->find(key) : nullptr;
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string text_member(const Json* json, std::string_view key) {
  const Json* value = member(json, key);
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

bool true_member(const Json* json, std::string_view key) {
  const Json* value = member(json, key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

// The parts of a content, and what had to be kept in another form.
class ContentReader {
 public:
  explicit ContentReader(std::vector<std::string>& adapted) : adapted_(adapted) {}

  std::vector<ForeignPart> read(const Json* content) {
    if (const Json* parts = member(content, "parts"); parts != nullptr && parts->as_array() != nullptr) {
      for (const Json& part : *parts->as_array()) add_part(part);
    } else if (const Json* thoughts = member(content, "thoughts");
               thoughts != nullptr && thoughts->as_array()) {
      for (const Json& thought : *thoughts->as_array())
        add(PartKind::kReasoning, text_member(&thought, "content"));
    } else {
      for (const std::string_view key : {"text", "result", "content", "user_profile", "user_instructions"}) {
        add(PartKind::kText, text_member(content, key));
      }
      if (parts_.empty()) keep_as_json(content);
    }
    return std::move(parts_);
  }

 private:
  void add(PartKind kind, std::string text) {
    if (!text.empty()) parts_.push_back({.kind = kind, .text = std::move(text)});
  }

  void add_part(const Json& part) {
    if (const std::string* text = part.as_string()) {
      add(PartKind::kText, *text);
      return;
    }
    const std::string type = text_member(&part, "content_type");
    if (type == "image_asset_pointer") {
      parts_.push_back(
          {.kind = PartKind::kImage, .name = "image/*", .text = text_member(&part, "asset_pointer")});
    } else if (type.ends_with("_asset_pointer")) {
      parts_.push_back({.kind = PartKind::kFile,
                        .name = "application/octet-stream",
                        .text = text_member(&part, "asset_pointer")});
    } else if (std::string text = text_member(&part, "text"); !text.empty()) {
      add(PartKind::kText, std::move(text));
    } else {
      keep_as_json(&part);
    }
  }

  void keep_as_json(const Json* content) {
    if (content == nullptr || content->as_object() == nullptr) return;
    const std::string type = text_member(content, "content_type");
    const bool plain = std::all_of(
        content->as_object()->begin(), content->as_object()->end(),
        [](const auto& entry) { return entry.second.as_string() != nullptr || entry.second.is_null(); });
    if (plain) return;  // a kind of message with empty text
    adapted_.push_back("content of the kind '" + type + "' is kept as the JSON text that it was");
    add(PartKind::kText, to_text(*content));
  }

  std::vector<std::string>& adapted_;
  std::vector<ForeignPart> parts_;
};

std::string joined_text(const std::vector<ForeignPart>& parts) {
  std::string text;
  for (const ForeignPart& part : parts) text += (text.empty() ? "" : "\n") + part.text;
  return text;
}

// What is sent to a tool is a call of it; what a tool says is a result.
void set_tool_parts(ForeignMessage& message, const Json* json) {
  const std::string recipient = text_member(json, "recipient");
  if (message.role == Role::kTool) {
    ForeignPart result{
        .kind = PartKind::kToolResult, .name = message.author, .text = joined_text(message.parts)};
    std::erase_if(message.parts, [](const ForeignPart& part) {
      return part.kind == PartKind::kText || part.kind == PartKind::kReasoning;
    });
    message.parts.insert(message.parts.begin(), std::move(result));
  } else if (message.role == Role::kAssistant && !recipient.empty() && recipient != "all") {
    const std::string text = joined_text(message.parts);
    const std::string arguments =
        text.starts_with('{') && check_json(text) ? text : to_text(JsonObject{{"input", text}});
    message.parts = {
        {.kind = PartKind::kToolCall, .name = recipient, .call_id = message.id, .text = arguments}};
  }
}

Result<std::optional<ForeignMessage>> message_of(const std::string& id, const Json* json, Time other,
                                                 std::vector<std::string>& adapted) {
  if (json == nullptr) return std::optional<ForeignMessage>();
  ForeignMessage message{.id = text_member(json, "id").empty() ? id : text_member(json, "id")};
  const Json* author = member(json, "author");
  const std::string role = text_member(author, "role");
  if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
    return Error(ErrorCode::kOutOfRange,
                 "message '" + id + "' has the role '" + role + "', which is not known");
  }
  TERTULIA_TRY_AS(message.role, role_named(role));
  const Json* metadata = member(json, "metadata");
  message.author = text_member(author, "name");
  if (message.role == Role::kAssistant && message.author.empty())
    message.author = text_member(metadata, "model_slug");
  message.time = time_of(member(json, "create_time"), other);
  message.interrupted =
      text_member(json, "status") == "in_progress" || true_member(metadata, "is_interrupted");
  message.internal = true_member(metadata, "is_visually_hidden_from_conversation");
  message.parts = ContentReader(adapted).read(member(json, "content"));
  // Kept for the sake of the pairing, even if the tool said nothing.
  if (message.parts.empty() && message.role != Role::kTool) return std::optional<ForeignMessage>();
  set_tool_parts(message, json);
  return std::optional(std::move(message));
}

// The nodes of a mapping, parents first; those without a message are passed over.
class Mapping {
 public:
  Mapping(const JsonObject& mapping, Time time, std::vector<std::string>& adapted)
      : mapping_(mapping), time_(time), adapted_(adapted) {}

  Result<std::vector<ForeignNode>> read() {
    for (const auto& [id, node] : mapping_) ids_.emplace(id, &node);
    for (const auto& [id, node] : mapping_) {
      const std::string parent = text_member(&node, "parent");
      if (!parent.empty() && ids_.contains(parent)) {
        children_[parent].push_back(id);
      } else {
        if (!parent.empty())
          adapted_.push_back("message '" + id + "' names a parent that is not there; it begins a path");
        stack_.emplace_back(id, kNoNode);
      }
    }
    for (auto& [id, children] : children_) order(id, children);
    std::reverse(stack_.begin(), stack_.end());
    std::size_t seen = 0;
    for (; !stack_.empty(); ++seen) {
      const auto [id, parent] = stack_.back();
      stack_.pop_back();
      TERTULIA_TRY(visit(id, parent));
    }
    if (seen != mapping_.size()) {
      return Error(ErrorCode::kDamaged,
                   std::to_string(mapping_.size() - seen) +
                       " messages are their own ancestors: the parents go round in a circle");
    }
    return std::move(nodes_);
  }

  // The kept node at or above `id`.
  std::size_t place_of(const std::string& id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? kNoNode : found->second;
  }

 private:
  // As the parent lists them; those it does not list behind.
  void order(const std::string& parent, std::vector<std::string>& children) {
    const Json* listed = member(ids_.at(parent), "children");
    if (listed == nullptr || listed->as_array() == nullptr) return;
    std::unordered_map<std::string, std::size_t> rank;
    for (const Json& child : *listed->as_array()) {
      if (const std::string* id = child.as_string()) rank.emplace(*id, rank.size());
    }
    const auto rank_of = [&](const std::string& id) {
      const auto found = rank.find(id);
      return found == rank.end() ? rank.size() : found->second;
    };
    std::vector<std::pair<std::size_t, std::size_t>> places;  // by rank, then as they came
    for (const std::string& id : children) places.emplace_back(rank_of(id), places.size());
    std::sort(places.begin(), places.end());
    std::vector<std::string> ordered;
    for (const auto& place : places) ordered.push_back(std::move(children[place.second]));
    children = std::move(ordered);
  }

  Result<void> visit(const std::string& id, std::size_t parent) {
    TERTULIA_TRY_AS(auto message, message_of(id, member(ids_.at(id), "message"), time_, adapted_));
    std::size_t place = parent;
    if (message) {
      place = nodes_.size();
      nodes_.push_back({.message = *std::move(message), .parent = parent});
    }
    places_.emplace(id, place);
    if (const auto found = children_.find(id); found != children_.end()) {
      for (auto child = found->second.rbegin(); child != found->second.rend(); ++child)
        stack_.emplace_back(*child, place);
    }
    return {};
  }

  const JsonObject& mapping_;
  const Time time_;
  std::vector<std::string>& adapted_;
  std::unordered_map<std::string_view, const Json*> ids_;
  std::unordered_map<std::string, std::vector<std::string>> children_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::pair<std::string, std::size_t>> stack_;
  std::vector<ForeignNode> nodes_;
};

Result<ForeignSession> session_of(std::string_view text) {
  TERTULIA_TRY_AS(const Json json, parse_json(text, kChatgptLimits));
  JsonReader in(json, "conversation");
  in.required("mapping");
  const JsonObject& mapping = in.object_or_empty("mapping");
  TERTULIA_TRY(in.finish());
  ForeignSession session;
  session.source = "chatgpt";
  session.id = text_member(&json, "conversation_id").empty() ? text_member(&json, "id")
                                                             : text_member(&json, "conversation_id");
  if (session.id.empty()) {
    return Error(ErrorCode::kMissingField, "conversation: neither 'id' nor 'conversation_id' is there");
  }
  session.created_at = time_of(in.optional("create_time"), {});
  session.last_activity = time_of(in.optional("update_time"), session.created_at);
  session.metadata.set("source", "chatgpt");
  if (const std::string title = text_member(&json, "title"); !title.empty())
    session.metadata.set("title", title);
  Mapping reader(mapping, session.created_at, session.adapted);
  TERTULIA_TRY_AS(std::vector<ForeignNode> nodes, reader.read());
  lay_out_tree(session, std::move(nodes), reader.place_of(text_member(&json, "current_node")));
  return session;
}

}  // namespace

Result<void> read_chatgpt(FileSystem& files, const Path& path, const ForeignVisit& visit) {
  TERTULIA_TRY_AS(const auto file, files.open(path, OpenMode::kRead));
  JsonArrayReader array(*file);
  std::string element;
  for (std::size_t number = 1;; ++number) {
    TERTULIA_TRY_AS(const bool more, array.next(element));
    if (!more) return {};
    if (!visit("conversation " + std::to_string(number), session_of(element))) return {};
  }
}

}  // namespace tertulia
