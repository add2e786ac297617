// How a run begins: in a session that is new, that is there, or that a handle names; or where another was.
#include <algorithm>
#include <utility>

#include "tertulia/base/id.h"
#include "tertulia/base/nearest.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/inner_sessions.h"
#include "tertulia/store/session_store.h"

#include "read_checkpoints.h"
#include "run_machine.h"

namespace tertulia {
namespace {

BranchHead new_branch(BranchId id, Time now) {
  return {.id = std::move(id), .created_at = now, .last_activity = now};
}

constexpr std::string_view kThreadTag = "thread";

// Those that are conversations; the others keep threads of participants.
std::vector<BranchInfo> own_branches(const std::vector<BranchHead>& heads) {
  std::vector<BranchHead> own;
  for (const BranchHead& head : heads) {
    if (std::find(head.tags.begin(), head.tags.end(), kThreadTag) == head.tags.end()) own.push_back(head);
  }
  return infos_of(own);
}

bool takes(const Node& node, const std::string& type) {
  return node.accepts.empty() ||
         std::any_of(node.accepts.begin(), node.accepts.end(),
                     [&](const std::string& one) { return one.empty() || one == type; });
}

}  // namespace

Result<void> RunMachine::open() {
  view_ = {.parts = parts_,
           .facts = &facts_,
           .state = &head_.state,
           .conversation = &head_.conversation,
           .key = {},
           .cancel = cancel_.token(),
           .log = log_,
           .options = &plan_.options,
           .durable = durable(),
           .strand = &strand_};
  // It becomes part of names of branches, records and files.
  TERTULIA_TRY(check_id(facts_.run, "run"));
  TERTULIA_TRY(check_names());
  if (plan_.how != RunPlan::How::kRun)
    key_ = plan_.key;
  else
    TERTULIA_TRY(find_session());
  TERTULIA_TRY(add_agents());
  if (plan_.how != RunPlan::How::kRun) return open_stored();
  if (!plan_.options.run.empty() && durable()) {
    Result<FoldedCheckpoint> there = read_checkpoint(*parts_->store(), key_, facts_.run, 0);
    if (there) return open_resumed(std::move(there->checkpoint), there->newest, there->last_whole);
    if (there.error().code() != ErrorCode::kNoCheckpoint && there.error().code() != ErrorCode::kNoSession)
      return std::move(there).error();
  }
  return open_new();
}

// What is said about a participant must be about one that takes part.
Result<void> RunMachine::check_names() const {
  std::vector<std::string> speakers;
  for (const Node& node : graph().nodes) {
    if (node.speaker) speakers.push_back(node.id);
  }
  for (const auto& [name, policy] : plan_.options.policies) {
    if (std::ranges::find(speakers, name) != speakers.end()) continue;
    return Error(ErrorCode::kBadConfig, "policies: workflow '" + graph().name + "' has no participant '" +
                                            name + "'" + did_you_mean(name, speakers))
        .with("param", "policies");
  }
  return {};
}

// Which session is meant.
Result<void> RunMachine::find_session() {
  WorkflowOptions& options = plan_.options;
  key_ = local_key({});
  if (!options.tenant.empty()) key_.tenant = options.tenant;
  if (!options.owner.empty()) key_.owner = options.owner;
  if (!options.handle.empty()) {
    TERTULIA_TRY_AS(const ConversationHandle handle,
                    decode_handle(options.handle, parts_->handle_key, key_.tenant, parts_->clock().now()));
    key_.session = handle.session;
    options.branch = handle.branch;
    seen_ = handle.revision;
  } else if (options.session.empty()) {
    key_.session = SessionId::of(parts_->uuids.make());
  } else {
    TERTULIA_TRY_AS(key_.session, SessionId::parse(options.session));
  }
  return {};
}

Result<void> RunMachine::add_agents() {
  view_.key = key_;
  if (!durable()) return {};
  for (const Node& node : graph().nodes) {
    if (!node.speaker || !node.speaker->agent) continue;
    TERTULIA_TRY(parts_->add_agent(node.speaker->agent));
  }
  return {};
}

Result<void> RunMachine::claim() {
  TERTULIA_TRY(parts_->claim(key_, facts_.branch, facts_.run));
  claimed_ = true;
  return {};
}

Result<SessionState> RunMachine::load_session(PendingCommit& entry) {
  Result<SessionState> state = Error(ErrorCode::kNoSession, "there is no store");
  // A name that was just made up need not be looked for.
  const WorkflowOptions& options = plan_.options;
  const bool made_up = plan_.how == RunPlan::How::kRun && options.session.empty() && options.handle.empty();
  if (durable() && !made_up) state = load(*parts_->store(), key_);
  if (state || state.error().code() != ErrorCode::kNoSession) return state;
  if (!plan_.options.handle.empty()) {
    return Error(ErrorCode::kNoSession, "the conversation of this handle is not there any more");
  }
  entry.create = true;
  entry.put_session = true;
  SessionState made;
  made.session.id = key_.session;
  made.session.tenant = key_.tenant;
  made.session.owner = key_.owner;
  made.session.created_at = parts_->clock().now();
  if (!options.inside_of.empty()) made.session.metadata.set(std::string(kInsideOf), options.inside_of.text());
  return made;
}

bool RunMachine::is_of_this_run(const BranchHead& head, std::uint64_t messages) const {
  return head.message_count >= messages && (!facts_.branch_made || *facts_.branch_made == head.created_at);
}

Error RunMachine::branch_gone() const {
  return Error(ErrorCode::kNoBranch, "branch '" + facts_.branch.text() + "', which run " + facts_.run +
                                         " is on, was deleted; the run cannot go on")
      .with("run", facts_.run)
      .with("branch", facts_.branch.text());
}

Result<void> RunMachine::load_branch(const SessionState& state, PendingCommit& entry) {
  const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                 [&](const BranchHead& one) { return one.id == facts_.branch; });
  Branch branch;
  if (head == state.branches.end()) {
    BranchHead made = new_branch(facts_.branch, parts_->clock().now());
    if (plan_.origin) {
      const auto parent = std::find_if(state.branches.begin(), state.branches.end(),
                                       [&](const BranchHead& one) { return one.id == plan_.origin->parent; });
      if (parent == state.branches.end())
        return Error(ErrorCode::kNoBranch, "the branch to fork from is gone");
      if (plan_.origin->at_index >= parent->message_count)
        return Error(ErrorCode::kBadForkPoint, "the branch to fork from has become shorter");
      TERTULIA_TRY_AS(branch, load_branch_until(*parts_->store(), key_, *parent, plan_.origin->at_index + 1));
      made.forked_from = plan_.origin;
      made.tags = {std::string(kThreadTag)};
    }
    branch.id = facts_.branch;
    branch.session = key_.session;
    branch.created_at = made.created_at;
    facts_.branch_made = made.created_at;
    entry.branches.push_back(std::move(made));
  } else {
    facts_.branch_made = head->created_at;
    known_ = parts_->conversations.take(key_, facts_.branch);
    if (known_ && !is_as_it_was(*known_, state.session, *head)) known_.reset();
    if (known_) {
      branch = branch_of(*head, key_.session);
      branch.transcript = known_->transcript();
    } else {
      TERTULIA_TRY_AS(branch, tertulia::load_branch(*parts_->store(), key_, *head));
    }
  }
  head_.conversation = ConversationManager(state.session, std::move(branch), facts_.base, facts_.input);
  return {};
}

