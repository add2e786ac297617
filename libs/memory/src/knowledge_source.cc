#include "tertulia/memory/knowledge_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/base/log.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/memory/prompt.h"

#include "memory_sources.h"

namespace tertulia {
namespace {

// Collections that are read when the program starts: those that were written to last.
constexpr std::size_t kPrepared = 64;
// What was found besides, told in the receipt with the reason why it is not shown.
constexpr std::size_t kAlsoFound = 3;

std::string source_of(const Recalled& found) {
  if (found.item.kind == MemoryKind::kFact) return "what is known since " + day_of(found.item.time);
  std::string source = found.item.source;
  for (const std::string& heading : found.item.heading_path) source += " › " + heading;
  return source;
}

class KnowledgeSource final : public ContextSource {
 public:
  KnowledgeSource(std::shared_ptr<SemanticMemory> semantic, std::shared_ptr<Store> store,
                  std::map<AgentId, KnowledgeScope> scopes, KnowledgeScope others, MakeExtractor extractor)
      : semantic_(std::move(semantic)),
        store_(std::move(store)),
        scopes_(std::move(scopes)),
        others_(std::move(others)),
        extractor_(std::move(extractor)) {}

  std::string_view name() const override { return "knowledge"; }

  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override {
    std::vector<ContextItem> items;
    const MemoryConfig& config = request.config;
    if (!config.semantic_enabled || config.semantic_top_k == 0) return items;
    TERTULIA_TRY_AS(const std::vector<CollectionId> collections, collections(request.key, request.agent));
    TERTULIA_TRY_AS(const std::vector<Recalled> found,
                    semantic_->recall(collections, request.question,
                                      {.top_k = config.semantic_top_k + kAlsoFound,
                                       .hybrid = config.semantic_hybrid,
                                       .rerank = config.semantic_rerank,
                                       .cancel = request.cancel}));
    for (const Recalled& one : found) {
      ContextItem item{.tier = Tier::kKnowledge,
                       .id = one.item.id,
                       .source = source_of(one),
                       .text = one.text,
                       .score = one.score};
      if (one.score < config.semantic_min_score) item.reason = FateReason::kLowScore;
      if (items.size() >= config.semantic_top_k && item.reason == FateReason::kFits) {
        item.reason = FateReason::kTierLimit;
      }
      items.push_back(std::move(item));
    }
    return items;
  }

