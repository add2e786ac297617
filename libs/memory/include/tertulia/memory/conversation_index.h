// A ConversationIndex: finds single messages of past conversations.
//
//   ConversationIndex index(static_embedder());
//   index.add({.id = …, .session = …, .place = 12, .speaker = "Anna", .text = "…", .time = …});
//   index.search("When did Anna move?", 10);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

struct IndexedMessage {
  // Usually the message id as text.
  std::string id;
  // Which conversation, or which span of one; messages of one stand in the order of `place`.
  std::string conversation{};
  std::uint64_t place = 0;
  // As people call them: "Anna", "user", "assistant".
  std::string speaker{};
  std::string text;
  std::optional<Time> time{};
};

// A message as it is indexed: what it says in words, without reasoning, tool calls and tool results. Its
// speaker is its author, or its role where it names none.
IndexedMessage indexed_message(const Message& message, std::string conversation, std::uint64_t place);

// Concurrency: as a value; searching (const) from any number of threads at a time.
class ConversationIndex {
 public:
  // Null: by words only.
  explicit ConversationIndex(std::shared_ptr<Embedder> embedder);

  // Embeds them in batches and adds them. Errors are the embedder's; nothing was added then.
  Result<void> add(std::vector<IndexedMessage> messages);
  bool remove(std::string_view id);
  std::size_t size() const { return index_.size(); }

  // The best first. An embedder that fails costs only the meaning: words still find.
  std::vector<Found> search(std::string_view question, std::size_t top_k = 10) const;
  // With everything that can be asked; the vector of the query is made here if it has none.
  std::vector<Found> search(IndexQuery query) const;

  std::vector<std::string> neighbours(std::string_view id, std::size_t reach) const {
    return index_.neighbours(id, reach);
  }

 private:
  std::shared_ptr<Embedder> embedder_;
  HybridIndex index_;
};

}  // namespace tertulia