Result<std::optional<Turn>> RunMachine::input_turn() {
  std::vector<Message> messages;
  const WorkflowInput& input = plan_.input;
  const Node& start = *graph().find(graph().start);
  if (input.message || !takes(start, message_type<ConversationUpdate>())) return std::optional<Turn>();
  if (!input.text.empty()) {
    TERTULIA_TRY_AS(Message message, Message::text(MessageId(parts_->uuids.make()), Role::kUser, input.text,
                                                   parts_->clock().now()));
    messages.push_back(std::move(message));
  }
  messages.insert(messages.end(), input.messages.begin(), input.messages.end());
  if (messages.empty()) return std::optional<Turn>();
  TERTULIA_TRY_AS(Turn turn, Turn::from_messages(TurnId(parts_->uuids.make()), std::move(messages)));
  return std::optional<Turn>(std::move(turn));
}

Result<Delivery> RunMachine::first_delivery() const {
  const WorkflowInput& input = plan_.input;
  const Node& start = *graph().find(graph().start);
  WorkflowMessage message = message_of(ConversationUpdate{});
  if (input.message) {
    message = *input.message;
  } else if (!takes(start, message.type)) {
    if (!input.messages.empty()) {
      return Error(ErrorCode::kWrongType, "the start '" + start.id + "' takes no messages of a conversation");
    }
    message = message_of(input.text);
  }
  message.source.clear();
  if (!takes(start, message.type)) {
    return Error(ErrorCode::kWrongType, "the start '" + start.id + "' takes " +
                                            describe_type(start.accepts[0]) + ", and the input is " +
                                            describe_type(message.type));
  }
  return Delivery{.to = start.id, .message = std::move(message)};
}

