// Episodic memory: what earlier conversations with the same person were about.
//
// An episode is made when a session ends, in the commit that closes it, so there is no closed session without
// one. Its summary and key facts are taken from what was said; no model is asked. Its messages are not stored
// a second time: they are the span of its branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/message.h"
#include "tertulia/model/embedder.h"
#include "tertulia/store/store.h"

namespace tertulia {

// What was said in a few sentences, in the order in which it was said: those that hold most of what the
// conversation comes back to. At most `sentences` of them and 600 bytes.
std::string extractive_summary(std::span<const Message> messages, std::size_t sentences = 4);
// Sentences in which users speak of themselves. At most `most`, the oldest first, each once.
std::vector<std::string> key_facts_of(std::span<const Message> messages, std::size_t most = 8);
// Addresses of mail, telephone and card numbers become "[email]" and "[number]".
std::string mask_personal_data(std::string_view text);

// Puts the words of a model in place of the extracted ones. An error leaves those.
using SummariseSpan = std::function<Result<std::string>(std::span<const Message>)>;

struct EpisodeParts {
  EpisodeId id;
  SessionId session;
  BranchId branch;
  // The index of the first message.
  std::uint64_t first = 0;
  // At least one.
  std::span<const Message> messages{};
  std::uint64_t turns = 0;
  EndReason reason = EndReason::kUserClosed;
  Time closed_at{};
  bool mask_personal_data = false;
};

// Without its embedding.
Episode make_episode(const EpisodeParts& parts);
// The text that stands for an episode where it is compared by meaning.
std::string text_of_episode(const Episode& episode);

struct EpisodeQuery {
  TenantId tenant;
  OwnerId owner;
  // What the conversation is about now. Empty: the latest.
  std::string question{};
  RecallMode mode = RecallMode::kSemantic;
  std::size_t top_k = 3;
  // Only those of this session, or none of this one.
  std::optional<SessionId> session{};
  std::optional<SessionId> except{};
  // Lines of the episodes that are nearest to the question, quoted with them. 0: none.
  std::size_t quotes = 3;
  // Set when nobody waits any more.
  CancelToken cancel{};
};

struct RecalledEpisode {
  Episode episode;
  double score = 0;
  // "user: I have a dog" …
  std::vector<std::string> quotes;
};

struct EpisodeUpkeep {
  std::size_t archived = 0;
  std::size_t deleted = 0;
};

// Concurrency: any thread. They block.
class EpisodicMemory {
 public:
  // Keeps references. Without an embedder, episodes are found by their words.
  EpisodicMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder);
  ~EpisodicMemory();
  EpisodicMemory(const EpisodicMemory&) = delete;
  EpisodicMemory& operator=(const EpisodicMemory&) = delete;

  void set_summariser(SummariseSpan summarise);

  // The messages of the branch that are in no episode yet, and behind them `turn`.
  Result<std::vector<Message>> open_span(const SessionKey& key, const BranchHead& branch,
                                         std::span<const Message> turn = {}) const;
  // The span of the branch that is in no episode yet, as a record that closes it: to be added to the commit
  // that ends the session. Nothing if there is no such span. `turn` holds messages that the same commit adds.
  Result<std::optional<Record>> record_of_span(const SessionKey& key, const BranchHead& branch,
                                               EndReason reason, bool mask_personal_data,
                                               std::span<const Message> turn = {});

  // By meaning and words, the nearest first; by recency, the latest first.
  Result<std::vector<RecalledEpisode>> recall(const EpisodeQuery& query);
  // The latest first.
  Result<std::vector<Episode>> list(const TenantId& tenant, const OwnerId& owner);
  // Sessions whose episodes cannot all be read, because they are damaged: those are missing everywhere else.
  Result<std::vector<SessionId>> damaged(const TenantId& tenant, const OwnerId& owner);

  // It is recalled by its summary from now on, and no longer quoted. kNotFound if there is none.
  Result<void> archive(const SessionKey& key, EpisodeId episode);
  // Its messages do not become part of another episode. kNotFound if there is none.
  Result<void> forget(const SessionKey& key, EpisodeId episode);
  // The same episode, told again from what is left of its messages, without a model.
  Result<Episode> remake(const Episode& episode, std::span<const Message> left) const;
  // Episodes of these messages are gone; those of the spans they lie in, too.
  Result<std::size_t> forget_messages(const SessionKey& key, std::span<const MessageId> messages);

  // What is held in RAM of an owner is read again when it is next used.
  void drop_owner(const TenantId& tenant, const OwnerId& owner);
  void drop_all();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia
