// What is remembered in a story.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "tertulia/memory/overlay.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/episode_store.h"

#include "world.h"

namespace tertulia {

// Gives what the story says is remembered, or does not answer.
class StorySource final : public ContextSource {
 public:
  explicit StorySource(std::shared_ptr<const StoryNotes> remembered) : story_notes_(std::move(remembered)) {}

  std::string_view name() const override { return "notes"; }

  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override {
    if (story_notes_->mode == "fails") return Error(ErrorCode::kStorageIo, "the notes cannot be read");
    while (story_notes_->mode == "hangs" && !request.cancel.cancelled()) std::this_thread::yield();
    std::vector<ContextItem> items;
    for (const auto& [id, text] : story_notes_->notes) {
      items.push_back({.tier = Tier::kKnowledge, .id = id, .source = id, .text = text, .score = 1});
    }
    return items;
  }

 private:
  std::shared_ptr<const StoryNotes> story_notes_;
};

void World::attach_memory(Process& process, AgentBuilder& builder) {
  if (!remembers_) return;
  process.memory = std::make_shared<Memory>(process.store, real_env());
  process.memory->add_source(std::make_shared<StorySource>(std::make_shared<StoryNotes>(story_notes_)));
  for (const Procedure& procedure : procedures_) {
    const Result<void> put =
        process.memory->procedural().put(local_key(SessionId()).tenant, AgentId::parse("agent").value(),
                                         procedure, {.kind = WriterKind::kOperator, .name = "the story"});
    if (!put) fail("the procedure cannot be kept: " + put.error().message());
  }
  builder.with_memory_of(process.memory);
}

// True if the words were a setting of the memory.
bool World::memory_setting(Words& words) {
  if (words.take("remembers")) {
    remembers_ = true;
  } else if (words.take("begins afresh")) {
    on_return_ = OnReturn::kFresh;
  } else if (words.take("context before the user")) {
    memory_.context_placement = ContextPlacement::kBeforeUser;
  } else if (words.take("retrieval timeout")) {
    memory_.retrieval_timeout = read_duration(words);
  } else if (words.take("budget")) {
    memory_.max_working_memory_tokens = Tokens{words.required_number()};
    memory_.output_reserve = Tokens{0};
  } else if (words.take("least history")) {
    memory_.min_history_messages = static_cast<std::uint32_t>(words.required_number());
  } else if (words.take("window")) {
    memory_.pruning = Pruning::kSlidingWindow;
    memory_.sliding_window_turns = static_cast<std::uint32_t>(words.required_number());
  } else if (words.take("summarises")) {
    memory_.pruning = Pruning::kSummarize;
  } else if (words.take("elides tool results")) {
    memory_.pruning = Pruning::kElideTools;
  } else if (words.take("prunes in steps")) {
    memory_.pruning = Pruning::kStepped;
  } else if (words.take("notes hang")) {
    story_notes_.mode = "hangs";
  } else if (words.take("notes fail")) {
    story_notes_.mode = "fails";
  } else if (words.take("note")) {
    const std::string id = words.word();
    story_notes_.notes[id] = words.rest();
  } else if (words.take("procedure")) {
    Procedure procedure{.name = words.word(), .approved = true};
    if (!words.take("when")) words.fail("'procedure NAME when WORD: STEP' is meant");
    procedure.trigger = words.word();
    procedure.steps.push_back({.instruction = words.rest()});
    procedures_.push_back(std::move(procedure));
  } else {
    return false;
  }
  return true;
}

Memory& World::memory() {
  Process& living = process();
  if (!living.memory) fail("the agent of this story does not remember");
  return *living.memory;
}

SessionKey World::key_of(const std::string& session) const {
  return local_key(SessionId::parse(session).value());
}

// end [session S]
void World::end_session(Words& words, const Line& /*line*/) {
  const std::string session = words.take("session") ? words.word() : "s";
  const Result<CloseReport> closed = memory().close(key_of(session), EndReason::kUserClosed);
  if (!closed) open_error_ = closed.error();
  process().agent->engine()->forget(key_of(session));
}

// reap: as if everybody had been silent for long.
void World::reap(Words& words, const Line& /*line*/) {
  const Result<ReapReport> report = memory().reap({.others = {.idle_timeout = Duration::zero()}});
  if (!report) {
    open_error_ = report.error();
    return;
  }
  if (words.take("closes")) {
    const std::size_t wanted = words.required_number();
    if (report->idle.size() != wanted) {
      fail("expected that " + std::to_string(wanted) + " are closed, got " +
           std::to_string(report->idle.size()));
    }
  }
  for (const SessionKey& key : report->idle) process().agent->engine()->forget(key);
}

// episodes [of S] + block of "REASON N messages: SUMMARY", or "episodes: none"
void World::episodes(Words& words, const Line& line) {
  const std::string session = words.take("of") ? words.word() : "s";
  if (!words.raw_rest().empty() && line.block.empty())
    return compare({}, episode_lines(session), "episodes", false);
  compare(line.block, episode_lines(session), "episodes", false);
}

std::vector<std::string> World::episode_lines(const std::string& session) {
  std::vector<std::string> lines;
  const Result<std::vector<Episode>> episodes = list_episodes(*process().store, key_of(session));
  if (!episodes) fail("the episodes cannot be read: " + episodes.error().message());
  for (const Episode& episode : *episodes) {
    lines.push_back(std::string(name_of(episode.end_reason)) + " " + std::to_string(episode.message_count) +
                    " messages: " + episode.summary);
  }
  return lines;
}

// pin INDEX
void World::pin(Words& words, const Line& /*line*/) {
  const std::size_t index = words.required_number();
  const Result<std::vector<Message>> messages = get_session_messages(*process().store, key_of("s"));
  if (!messages || index >= messages->size()) fail("there is no message " + std::to_string(index));
  const Result<void> pinned = memory().pin(key_of("s"), main_branch(), (*messages)[index].id());
  if (!pinned) open_error_ = pinned.error();
  process().agent->engine()->forget(key_of("s"));
}

// receipt + block: "TIER FATE REASON N" for each item of the last model call of the branch.
void World::receipt(Words& words, const Line& line) {
  const std::string branch = words.take("of branch") ? words.word() : "main";
  const Result<std::vector<Receipt>> receipts =
      read_last_receipts(*process().store, key_of("s"), BranchId::parse(branch).value());
  if (!receipts) fail("there is no receipt: " + receipts.error().message());
  std::vector<std::string> lines;
  for (const ReceiptItem& item : receipts->back().items) {
    lines.push_back(std::string(name_of(item.tier)) + " " + std::string(name_of(item.fate)) + " " +
                    std::string(name_of(item.reason)) + " " + std::to_string(item.more + 1));
  }
  compare(line.block, lines, "receipt", false);
}

// prompts can be made again [of branch B]: each, byte for byte.
void World::prompts(Words& words, const Line& /*line*/) {
  if (!words.take("can be made again")) words.fail("'prompts can be made again' is meant");
  const std::string branch = words.take("of branch") ? words.word() : "main";
  Store& store = *process().store;
  const BranchId id = BranchId::parse(branch).value();
  std::size_t count = 0;
  for (const StoredTurn& stored : read_turns(store, key_of("s"), {.branch = id}).value()) {
    const Result<std::vector<Receipt>> receipts = read_receipts(store, key_of("s"), stored.turn.id());
    if (!receipts) continue;
    for (const Receipt& receipt : *receipts) {
      const Result<ModelRequest> again = rebuild_prompt(store, key_of("s"), receipt);
      if (!again) fail("a prompt cannot be made again: " + again.error().message());
      ++count;
    }
  }
  if (count == 0) fail("there is no receipt at all");
}

// erase user · erase session S · erase message N
void World::erase_memory(Words& words, const Line& /*line*/) {
  const SessionKey own = key_of("s");
  Result<ErasedMemory> erased = ErasedMemory();
  if (words.take("user")) {
    erased = memory().erase_owner(own.tenant, own.owner);
  } else if (words.take("session")) {
    erased = memory().erase_session(key_of(words.word()));
  } else if (words.take("message")) {
    const std::size_t index = words.required_number();
    const Result<std::vector<Message>> messages = get_session_messages(*process().store, own);
    if (!messages || index >= messages->size()) fail("there is no message " + std::to_string(index));
    erased = memory().erase_messages(own, std::vector{(*messages)[index].id()});
  }
  if (!erased) open_error_ = erased.error();
  process().agent->engine()->forget(own);
}

// no trace of TEXT: not in any file of the store, not in any record.
void World::no_trace(Words& words, const Line& /*line*/) {
  if (!words.take("trace of")) words.fail("'no trace of TEXT' is meant");
  const std::string wanted = words.rest();
  // A store in memory has no files.
  if (!std::filesystem::exists(directory_)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    if (bytes.str().find(wanted) != std::string::npos) {
      fail("'" + wanted + "' is still in " + entry.path().filename().string());
    }
  }
}

}  // namespace tertulia