// Makes the participants known to the session, with their policies.
void RunMachine::take_part(PendingCommit& entry) {
  if (known_) head_.conversation.remember(*known_);
  known_.reset();
  for (const Node& node : graph().nodes) {
    if (!node.speaker) continue;
    ConversationPolicy policy = node.speaker->policy;
    if (const auto over = plan_.options.policies.find(node.id); over != plan_.options.policies.end())
      policy = over->second;
    head_.conversation.set_policy(node.id, policy);
    if (node.speaker->selection) head_.conversation.set_selection(node.id, node.speaker->selection);
    Participant participant;
    participant.id = ParticipantId::parse(node.id).value_or({});
    if (node.speaker->agent) participant.agent = node.speaker->agent->spec.id;
    participant.description = node.speaker->description;
    participant.policy = std::move(policy);
    if (head_.conversation.ensure_participant(std::move(participant))) entry.put_session = true;
  }
}

// The branch that keeps the thread of a participant in a run.
Result<BranchId> RunMachine::thread_of(const std::string& participant, const BranchId& shared,
                                       const std::string& run) const {
  const Node* node = graph().find(participant);
  const bool fork = node != nullptr && node->speaker && node->speaker->thread == ThreadKind::kFork;
  return thread_branch(shared, fork ? participant + "~" + run : participant);
}

// The branches that keep threads; made with the entry.
Result<void> RunMachine::make_threads(const std::vector<BranchHead>& there, PendingCommit& entry) {
  if (!durable()) return {};
  for (const Node& node : graph().nodes) {
    if (!node.speaker || node.speaker->thread == ThreadKind::kShared) continue;
    const bool fork = node.speaker->thread == ThreadKind::kFork;
    TERTULIA_TRY_AS(const BranchId id, thread_of(node.id, facts_.branch, facts_.run));
    threads_[node.id] = id;
    const auto head =
        std::find_if(there.begin(), there.end(), [&](const BranchHead& one) { return one.id == id; });
    if (head != there.end()) {
      thread_sizes_[node.id] = head->message_count;
      continue;
    }
    BranchHead made = new_branch(id, parts_->clock().now());
    made.label = "thread of " + node.id;
    made.tags = {std::string(kThreadTag)};
    if (fork && facts_.base > 0)
      made.forked_from = ForkOrigin{.parent = facts_.branch, .at_index = facts_.base - 1};
    entry.branches.push_back(std::move(made));
  }
  return {};
}

