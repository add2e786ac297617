// How a run becomes durable: what was said, who has seen it, and the checkpoint, in one commit.
#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/session_store.h"

#include "run_machine.h"

namespace tertulia {
namespace {

// Between two whole checkpoints if every one is kept.
constexpr std::uint64_t kWholeEvery = 64;
constexpr std::size_t kMaxConflicts = 1'000;

bool is_whole_next(const RunPlace& place, std::uint64_t keep) {
  const std::uint64_t every = keep == 0 ? kWholeEvery : keep;
  return place.checkpoints == 0 || place.last_whole == 0 || place.checkpoints + 1 - place.last_whole >= every;
}

}  // namespace

Commit RunMachine::commit_of(const PendingCommit& pending, const RunPlace& before) const {
  const std::uint64_t number = before.checkpoints + 1;
  const bool whole = is_whole_next(before, parts_->keep_checkpoints);
  const ConversationManager& conversation = before.conversation;
  Commit commit{.key = key_,
                .expected = conversation.session().revision,
                .conditions = {},
                .changes = {},
                .time = pending.time};
  if (pending.create) commit.expected = std::nullopt;
  if (pending.put_session || !pending.bindings.empty()) {
    ConversationManager after = conversation;
    for (const ThreadBinding& binding : pending.bindings) after.bind(binding);
    commit.changes.emplace_back(PutSession{after.session()});
  }
  for (const BranchHead& head : pending.branches) commit.changes.emplace_back(PutBranch{head});
  std::size_t messages = conversation.transcript().size();
  if (pending.turn) {
    messages += pending.turn->messages().size();
    commit.changes.emplace_back(
        AppendTurn{.branch = facts_.branch, .turn = *pending.turn, .tool_calls = {}, .state = std::nullopt});
  }
  Checkpoint checkpoint{.facts = facts_,
                        .state = pending.state,
                        .messages = messages,
                        .threads = pending.threads,
                        .parent = number == 1 ? parent_ : checkpoint_id(facts_.run, number - 1),
                        .revision = Revision{tertulia::number(conversation.session().revision) + 1},
                        .number = number,
                        .time = commit.time};
  commit.changes.emplace_back(
      AddRecord{{.stream = checkpoint_stream(facts_.run),
                 .number = number,
                 .time = commit.time,
                 .key = checkpoint_id(facts_.run, number),
                 .name = std::string(name_of(pending.state.status)),
                 .payload = encode_checkpoint(checkpoint, whole ? nullptr : &before.state)}});
  if (whole && parts_->keep_checkpoints > 0 && before.last_whole > 1) {
    commit.changes.emplace_back(
        DropRecords{.stream = checkpoint_stream(facts_.run), .up_to = before.last_whole - 1});
  }
  for (const std::string& request : pending.answered) {
    commit.changes.emplace_back(DropRecords{.stream = answer_stream(facts_.run, request), .up_to = 0});
  }
  return commit;
}

void RunMachine::apply(const PendingCommit& commit, Revision revision, RunPlace& place) const {
  for (const ThreadBinding& binding : commit.bindings) place.conversation.bind(binding);
  if (commit.turn) place.conversation.committed(*commit.turn, revision);
  place.conversation.saw(revision, commit.time);
  if (is_whole_next(place, parts_->keep_checkpoints)) place.last_whole = place.checkpoints + 1;
  ++place.checkpoints;
  place.state = commit.state;
}

void RunMachine::submit(PendingCommit commit) {
  for (const ThreadBinding& binding : head_.conversation.session().bindings) {
    if (binding.branch != facts_.branch) continue;
    commit.threads.push_back({.participant = binding.participant.text(),
                              .applied = binding.applied,
                              .messages = thread_sizes_[binding.participant.text()]});
  }
  for (const ThreadBinding& binding : commit.bindings) {
    const auto same = [&](const ThreadPlace& place) {
      return place.participant == binding.participant.text();
    };
    std::erase_if(commit.threads, same);
    commit.threads.push_back({.participant = binding.participant.text(),
                              .applied = binding.applied,
                              .messages = thread_sizes_[binding.participant.text()]});
  }
  log_->add_gate();
  for (Event& event : after_) log_->add(std::move(event));
  after_.clear();
  pending_.push_back(std::move(commit));
  send(pending_.size() - 1);
}

void RunMachine::send(std::size_t index) {
  PendingCommit& pending = pending_[index];
  pending.time = parts_->clock().now();
  const std::uint64_t sequence = first_pending_ + index;
  const Revision predicted{pending.create ? 1 : number(head_.conversation.session().revision) + 1};
  if (!durable()) {
    apply(pending, predicted, head_);
    ++outstanding_;
    strand_.post([self = shared_from_this(), sequence, predicted] { self->stored(sequence, predicted); });
    return;
  }
  Commit commit = commit_of(pending, head_);
  apply(pending, predicted, head_);
  ++outstanding_;
  // The store may hold on to the completion after it was called: it must not be what keeps the run alive, and
  // through it the store itself.
  parts_->store()->commit(std::move(commit), [weak = weak_from_this(), strand = strand_,
                                              sequence](Result<Revision> result) mutable {
    strand.post([weak, sequence, result = std::move(result)]() mutable {
      if (const auto self = weak.lock()) self->stored(sequence, std::move(result));
    });
  });
}

void RunMachine::stored(std::uint64_t sequence, Result<Revision> result) {
  --outstanding_;
  pending_[sequence - first_pending_].result = std::move(result);
  settle();
}

void RunMachine::settle() {
  while (!pending_.empty() && pending_.front().result && pending_.front().result->ok()) {
    apply(pending_.front(), **pending_.front().result, durable_);
    pending_.pop_front();
    ++first_pending_;
    conflicts_ = 0;
    log_->open_gate();
  }
  if (pending_.empty()) {
    if (auto then = std::exchange(then_, nullptr)) then();
    return;
  }
  if (!pending_.front().result || outstanding_ > 0) return;
  Error error = pending_.front().result->error();
  if (error.code() == ErrorCode::kRevisionConflict && conflicts_ < kMaxConflicts) {
    // Nodes that run ahead read what would change now: when they have ended, this is asked again.
    if (nodes_left_ > 0) return;
    ++conflicts_;
    Result<void> caught_up = catch_up();
    if (caught_up) return;
    error = std::move(caught_up).error();
  }
  broken_ = std::move(error);
  if (nodes_left_ == 0) return finish(*broken_);
  cancel_.cancel(CancelReason::kShutdown);
}

// Somebody else has written to the session: the commits are made again, behind theirs.
Result<void> RunMachine::catch_up() {
  TERTULIA_TRY_AS(SessionState state, load(*parts_->store(), key_));
  if (state.session.revision == durable_.conversation.session().revision) {
    return Error(ErrorCode::kLeaseLost, "run " + facts_.run +
                                            " goes on elsewhere; it stops here, and nothing "
                                            "that it did since then is stored");
  }
  TERTULIA_TRY(take_news(std::move(state), durable_.conversation));
  head_ = durable_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    pending_[i].result.reset();
    send(i);
  }
  return {};
}

