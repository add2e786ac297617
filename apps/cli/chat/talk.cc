#include "talk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/env.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/utf8.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/memory.h"

#include "history.h"
#include "host/model_choices.h"

namespace tertulia::cli {
namespace {

constexpr std::uint64_t kLargestAttachment = 512U << 10U;

std::string picture_type(const Path& file) {
  static const std::array<std::pair<std::string_view, std::string_view>, 5> kTypes = {
      {{".png", "image/png"},
       {".jpg", "image/jpeg"},
       {".jpeg", "image/jpeg"},
       {".gif", "image/gif"},
       {".webp", "image/webp"}}};
  const std::string extension = file.extension().string();
  for (const auto& [ending, type] : kTypes) {
    if (extension == ending) return std::string(type);
  }
  return "";
}

MessageDraft new_draft() {
  UuidMaker ids(real_env().clock(), real_env().random());
  return {.id = MessageId(ids.make()), .time = real_env().clock().now()};
}

}  // namespace

Talk::Talk(Host& host, AgentDefinitionPtr agent, SessionKey key, RunOptions options)
    : host_(host), agent_(std::move(agent)), key_(std::move(key)), options_(std::move(options)) {
  options_.tenant = key_.tenant;
  options_.owner = key_.owner;
  options_.coalesce = true;
}

std::string Talk::model() const {
  return options_.model_name.empty() ? agent_->spec.model
                                     : std::string(ModelChoices::chosen_name(options_.model_name));
}

SessionStore Talk::sessions() const {
  return SessionStore(host_.store(), host_.engine()->env().clock(), key_.tenant, key_.owner);
}

Result<std::optional<SessionState>> Talk::state() const {
  auto loaded = load(host_.store(), key_);
  if (loaded) return std::optional<SessionState>(*std::move(loaded));
  if (loaded.error().code() == ErrorCode::kNoSession) return std::optional<SessionState>();
  return std::move(loaded).error();
}

Result<SessionState> Talk::existing() const {
  TERTULIA_TRY_AS(std::optional<SessionState> found, state());
  if (found && !found->branches.empty()) return *std::move(found);
  return Error(ErrorCode::kNoSession, "nothing has been said yet");
}

Result<std::optional<BranchHead>> Talk::head() const {
  TERTULIA_TRY_AS(const std::optional<SessionState> found, state());
  std::optional<BranchHead> head;
  if (!found) return head;
  for (const BranchHead& each : found->branches) {
    if (each.id.text() == branch()) head = each;
  }
  return head;
}

Result<void> Talk::enter(const SessionKey& key) {
  key_ = key;
  receipt_.reset();
  TERTULIA_TRY_AS(const std::optional<SessionState> found, state());
  options_.branch.reset();
  if (!found || found->branches.empty()) return {};
  const auto latest = std::ranges::max_element(found->branches, {}, &BranchHead::last_activity);
  options_.branch = latest->id;
  return {};
}

Run Talk::say(const std::string& text) {
  Input input{.text = text};
  if (!attached_texts_.empty()) {
    MessageDraft draft = new_draft();
    for (std::size_t i = 0; i < attached_texts_.size(); ++i) {
      const bool picture = !attached_types_[i].empty();
      draft.parts.push_back(
          picture ? Part{.kind = PartKind::kImage, .name = attached_types_[i], .text = attached_texts_[i]}
                  : Part::text_of(attached_texts_[i]));
    }
    draft.parts.push_back(Part::text_of(text));
    // Names, types and texts were checked when they were attached.
    input = {.messages = {Message::make(draft).value()}};
    attached_names_.clear();
    attached_types_.clear();
    attached_texts_.clear();
  }
  return host_.engine()->run(agent_, std::move(input), key_.session.text(), options_);
}

Run Talk::say_again(const Message& said) {
  MessageDraft draft = new_draft();
  for (std::size_t i = 0; i < said.part_count(); ++i) draft.parts.push_back(said.part(i));
  return host_.engine()->run(agent_, {.messages = {Message::make(draft).value()}}, key_.session.text(),
                             options_);
}

Run Talk::resume() {
  RunOptions options = options_;
  // A turn goes on with the model that it was begun with, unless another was asked for here.
  if (!options.model_name.empty()) options.model = ModelChoices::always(agent_->model, options.model_name);
  return host_.engine()->run(agent_, {}, key_.session.text(), options);
}

Result<std::optional<InterruptedTurn>> Talk::waiting() const {
  TERTULIA_TRY_AS(std::vector<InterruptedTurn> turns, host_.engine()->interrupted(key_));
  for (InterruptedTurn& turn : turns) {
    if (turn.branch.text() == branch()) return std::optional(std::move(turn));
  }
  return std::optional<InterruptedTurn>();
}

Run Talk::discard() {
  RunOptions options = options_;
  options.on_interrupted = OnInterrupted::kDiscard;
  return host_.engine()->run(agent_, {}, key_.session.text(), options);
}

Result<void> Talk::attach(const Path& file) {
  TERTULIA_TRY_AS(std::string bytes, read_file(real_env().files(), file, kLargestAttachment));
  const std::string type = picture_type(file);
  const std::string name = file.filename().string();
  if (type.empty() && !is_utf8(bytes)) {
    return Error(ErrorCode::kBadUnicode,
                 "'" + file.string() + "' is neither text nor a picture (png, jpg, gif, webp)");
  }
  attached_texts_.push_back(type.empty() ? "The file " + name + ":\n\n" + bytes + "\n"
                                         : "data:" + type + ";base64," + to_base64(bytes));
  attached_types_.push_back(type);
  attached_names_.push_back(name);
  return {};
}

std::string Talk::free_name(const SessionState& state, const std::string& prefix) const {
  for (int i = 1;; ++i) {
    std::string name = prefix + "-" + std::to_string(i);
    if (std::ranges::none_of(state.branches,
                             [&](const BranchHead& head) { return head.id.text() == name; })) {
      return name;
    }
  }
}

Result<void> Talk::fork(const std::string& name, std::optional<std::uint64_t> at) {
  TERTULIA_TRY_AS(const SessionState found, existing());
  TERTULIA_TRY_AS(const BranchHead* head, choose_branch(found, branch()));
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse(name.empty() ? free_name(found, "fork") : name));
  const std::uint64_t point = at.value_or(head->message_count == 0 ? 0 : head->message_count - 1);
  TERTULIA_TRY(sessions().fork_branch(key_.session, head->id, static_cast<std::int64_t>(point), id));
  host_.engine()->forget(key_);
  options_.branch = id;
  return {};
}

