// A conversation about a canary, with everything that a program makes from one, and a look into every byte
// that a store keeps.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/overlay.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/episode_store.h"
#include "tertulia/store/store.h"

namespace tertulia::trial {

inline constexpr std::string_view kCanary = "quetzalcanary";

// Of a store: what is told, in the session "s" of ada.
class EraseWorld {
 public:
  EraseWorld(std::shared_ptr<Store> store, Env& env)
      : store_(std::move(store)), env_(env), ids_(env.clock(), env.random()) {
    restart();
  }

  // As after a new start of the program.
  void restart() {
    semantic_ = std::make_shared<SemanticMemory>(*store_, env_, static_embedder());
    memory_ = std::make_unique<Memory>(store_, env_);
    memory_->add_source(knowledge_source(semantic_, store_));
  }

  Store& store() { return *store_; }
  Memory& memory() { return *memory_; }
  SemanticMemory& semantic() { return *semantic_; }

  static SessionKey key(const std::string& session = "s") {
    return {TenantId::parse("t").value(), OwnerId::parse("ada").value(), SessionId::parse(session).value()};
  }
  static BranchId side() { return BranchId::parse("side").value(); }
  static CollectionId known() { return user_collection(key().tenant, key().owner).value(); }

  // The message of the user that names the canary, and the result of a tool that does.
  MessageId said{};
  MessageId looked{};

  void tell() {
    create(key());
    create(key("other"));
    append(key(), main_branch(), talk("Good morning, the garden is in bloom.", "Good morning."));
    append(key(), main_branch(), canary_turn());
    append(key(), main_branch(), talk("The roses need water today.", "I will remind you."));
    fork();
    append(key(), side(), talk("And the tulips need shade.", "Noted."));
    remember();
    show_in_prompts();
    add_records();
    overlay();
    memory_->close(key(), EndReason::kUserClosed).value();
    // A prompt of another conversation showed the episode, with a quote.
    const Episode episode = list_episodes(*store_, key()).value().front();
    part(key("other"), episode.id.text(), "> user: " + words());
  }

  std::vector<Message> messages(const BranchId& branch = main_branch()) {
    return get_session_messages(*store_, key(), branch).value();
  }

  static std::string words() { return "My " + std::string(kCanary) + " sleeps in the blue cupboard."; }

