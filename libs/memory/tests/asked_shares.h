// How often a score says rightly whether something that is known belongs to a question: of the collections
// and questions of asked_documents.h, for any embedder, with words or by meaning alone.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/memory_store.h"

#include "asked_documents.h"

namespace tertulia::trial {

struct Share {
  int found = 0;
  int asked = 0;

  void count(bool is_found) {
    ++asked;
    found += is_found ? 1 : 0;
  }
  double percent() const { return asked == 0 ? 0 : 100.0 * found / asked; }
};

struct AskedShares {
  // Questions to which the text that answers them was found; those of long texts among them.
  Share fitting;
  Share fitting_long;
  // Questions about something else that found anything: those that nobody's texts answer, and those that
  // belong to the texts of somebody else.
  Share strangers;
  Share others;
};

// A collection for each home, each with a store of its own.
class AskedHomes {
 public:
  AskedHomes(std::span<const AskedHome> homes, std::shared_ptr<Embedder> given) : homes_(homes) {
    // The same questions are asked of every home, and twice.
    const std::shared_ptr<Embedder> embedder = cached_embedder(std::move(given));
    for (const AskedHome& home : homes) {
      Place place{.store = open_memory_store(), .memory = nullptr};
      place.memory = std::make_unique<SemanticMemory>(*place.store, real_env(), embedder);
      for (const KnownText& text : home.texts) keep(*place.memory, text);
      places_.push_back(std::move(place));
    }
  }

  AskedShares ask(std::span<const std::string_view> strangers, bool hybrid, double min_score) {
    AskedShares shares;
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      const auto names = [&](std::string_view question) { return found(i, question, hybrid, min_score); };
      for (const AskedQuestion& question : homes_[i].questions) {
        const bool is_found = names(question.text).contains(std::string(question.answer));
        shares.fitting.count(is_found);
        if (is_long(homes_[i], question.answer)) shares.fitting_long.count(is_found);
      }
      for (const std::string_view question : strangers) shares.strangers.count(!names(question).empty());
      for (std::size_t k = 0; k < homes_.size(); ++k) {
        if (k == i) continue;
        for (const AskedQuestion& question : homes_[k].questions) {
          shares.others.count(!names(question.text).empty());
        }
      }
    }
    return shares;
  }

 private:
  struct Place {
    std::shared_ptr<Store> store;
    std::unique_ptr<SemanticMemory> memory;
  };

  static CollectionId collection() { return shared_collection(TenantId::parse("t").value(), "home").value(); }

  static bool is_long(const AskedHome& home, std::string_view name) {
    return std::any_of(home.texts.begin(), home.texts.end(), [&](const KnownText& text) {
      return text.name == name && text.kind == TextKind::kLongDocument;
    });
  }

  // A fact has no source: its name is its text.
  static void keep(SemanticMemory& memory, const KnownText& text) {
    const MemoryWriter writer{.kind = WriterKind::kOperator, .name = "trial"};
    if (text.kind == TextKind::kFact) {
      memory.remember(collection(), {.text = std::string(text.text)}, writer).value();
      return;
    }
    memory
        .ingest(
            collection(),
            {.source = std::string(text.name),
             .format = text.kind == TextKind::kDocument ? DocumentFormat::kMarkdown : DocumentFormat::kText,
             .bytes = std::string(text.text)},
            writer)
        .value();
  }

  std::set<std::string> found(std::size_t home, std::string_view question, bool hybrid, double min_score) {
    const CollectionId id = collection();
    std::set<std::string> names;
    for (const Recalled& one :
         places_[home]
             .memory
             ->recall(std::span(&id, 1), question, {.top_k = 5, .min_score = min_score, .hybrid = hybrid})
             .value()) {
      for (const KnownText& text : homes_[home].texts) {
        if (one.item.source == text.name || one.item.text == text.text) names.emplace(text.name);
      }
    }
    return names;
  }

  std::span<const AskedHome> homes_;
  std::vector<Place> places_;
};

}  // namespace tertulia::trial