// The session as it is stored now, with what others have written to the shared branch.
Result<void> RunMachine::take_news(SessionState state, ConversationManager& conversation) {
  const auto shared = std::ranges::find(state.branches, facts_.branch, &BranchHead::id);
  if (shared == state.branches.end() || !is_of_this_run(*shared, conversation.transcript().size()))
    return branch_gone();
  if (shared->message_count > conversation.transcript().size()) {
    const TurnRange news = news_of(*shared, conversation.transcript());
    TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(*parts_->store(), key_, news));
    TERTULIA_TRY(conversation.append_stored(*shared, turns));
  }
  for (const BranchHead& head : state.branches) {
    for (const auto& [participant, branch] : threads_) {
      if (head.id == branch) thread_sizes_[participant] = head.message_count;
    }
  }
  conversation.saw(std::move(state.session));
  return {};
}

// Turns of agents have been committed to the session meanwhile.
Result<void> RunMachine::refresh_session() {
  if (!durable()) return {};
  TERTULIA_TRY_AS(SessionState state, load(*parts_->store(), key_));
  TERTULIA_TRY(take_news(std::move(state), durable_.conversation));
  head_ = durable_;
  return {};
}

void RunMachine::when_durable(std::function<void()> then) {
  if (pending_.empty()) return then();
  then_ = std::move(then);
}

}  // namespace tertulia
