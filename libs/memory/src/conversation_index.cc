#include "tertulia/memory/conversation_index.h"

#include <utility>

#include "index_options.h"

namespace tertulia {
IndexedMessage indexed_message(const Message& message, std::string conversation, std::uint64_t place) {
  IndexedMessage indexed{.id = message.id().text(),
                         .conversation = std::move(conversation),
                         .place = place,
                         .speaker = std::string(message.author()),
                         .time = message.time()};
  if (indexed.speaker.empty()) indexed.speaker = name_of(message.role());
  indexed.text = message.text_content();
  return indexed;
}

ConversationIndex::ConversationIndex(std::shared_ptr<Embedder> embedder)
    : embedder_(std::move(embedder)), index_(index_options(embedder_.get())) {}

Result<void> ConversationIndex::add(std::vector<IndexedMessage> messages) {
  std::vector<Vector> vectors(messages.size());
  if (embedder_) {
    std::vector<std::string> texts;
    texts.reserve(messages.size());
    for (const IndexedMessage& message : messages) {
      texts.push_back(message.speaker.empty() ? message.text : message.speaker + ": " + message.text);
    }
    TERTULIA_TRY_AS(vectors, embed(*embedder_, std::move(texts)));
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    IndexedMessage& message = messages[i];
    TERTULIA_TRY(index_.add({.id = std::move(message.id),
                             .text = std::move(message.text),
                             .speaker = std::move(message.speaker),
                             .sequence = std::move(message.conversation),
                             .place = message.place,
                             .time = message.time,
                             .vector = std::move(vectors[i])}));
  }
  return {};
}

bool ConversationIndex::remove(std::string_view id) { return index_.remove(id); }

std::vector<Found> ConversationIndex::search(std::string_view question, std::size_t top_k) const {
  return search(IndexQuery{.text = std::string(question), .top_k = top_k});
}

std::vector<Found> ConversationIndex::search(IndexQuery query) const {
  if (embedder_ && query.vector.empty()) {
    if (auto vectors = embed(*embedder_, {query.text}); vectors && vectors->size() == 1) {
      query.vector = std::move(vectors->front());
    }
  }
  return index_.search(query);
}

}  // namespace tertulia
