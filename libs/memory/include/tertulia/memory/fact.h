// A Fact: one thing that was said and is held to be true, from when until when, and who said it where.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// What is to be remembered.
struct NewFact {
  // One sentence: "I live in Madrid", "Anna's birthday is 3 May".
  std::string text;
  // The messages that said it. A fact goes when the last of them is erased; one without any is the writer's.
  std::vector<MessageId> sources{};
  // Since when it is true. None: since it was told.
  std::optional<Time> valid_from{};
};

struct Fact {
  std::string id;
  std::string text;
  std::vector<MessageId> sources;
  Time valid_from{};
  // When something else became true in its place. None: it still is.
  std::optional<Time> valid_until;
  // The fact that took its place; empty if none did.
  std::string superseded_by;

  bool holds_at(Time time) const { return valid_from <= time && (!valid_until || time < *valid_until); }
  bool operator==(const Fact&) const = default;
};

// How two sentences stand to each other.
enum class FactRelation : std::uint8_t {
  kUnrelated,
  kSame,         // other words for the same
  kContradicts,  // the same question, another answer: the newer one holds
};

// By rules, without a model: the words, names and numbers of both, and the cosine of their vectors (0 if
// there are none).
FactRelation relation_of(std::string_view known, std::string_view told, double cosine);

// Finds what is worth remembering in messages. The rules are the default; a model may be asked where one is
// wanted (extract_with_model).
//
// Concurrency: any thread.
class FactExtractor {
 public:
  virtual ~FactExtractor() = default;

  virtual Result<std::vector<NewFact>> extract(std::span<const Message> messages) = 0;
};

// Sentences in which users speak of themselves: "I live in …", "my sister is called …", "I am allergic to …".
// What assistants and tools say is never taken. Calls no model.
std::unique_ptr<FactExtractor> rule_extractor();

}  // namespace tertulia