void RunMachine::begin(PendingCommit entry) {
  view_.threads = &threads_;
  durable_ = head_;
  tell(EventKind::kWorkflowStarted, facts_.workflow);
  submit(std::move(entry));
  advance();
}

Result<void> RunMachine::open_new() {
  PendingCommit entry;
  TERTULIA_TRY_AS(const SessionState state, load_session(entry));
  BranchChoice choice;
  if (plan_.options.branch && plan_.origin) {
    choice.id = *plan_.options.branch;
  } else {
    TERTULIA_TRY_AS(choice, resolve_branch(own_branches(state.branches), plan_.options.branch));
  }
  if (plan_.options.exact && seen_ && *seen_ != state.session.revision) {
    return Error(ErrorCode::kRevisionConflict, "the conversation has moved on since the handle was given out")
        .with("current", static_cast<std::int64_t>(number(state.session.revision)));
  }
  facts_.workflow = graph().name;
  facts_.branch = choice.id;
  facts_.started_at = parts_->clock().now();
  facts_.signature = graph().signature;
  TERTULIA_TRY(claim());
  TERTULIA_TRY(load_branch(state, entry));
  TERTULIA_TRY_AS(entry.turn, input_turn());
  facts_.base = head_.conversation.transcript().size();
  facts_.input = entry.turn ? entry.turn->messages().size() : 0;
  if (plan_.input.empty() && facts_.base == 0) {
    return Error(ErrorCode::kEmptyMessage, "the input is empty, and there is no conversation to go on with");
  }
  head_.conversation = ConversationManager(head_.conversation.session(), head_.conversation.shared(),
                                           facts_.base, facts_.input);
  take_part(entry);
  TERTULIA_TRY(make_threads(state.branches, entry));
  if (!plan_.options.attachments.empty()) {
    head_.conversation.attach(plan_.options.attachments);
    entry.put_session = true;
  }
  TERTULIA_TRY_AS(const Delivery first, first_delivery());
  std::vector<NodeEffects> inner;
  TERTULIA_TRY(hand_over(first, entry, inner, 0));
  for (NodeEffects& effects : inner) take_effects(effects, entry);
  begin(std::move(entry));
  return {};
}

Result<void> RunMachine::open_stored() {
  if (!durable()) return Error(ErrorCode::kNoCheckpoint, "there is no store, so nothing was kept of the run");
  TERTULIA_TRY_AS(FoldedCheckpoint folded,
                  read_checkpoint(*parts_->store(), key_, plan_.run, plan_.checkpoint));
  if (plan_.how == RunPlan::How::kFork) return open_fork(std::move(folded.checkpoint));
  return open_resumed(std::move(folded.checkpoint), folded.newest, folded.last_whole);
}

Result<void> RunMachine::check_graph(const RunFacts& facts) const {
  const std::vector<std::string>& now = graph().signature;
  if (now == facts.signature) return {};
  std::vector<std::string> changes;
  for (const std::string& line : facts.signature) {
    if (std::find(now.begin(), now.end(), line) == now.end()) changes.push_back("gone: " + line);
  }
  for (const std::string& line : now) {
    if (std::find(facts.signature.begin(), facts.signature.end(), line) == facts.signature.end())
      changes.push_back("new: " + line);
  }
  if (changes.empty()) changes.emplace_back("the order of nodes or edges");
  std::string sentence = "the workflow is not the one that run " + facts.run + " began with: ";
  for (std::size_t i = 0; i < changes.size(); ++i) sentence += (i == 0 ? "" : "; ") + changes[i];
  return Error(ErrorCode::kBadGraph, std::move(sentence)).with("changes", std::move(changes));
}

