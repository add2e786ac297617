// Memory: everything an agent remembers beside the conversation it is in.
//
//   auto memory = std::make_shared<Memory>(store, real_env());
//   memory->add_source(knowledge_source(semantic_memory));
//   auto agent = AgentBuilder().with_session_store(store).with_memory_of(memory).build().value();
//
// For each turn its sources are asked at the same time, each with a deadline; what is late or broken is
// missing from that turn and told by an event, and the turn goes on. When a session ends, what was said
// becomes an episode.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/message.h"
#include "tertulia/memory/context_source.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/memory/lifecycle.h"
#include "tertulia/memory/procedural_memory.h"
#include "tertulia/model/embedder.h"
#include "tertulia/store/store.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct MemoryOptions {
  // Null: static_embedder().
  std::shared_ptr<Embedder> embedder{};
  // When the sessions of which agent end, and what is left of them.
  RuleBook rules{};
};

// What was erased, and where.
struct ErasedMemory {
  EraseReport sessions;
  std::size_t episodes = 0;
  std::size_t items = 0;
  // Texts of past prompts, in sessions that stay.
  std::size_t prompt_parts = 0;
  // Where single messages were erased: those, with their copies on other branches; summaries of the history
  // that covered them; and events, checkpoints, assets and texts of prompts in their own session.
  std::size_t messages = 0;
  std::size_t summaries = 0;
  std::size_t records = 0;
  // Sessions that stay, are damaged and cannot be written: they may still hold something that came from what
  // was erased, until they are erased as well.
  std::set<SessionId> damaged{};
  // Not all messages of what was erased could be read: what was remembered from those stays.
  bool unread = false;
};

// A message whose words were erased: it keeps its id, its place and its part in a tool group.
bool is_erased(const Message& message);

// Concurrency: any thread. What blocks says so.
class Memory {
 public:
  // Env must outlive it.
  Memory(std::shared_ptr<Store> store, Env& env, MemoryOptions options = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Store& store() const;
  EpisodicMemory& episodic() const;
  ProceduralMemory& procedural() const;

  // Procedures and episodes, then what was added. Add before the first turn.
  void add_source(std::shared_ptr<ContextSource> source);
  const std::vector<std::shared_ptr<ContextSource>>& sources() const;

  // Makes the sources ready before their first turn (ContextSource::prepare). What cannot be made ready is
  // read when it is needed. Blocks.
  void prepare();

  // Blocks. See lifecycle.h. By the rules of the agent that spoke last, or by those that are given.
  Result<CloseReport> close(const SessionKey& key, EndReason reason);
  Result<CloseReport> close(const SessionKey& key, EndReason reason, const SessionRules& rules);
  // Once a day it also archives and deletes episodes whose time is over.
  Result<ReapReport> reap();
  Result<ReapReport> reap(const RuleBook& rules);
  const RuleBook& rules() const;
  // What a turn that ends its session adds to its commit: the episode of the branch, `turn` included. Nothing
  // if there is none to be made. Facts are learned on the way. Blocks.
  Result<std::optional<Record>> end_span(const SessionKey& key, const BranchHead& branch, EndReason reason,
                                         const SessionRules& rules, std::span<const Message> turn);

  // A message always stays in the views of its branch, whatever the budget. kNoMessage if it is not there.
  Result<void> pin(const SessionKey& key, const BranchId& branch, const MessageId& message,
                   bool pinned = true);

  // Everything of a user: sessions with their episodes, receipts and journals, and what was remembered. Can
  // be called again if it was cut. Blocks.
  Result<ErasedMemory> erase_owner(const TenantId& tenant, const OwnerId& owner);
  // One session, and what was remembered from it: facts and chunks that came only from its messages.
  Result<ErasedMemory> erase_session(const SessionKey& key);
  // Single messages of a session, with what came from them: facts, vectors, episodes (made again without
  // them), summaries, texts of prompts, tool calls, events, assets, and their copies on other branches. The
  // session is written again and moves by one revision; an Engine that knows it is told to `forget` it.
  // kNoMessage; kTurnRunning if a turn of it is not finished. While it is written again, whoever else reads
  // it or writes to it gets kTurnRunning, so that no turn is lost. Can be called again if it was cut. Blocks.
  Result<ErasedMemory> erase_messages(const SessionKey& key, std::span<const MessageId> messages);
  // Goes on with what a crash has cut of that. How many sessions it found. Blocks.
  Result<std::size_t> finish_erasing();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A read_only tool `search_memory` with which a model looks up what is known and what was said before, in the
// memory of the user that it speaks with: where this agent may recall from, by words and meaning, whatever it
// scores. A source that fails is named in the answer, if others have found something.
ToolPtr search_memory_tool(std::shared_ptr<Memory> memory, const AgentSpec& agent = {});

}  // namespace tertulia