  // Those of all tenants that were used last; the others are read when they are first needed.
  Result<void> prepare() override {
    SessionQuery query{.tenant = {}, .idle_since = Time::max(), .own = OwnSessions::kOnly, .limit = 1'000};
    std::size_t prepared = 0;
    do {
      TERTULIA_TRY_AS(SessionPage page, list(*store_, query));
      for (const SessionSummary& session : page.sessions) {
        if (!session.key.session.text().starts_with("~memory.")) continue;
        if (++prepared > kPrepared) return {};
        TERTULIA_TRY(semantic_->prepare({session.key.tenant, session.key.owner, session.key.session}));
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
    return {};
  }

  // Into what all agents know of the user: it is the user who said it.
  Result<std::size_t> learn(const SessionKey& key, std::span<const Message> messages, bool mask) override {
    TERTULIA_TRY_AS(const CollectionId mine, user_collection(key.tenant, key.owner));
    TERTULIA_TRY_AS(std::vector<NewFact> facts, facts_in(messages));
    const MemoryWriter writer{.kind = WriterKind::kUser, .name = key.owner.text()};
    std::size_t fresh = 0;
    for (NewFact& fact : facts) {
      if (mask) fact.text = mask_personal_data(fact.text);
      TERTULIA_TRY_AS(const Remembered made, semantic_->remember(mine, std::move(fact), writer));
      if (!made.known) ++fresh;
    }
    return fresh;
  }

  Result<std::size_t> forget_messages(const TenantId& tenant, const OwnerId& owner,
                                      std::span<const MessageId> messages) override {
    std::size_t count = 0;
    std::set<std::string> damaged;
    TERTULIA_TRY_AS(const OwnerId everybody, OwnerId::parse("~shared"));
    for (const OwnerId& whose : {owner, everybody}) {
      SessionQuery query{.tenant = tenant, .owner = whose, .own = OwnSessions::kOnly, .limit = 1'000};
      do {
        TERTULIA_TRY_AS(SessionPage page, list(*store_, query));
        for (const SessionSummary& session : page.sessions) {
          if (!session.key.session.text().starts_with("~memory.")) continue;
          const Result<std::size_t> gone = forget_in({tenant, whose, session.key.session}, messages, damaged);
          if (gone) {
            count += *gone;
          } else if (gone.error().code() == ErrorCode::kSessionDamaged) {
            damaged.insert(session.key.session.text());
          } else {
            return gone.error();
          }
        }
        query.cursor = std::move(page.next);
      } while (!query.cursor.empty());
    }
    if (damaged.empty()) return count;
    return Error(ErrorCode::kSessionDamaged,
                 "what is damaged could not be searched for what is to be "
                 "forgotten; run `tertulia verify`")
        .with("sessions", std::vector<std::string>(damaged.begin(), damaged.end()))
        .with("items", static_cast<std::int64_t>(count));
  }

  void drop_owner(const TenantId& tenant, const OwnerId& owner) override {
    semantic_->drop_owner(tenant, owner);
  }

 private:
  Result<std::vector<NewFact>> facts_in(std::span<const Message> messages) const {
    if (extractor_) {
      Result<std::vector<NewFact>> found = extractor_()->extract(messages);
      if (found) return found;
      Log().component("memory").warn("the model found no facts; they were looked for by rules",
                                     {{"code", name_of(found.error().code())}});
    }
    return rule_extractor()->extract(messages);
  }

  // Prompts go before what they showed: an erase that is cut still finds it.
  Result<std::size_t> forget_in(const CollectionId& collection, std::span<const MessageId> messages,
                                std::set<std::string>& damaged) const {
    const std::set<MessageId> all(messages.begin(), messages.end());
    std::vector<std::string> items;
    std::string cursor;
    do {
      TERTULIA_TRY_AS(ItemPage page, semantic_->list(collection, 1'000, cursor));
      for (const MemoryItem& item : page.items) {
        if (std::any_of(item.sources.begin(), item.sources.end(),
                        [&](const MessageId& source) { return all.contains(source); })) {
          items.push_back(item.id);
        }
      }
      cursor = std::move(page.next);
    } while (!cursor.empty());
    TERTULIA_TRY(forget_shown(collection.tenant, collection.owner, items, damaged));
    TERTULIA_TRY_AS(const ForgetReport report,
                    semantic_->forget(collection, {.messages = {messages.begin(), messages.end()}}));
    return report.removed + report.changed;
  }

  // Past prompts that showed items which are gone. What is shared may have been shown to anybody.
  Result<void> forget_shown(const TenantId& tenant, const OwnerId& whose,
                            const std::vector<std::string>& items, std::set<std::string>& damaged) const {
    if (items.empty()) return {};
    std::set<OwnerId> owners{whose};
    if (is_shared(whose)) {
      SessionQuery query{.tenant = tenant, .limit = 1'000};
      do {
        TERTULIA_TRY_AS(SessionPage page, list(*store_, query));
        for (const SessionSummary& session : page.sessions) owners.insert(session.key.owner);
        query.cursor = std::move(page.next);
      } while (!query.cursor.empty());
    }
    for (const OwnerId& owner : owners) {
      for (const std::string& item : items) {
        TERTULIA_TRY_AS(const ForgottenParts parts, forget_prompt_parts(*store_, tenant, owner, item));
        for (const SessionId& session : parts.damaged) damaged.insert(session.text());
      }
    }
    return {};
  }

  static bool is_shared(const OwnerId& owner) { return owner.text().starts_with('~'); }

  Result<std::vector<CollectionId>> collections(const SessionKey& key, const AgentId& agent) const {
    const auto own = scopes_.find(agent);
    const KnowledgeScope& scope = own == scopes_.end() ? others_ : own->second;
    std::vector<CollectionId> all;
    if (scope.user) {
      TERTULIA_TRY_AS(CollectionId mine, user_collection(key.tenant, key.owner));
      all.push_back(std::move(mine));
    }
    if (scope.agent && !agent.empty()) {
      TERTULIA_TRY_AS(CollectionId ours, user_collection(key.tenant, key.owner, agent));
      all.push_back(std::move(ours));
      TERTULIA_TRY_AS(CollectionId its, agent_collection(key.tenant, agent));
      all.push_back(std::move(its));
    }
    for (const std::string& name : scope.shared) {
      TERTULIA_TRY_AS(CollectionId one, shared_collection(key.tenant, name));
      all.push_back(std::move(one));
    }
    return all;
  }

  std::shared_ptr<SemanticMemory> semantic_;
  std::shared_ptr<Store> store_;
  std::map<AgentId, KnowledgeScope> scopes_;
  KnowledgeScope others_;
  MakeExtractor extractor_;
};

}  // namespace

std::shared_ptr<ContextSource> knowledge_source(std::shared_ptr<SemanticMemory> semantic,
                                                std::shared_ptr<Store> store,
                                                std::map<AgentId, KnowledgeScope> scopes,
                                                KnowledgeScope others, MakeExtractor extractor) {
  return std::make_shared<KnowledgeSource>(std::move(semantic), std::move(store), std::move(scopes),
                                           std::move(others), std::move(extractor));
}

std::shared_ptr<ContextSource> knowledge_source(std::shared_ptr<SemanticMemory> semantic,
                                                std::shared_ptr<Store> store,
                                                std::vector<std::string> shared) {
  return knowledge_source(std::move(semantic), std::move(store), {}, {.shared = std::move(shared)});
}

}  // namespace tertulia