Result<void> RunMachine::check_state(const RunState& state) const {
  const auto unknown = [&](const std::string& node) {
    return Error(ErrorCode::kBadGraph, "the checkpoint of run " + plan_.run + " names a node '" + node +
                                           "', which workflow '" + graph().name + "' does not have");
  };
  for (const Delivery& delivery : state.inflight) {
    if (graph().find(delivery.to) == nullptr) return unknown(delivery.to);
  }
  for (const InfoRequest& request : state.requests) {
    if (graph().find(request.node) == nullptr) return unknown(request.node);
  }
  for (const auto& [edge, sources] : state.buffers) {
    if (edge >= graph().edges.size() || sources.size() > graph().edges[edge].sources.size())
      return unknown("edge " + std::to_string(edge));
  }
  return {};
}

// The first commit of a resumed run takes it away from whoever may still believe to have it.
Result<void> RunMachine::open_resumed(Checkpoint checkpoint, std::uint64_t newest, std::uint64_t last_whole) {
  TERTULIA_TRY(check_graph(checkpoint.facts));
  TERTULIA_TRY(check_state(checkpoint.state));
  facts_ = checkpoint.facts;
  TERTULIA_TRY(claim());
  PendingCommit entry;
  TERTULIA_TRY_AS(const SessionState state, load_session(entry));
  const auto head = std::ranges::find(state.branches, facts_.branch, &BranchHead::id);
  if (head == state.branches.end() || !is_of_this_run(*head, checkpoint.messages)) return branch_gone();
  TERTULIA_TRY(load_branch(state, entry));
  head_.state = std::move(checkpoint.state);
  head_.checkpoints = newest;
  head_.last_whole = last_whole;
  take_part(entry);
  TERTULIA_TRY(make_threads(state.branches, entry));
  const WorkflowStatus status = head_.state.status;
  if (status == WorkflowStatus::kCompleted || status == WorkflowStatus::kCancelled) {
    durable_ = head_;
    finish(outcome_of(status));
    return {};
  }
  entry.state = head_.state;
  TERTULIA_TRY(note_answers());
  TERTULIA_TRY_AS(std::vector<Delivery> answers, take_answers(entry));
  for (Delivery& answer : answers) entry.state.inflight.push_back(std::move(answer));
  if (status != WorkflowStatus::kWaiting || !answers.empty()) entry.state.status = WorkflowStatus::kRunning;
  for (const InfoRequest& request : entry.state.requests) after_.push_back(request_event(request));
  begin(std::move(entry));
  return {};
}

// A new run on a new branch, which has the messages and the threads as they were at the checkpoint.
Result<void> RunMachine::open_fork(Checkpoint checkpoint) {
  TERTULIA_TRY(check_graph(checkpoint.facts));
  TERTULIA_TRY(check_state(checkpoint.state));
  const std::string run = facts_.run;
  const BranchId parent = checkpoint.facts.branch;
  facts_ = checkpoint.facts;
  facts_.run = run;
  facts_.forked_from = checkpoint_id(plan_.run, checkpoint.number);
  parent_ = facts_.forked_from;
  Result<BranchId> branch_id = BranchId::parse("run-" + run);
  if (plan_.options.branch) branch_id = *plan_.options.branch;
  if (!branch_id) return std::move(branch_id).error();
  facts_.branch = *std::move(branch_id);
  TERTULIA_TRY(claim());
  PendingCommit entry;
  TERTULIA_TRY_AS(SessionState state, load_session(entry));
  const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                 [&](const BranchHead& one) { return one.id == parent; });
  if (head == state.branches.end() || !is_of_this_run(*head, checkpoint.messages)) {
    return Error(ErrorCode::kNoBranch, "branch '" + parent.text() + "', which run " + plan_.run +
                                           " is on, was deleted; it cannot be forked");
  }
  TERTULIA_TRY_AS(Branch branch, load_branch_until(*parts_->store(), key_, *head, checkpoint.messages));
  BranchHead made = new_branch(facts_.branch, parts_->clock().now());
  facts_.branch_made = branch.created_at = made.created_at;
  if (checkpoint.messages > 0)
    made.forked_from = ForkOrigin{.parent = parent, .at_index = checkpoint.messages - 1};
  entry.branches.push_back(std::move(made));
  branch.id = facts_.branch;
  for (const ThreadPlace& thread : checkpoint.threads) {
    ThreadBinding binding;
    binding.participant = ParticipantId::parse(thread.participant).value_or({});
    binding.branch = facts_.branch;
    binding.applied = thread.applied;
    entry.bindings.push_back(std::move(binding));
    if (thread.messages == 0) continue;
    TERTULIA_TRY_AS(const BranchId from, thread_of(thread.participant, parent, plan_.run));
    TERTULIA_TRY_AS(const BranchId to, thread_of(thread.participant, facts_.branch, facts_.run));
    BranchHead forked = new_branch(to, parts_->clock().now());
    forked.forked_from = ForkOrigin{.parent = from, .at_index = thread.messages - 1};
    forked.message_count = thread.messages;
    forked.tags = {std::string(kThreadTag)};
    state.branches.push_back(forked);
    entry.branches.push_back(std::move(forked));
  }
  head_.conversation = ConversationManager(state.session, std::move(branch), facts_.base, facts_.input);
  head_.state = std::move(checkpoint.state);
  head_.state.status = WorkflowStatus::kRunning;
  take_part(entry);
  TERTULIA_TRY(make_threads(state.branches, entry));
  entry.state = head_.state;
  for (const InfoRequest& request : entry.state.requests) after_.push_back(request_event(request));
  begin(std::move(entry));
  return {};
}