  // Everything that can be read of a session, as text.
  std::string all_text(const SessionKey& where) {
    std::string text;
    const Result<SessionState> state = load(*store_, where);
    if (!state) return text;
    text += to_json(state->session);
    for (const BranchHead& head : state->branches) {
      for (const auto& [name, value] : head.state) text += name + value.text();
      text += head.label + head.description;
      for (const StoredTurn& stored : read_turns(*store_, where, {.branch = head.id}).value()) {
        for (const Message& message : stored.turn.messages()) text += message.block();
      }
    }
    for (int kind = 0; kind <= static_cast<int>(RecordKind::kMemory); ++kind) {
      for (const StoredRecord& stored : records(where, static_cast<RecordKind>(kind))) {
        text += stored.record.key + stored.record.name + stored.record.payload;
      }
    }
    return text;
  }
  std::string all_text() {
    std::string text;
    SessionQuery query{.tenant = key().tenant, .own = OwnSessions::kToo, .limit = 1'000};
    for (const SessionSummary& session : list(*store_, query).value().sessions) text += all_text(session.key);
    return text;
  }

  std::vector<StoredRecord> records(const SessionKey& where, RecordKind kind) {
    return read_records(*store_, {.tenant = where.tenant,
                                  .owner = where.owner,
                                  .session = where.session,
                                  .kind = kind,
                                  .limit = 1'000})
        .value()
        .records;
  }

 private:
  Time now() { return env_.clock().now(); }

  void create(const SessionKey& where) {
    Session session;
    session.created_at = now();
    session.metadata.set("title", words().substr(0, 30) + "…");
    session.metadata.set("colour", "green");
    BranchHead main{.id = main_branch(), .created_at = now(), .last_activity = now()};
    if (where != key()) session.metadata.erase("title");
    commit(*store_, {.key = where,
                     .expected = std::nullopt,
                     .conditions = {},
                     .changes = {PutSession{session}, PutBranch{main}},
                     .time = now()})
        .value();
  }

  void change(const SessionKey& where, std::vector<Change> changes) {
    const SessionState state = load(*store_, where).value();
    commit(*store_, {.key = where,
                     .expected = state.session.revision,
                     .conditions = {},
                     .changes = std::move(changes),
                     .time = now()})
        .value();
  }

  Message say(Role role, std::string_view text) {
    return Message::text(MessageId(ids_.make()), role, text, now()).value();
  }
  AppendTurn talk(std::string_view question, std::string_view answer) {
    TurnDraft draft{TurnId(ids_.make())};
    draft.add(say(Role::kUser, question)).value();
    draft.add(say(Role::kAssistant, answer)).value();
    return {.branch = {}, .turn = Turn::seal(std::move(draft)).value()};
  }
  AppendTurn canary_turn() {
    const TurnId turn(ids_.make());
    const Message question = say(Role::kUser, words());
    const Message call = Message::make({.id = MessageId(ids_.make()),
                                        .role = Role::kAssistant,
                                        .time = now(),
                                        .origin = Origin::kModel,
                                        .parts = {Part::tool_call("c1", "look", R"({"at":"cupboard"})")}})
                             .value();
    const std::string found = "There is a " + std::string(kCanary) + " with a blue tail inside.";
    const Message result = Message::make({.id = MessageId(ids_.make()),
                                          .role = Role::kTool,
                                          .time = now(),
                                          .origin = Origin::kTool,
                                          .parts = {Part::tool_result("c1", "look", found)}})
                               .value();
    said = question.id();
    looked = result.id();
    canary_turn_ = turn;
    TurnDraft draft{turn};
    draft.add(question).value();
    draft.add(ToolGroup::close(call, {result}).value());
    draft.add(say(Role::kAssistant, "What a lovely bird.")).value();
    ToolCallRecord record{.id = ToolCallId(ids_.make()), .call_id = "c1", .tool = "look"};
    record.input = JsonText::parse(R"({"at":"cupboard"})").value();
    record.output = found;
    return {.branch = {}, .turn = Turn::seal(std::move(draft)).value(), .tool_calls = {record}};
  }
  void append(const SessionKey& where, const BranchId& branch, AppendTurn turn) {
    turn.branch = branch;
    change(where, {std::move(turn)});
  }
  void fork() {
    BranchHead head{.id = side(), .forked_from = ForkOrigin{main_branch(), 5}};
    head.created_at = head.last_activity = now();
    head.label = "about the " + words();
    change(key(), {PutBranch{head}});
  }

  void remember() {
    const MemoryWriter writer{.kind = WriterKind::kUser, .name = "ada"};
    semantic_->remember(known(), {.text = words(), .sources = {said}}, writer).value();
    semantic_
        ->remember(known(), {.text = "I water the roses on Mondays", .sources = {messages()[0].id()}}, writer)
        .value();
    semantic_
        ->ingest(known(), {.source = "bird.txt", .bytes = "A " + std::string(kCanary) + " is a small bird."},
                 writer, {.sources = {looked}})
        .value();
  }

  void part(const SessionKey& where, const std::string& item, const std::string& text) {
    note(*store_, {.key = where,
                   .conditions = {},
                   .changes = {AddRecord{prompt_part_record(
                       main_branch(), TurnId(ids_.make()), 1,
                       {.hash = hash_of(text), .item = item, .source = "notes", .text = text}, now())}}})
        .value();
  }
  void show_in_prompts() {
    for (const MemoryItem& item : semantic_->list(known()).value().items)
      part(key("other"), item.id, item.text);
    // The summary of a prompt of this session: its receipt says that it was one.
    const std::string summary = "The user keeps a " + std::string(kCanary) + ".";
    part(key(), {}, summary);
    part(key(), {}, "You are a helpful assistant.");
    Receipt receipt{.session = key().session, .branch = main_branch(), .turn = canary_turn_, .model = "m"};
    receipt.items = {{.tier = Tier::kHistory, .id = "summary", .text = hash_of(summary)},
                     {.tier = Tier::kHistory, .id = said.text(), .index = 2}};
    receipt.tokenizer = "o200k_base";
    add({.kind = RecordKind::kReceipt, .branch = main_branch(), .scope = canary_turn_.text()}, {}, {},
        to_json(receipt));
  }

  void add(const StreamId& stream, std::string record_key, std::string name, std::string payload) {
    note(*store_, {.key = key(),
                   .conditions = {},
                   .changes = {AddRecord{{.stream = stream,
                                          .number = 1,
                                          .time = now(),
                                          .key = std::move(record_key),
                                          .name = std::move(name),
                                          .payload = std::move(payload)}}}})
        .value();
  }
  void add_records() {
    add({.kind = RecordKind::kEvent, .branch = main_branch()}, canary_turn_.text(), {},
        "[{\"text\":\"A " + std::string(kCanary) + "\"}]");
    add({.kind = RecordKind::kCheckpoint, .scope = "run-1"}, {}, {}, "{\"input\":\"" + words() + "\"}");
    add({.kind = RecordKind::kCheckpoint, .scope = "run-2"}, {}, {}, "{\"input\":\"something else\"}");
    add({.kind = RecordKind::kSubmission, .branch = main_branch(), .scope = "k1"}, "k1", "hash",
        "{\"turn\":\"" + canary_turn_.text() + "\"}");
  }
  void overlay() {
    const std::vector<Message> all = messages();
    HistoryOverlay over;
    over.pins = {{said, 2}};
    over.summary = StoredSummary{.covers = 4,
                                 .first = all[0].id(),
                                 .last = all[3].id(),
                                 .text = "A " + std::string(kCanary) + " was spoken of.",
                                 .model = "m"};
    BranchHead head = load(*store_, key()).value().branches.front();
    put_overlay(head.state, over);
    head.state["plan"] = JsonText::of(JsonObject{{"note", words()}});
    head.state["mood"] = JsonText::of(JsonObject{{"is", "calm"}});
    change(key(), {PutBranch{head}});
  }

  std::shared_ptr<Store> store_;
  Env& env_;
  UuidMaker ids_;
  std::shared_ptr<SemanticMemory> semantic_;
  std::unique_ptr<Memory> memory_;
  TurnId canary_turn_{};
};

inline std::string bytes_under(const std::filesystem::path& directory) {
  std::string bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    bytes += entry.path().filename().string() + "\n";
    bytes.append(std::istreambuf_iterator<char>(file), {});
  }
  return bytes;
}

}  // namespace tertulia::trial