Result<void> Talk::switch_to(const std::string& name) {
  TERTULIA_TRY_AS(const SessionState found, existing());
  std::vector<std::string> known;
  known.reserve(found.branches.size());
  for (const BranchHead& head : found.branches) known.push_back(head.id.text());
  const auto match = std::ranges::find(known, name);
  if (match == known.end()) {
    return Error(ErrorCode::kNoBranch,
                 "there is no branch '" + name + "'" + did_you_mean(name, known) + "; see /branches");
  }
  options_.branch = *BranchId::parse(name);
  receipt_.reset();
  return {};
}

Result<std::pair<Message, std::uint64_t>> Talk::last_input(const BranchHead& head) const {
  if (head.message_count == 0)
    return Error(ErrorCode::kNoMessage, "nothing has been said in this branch yet");
  TERTULIA_TRY_AS(
      const std::vector<StoredTurn> turns,
      read_turns(host_.store(), key_,
                 {.branch = head.id, .begin = head.message_count - 1, .end = head.message_count}));
  if (turns.empty())
    return Error(ErrorCode::kSessionDamaged, "the branch ends too early; run: tertulia verify");
  const StoredTurn& last = turns.back();
  for (const Message& message : last.turn.messages()) {
    if (message.role() == Role::kUser) return std::pair(message, last.first_index);
  }
  return Error(ErrorCode::kNoMessage, "the last turn was not begun by a message of yours");
}

Result<Message> Talk::step_back(const std::string& prefix) {
  TERTULIA_TRY_AS(const SessionState found, existing());
  TERTULIA_TRY_AS(const BranchHead* head, choose_branch(found, branch()));
  TERTULIA_TRY_AS(const auto last, last_input(*head));
  const auto& [said, first_index] = last;
  const std::string name = free_name(found, prefix);
  if (first_index > 0) {
    TERTULIA_TRY(fork(name, first_index - 1));
    return said;
  }
  // Before the first turn there is nothing to share: the branch begins anew.
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse(name));
  BranchHead fresh;
  fresh.id = id;
  fresh.created_at = fresh.last_activity = host_.engine()->env().clock().now();
  TERTULIA_TRY(commit(host_.store(), {.key = key_,
                                      .expected = found.session.revision,
                                      .conditions = {},
                                      .changes = {PutBranch{fresh}},
                                      .time = fresh.created_at}));
  host_.engine()->forget(key_);
  options_.branch = id;
  return said;
}

Result<void> Talk::close() {
  TERTULIA_TRY(existing());
  TERTULIA_TRY(host_.memory()->close(key_, EndReason::kUserClosed));
  host_.engine()->forget(key_);
  return {};
}

void Talk::saw(const Event& event) {
  if (event.kind != EventKind::kReceipt) return;
  if (auto receipt = parse_form<Receipt>(event.data.text())) receipt_ = *std::move(receipt);
}

Result<std::optional<Receipt>> Talk::receipt() const {
  std::optional<Receipt> found = receipt_;
  if (found) return found;
  TERTULIA_TRY_AS(const std::optional<BranchHead> there, head());
  if (!there) return found;
  TERTULIA_TRY_AS(const RecordPage page, read_records(host_.store(), {.tenant = key_.tenant,
                                                                      .owner = key_.owner,
                                                                      .session = key_.session,
                                                                      .kind = RecordKind::kReceipt,
                                                                      .branch = there->id,
                                                                      .newest_first = true,
                                                                      .limit = 1}));
  if (page.records.empty()) return found;
  TERTULIA_TRY_AS(found, parse_form<Receipt>(page.records.front().record.payload));
  return found;
}

}  // namespace tertulia::cli