// The answers that came with the call, as if each had been given by itself.
Result<void> RunMachine::note_answers() {
  for (const auto& [id, answer] : plan_.options.answers) {
    const bool asked =
        std::ranges::any_of(head_.state.requests, [&](const InfoRequest& one) { return one.id == id; });
    // It may have been taken up before a crash, or by somebody who was quicker.
    if (!asked)
      after_.push_back(
          event_of(EventKind::kWarning, "answer_ignored",
                   "the answer to '" + id + "' is not taken: the run does not ask for it (any more)"));
  }
  for (const InfoRequest& request : head_.state.requests) {
    const auto answer = plan_.options.answers.find(request.id);
    if (answer == plan_.options.answers.end()) continue;
    Note given{.key = key_, .conditions = {}, .changes = {}};
    given.changes.emplace_back(
        AddRecord{answer_record(facts_.run, request.id, answer->second, parts_->clock().now())});
    Result<void> noted = note(*parts_->store(), std::move(given));
    // It has one, from before a crash or from somebody else.
    if (!noted && noted.error().code() != ErrorCode::kRevisionConflict) return noted;
  }
  return {};
}

// The answers that are there to requests of this run. Each is delivered once: the commit that takes it up
// takes it out of its stream.
Result<std::vector<Delivery>> RunMachine::take_answers(PendingCommit& commit) {
  std::vector<Delivery> answers;
  if (!durable()) return answers;
  std::vector<InfoRequest> open;
  for (InfoRequest& request : commit.state.requests) {
    TERTULIA_TRY_AS(const RecordPage page,
                    read_records(*parts_->store(), {.tenant = key_.tenant,
                                                    .owner = key_.owner,
                                                    .session = key_.session,
                                                    .kind = RecordKind::kCheckpoint,
                                                    .scope = answer_stream(facts_.run, request.id).scope}));
    if (page.records.empty()) {
      open.push_back(std::move(request));
      continue;
    }
    TERTULIA_TRY_AS(Json answer, parse_json(page.records.front().record.payload));
    commit.answered.push_back(request.id);
    const std::string node = request.node;
    answers.push_back({.to = node,
                       .message = {.type = {}, .data = answer},
                       .answer = InfoAnswer{.request = std::move(request), .answer = std::move(answer)}});
  }
  commit.state.requests = std::move(open);
  return answers;
}

}  // namespace tertulia
