#include "tertulia/memory/semantic_memory.h"

#include <gmock/gmock.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/base/uuid.h"
#include "tertulia/memory/procedural_memory.h"
#include "tertulia/store/memory_store.h"

#include "counting_store.h"

namespace tertulia {
namespace semantic_memory_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const TenantId kTenant = TenantId::parse("acme").value();
const OwnerId kAnna = OwnerId::parse("anna").value();
const OwnerId kBen = OwnerId::parse("ben").value();
const MemoryWriter kWriter{WriterKind::kUser, "anna"};

constexpr std::string_view kManual =
    "# Opening hours\n\nThe museum opens at nine on weekdays and at ten on Sunday.\n\n"
    "# Tickets\n\nA ticket costs twelve euros; children pay half.\n\n"
    "# Cloakroom\n\nUmbrellas and large bags stay in the cloakroom.\n";

// Counts what it is asked, and can be another one by name.
class CountingEmbedder final : public Embedder {
 public:
  explicit CountingEmbedder(std::string name = "counting") : info_(static_embedder()->info()) {
    info_.name = std::move(name);
  }
  const EmbedderInfo& info() const override { return info_; }
  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    texts += call.texts.size();
    static_embedder()->embed(std::move(call), std::move(done));
  }
  std::size_t texts = 0;

 private:
  EmbedderInfo info_;
};

class SemanticMemoryTest : public ::testing::Test {
 protected:
  SemanticMemoryTest() { restart(); }

  // What a new process sees: nothing in RAM.
  void restart() {
    memory.reset();
    memory = std::make_unique<SemanticMemory>(*store, env, embedder,
                                              SemanticOptions{.chunks = {.size = 24, .overlap = 6}});
  }

  Document manual(std::string_view bytes = kManual) {
    return {.source = "manual.md", .format = DocumentFormat::kMarkdown, .bytes = std::string(bytes)};
  }
  std::string best(std::string_view question, const RecallOptions& options = {}) {
    const auto found = memory->recall(std::span(&mine, 1), question, options).value();
    return found.empty() ? std::string() : found.front().item.text;
  }
  std::uint64_t records() { return verify(*store).value().records; }
  Remembered remember(std::string text, std::vector<MessageId> sources = {}) {
    return memory->remember(mine, {.text = std::move(text), .sources = std::move(sources)}, kWriter).value();
  }
  MessageId message() { return MessageId(ids.make()); }

  SimEnv env{7};
  UuidMaker ids{env.clock(), env.random()};
  std::unique_ptr<Store> store = open_memory_store();
  std::shared_ptr<CountingEmbedder> embedder = std::make_shared<CountingEmbedder>();
  CollectionId mine = user_collection(kTenant, kAnna).value();
  std::unique_ptr<SemanticMemory> memory;
};

TEST_F(SemanticMemoryTest, ADocumentIsFoundByItsMeaningAndItsWordsAlsoAfterARestart) {
  std::vector<IngestProgress> progress;
  const IngestReport report =
      memory
          ->ingest(mine, manual(), kWriter,
                   {.progress = [&](const IngestProgress& step) { progress.push_back(step); }})
          .value();
  EXPECT_TRUE(report.changed);
  EXPECT_GE(report.chunks, 3U);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().chunks_done, report.chunks);
  for (int life = 0; life < 2; ++life) {
    EXPECT_THAT(best("What is the price of admission tickets?"), HasSubstr("twelve euros"));
    EXPECT_THAT(best("umbrella"), HasSubstr("Umbrellas"));
    restart();
  }
}

TEST_F(SemanticMemoryTest, AnUnchangedSourceIsNeitherEmbeddedNorWrittenAgain) {
  memory->ingest(mine, manual(), kWriter).value();
  const std::uint64_t before = records();
  const std::size_t texts = embedder->texts;
  restart();
  const IngestReport again = memory->ingest(mine, manual(), kWriter).value();
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(records(), before);
  EXPECT_EQ(embedder->texts, texts);
}

TEST_F(SemanticMemoryTest, AChangedSourceIsReplaced) {
  memory->ingest(mine, manual(), kWriter).value();
  const IngestReport report = memory->ingest(mine, manual("# Tickets\n\nEntry is free.\n"), kWriter).value();
  EXPECT_TRUE(report.changed);
  EXPECT_GE(report.removed, 3U);
  for (int life = 0; life < 2; ++life) {
    EXPECT_THAT(memory->list(mine).value().items, SizeIs(report.chunks));
    EXPECT_THAT(best("tickets"), HasSubstr("free"));
    restart();
  }
}

TEST_F(SemanticMemoryTest, DocumentsAreListedAsAWholePageByPage) {
  const IngestReport report = memory->ingest(mine, manual(), kWriter, {.metadata = {{"lang", "en"}}}).value();
  for (const std::string name : {"c.txt", "a.txt", "b.txt"}) {
    memory->ingest(mine, {.source = name, .bytes = "A line of " + name + "."}, kWriter).value();
  }
  remember("I live in Madrid");
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(memory->count(mine).value(),
              (CollectionCounts{.items = report.chunks + 4, .documents = 4, .facts = 1}));
    std::vector<std::string> sources;
    std::vector<std::size_t> sizes;
    std::string cursor;
    DocumentInfo last;
    do {
      const DocumentPage page = memory->documents(mine, 2, cursor).value();
      sizes.push_back(page.documents.size());
      for (const DocumentInfo& document : page.documents) sources.push_back((last = document).source);
      cursor = page.next;
    } while (!cursor.empty());
    EXPECT_THAT(sources, ElementsAre("a.txt", "b.txt", "c.txt", "manual.md"));
    EXPECT_THAT(sizes, ElementsAre(2, 2)) << "no empty page at the end";
    EXPECT_EQ(last.chunks, report.chunks);
    EXPECT_GT(last.tokens, 24U);
    EXPECT_LE(last.tokens, 24U * report.chunks);
    EXPECT_EQ(last.metadata.at("lang"), "en");
    EXPECT_EQ(last.writer, memory->list(mine).value().items.front().writer);
    restart();
  }
  memory->forget(mine, {.sources = {"b.txt"}}).value();
  EXPECT_THAT(memory->documents(mine).value().documents, SizeIs(3));
  EXPECT_THAT(memory->documents(mine, 100, "b.txt").value().documents, SizeIs(2))
      << "behind one that is gone";
  const CollectionId nobody = shared_collection(kTenant, "none").value();
  EXPECT_THAT(memory->documents(nobody).value().documents, IsEmpty());
  EXPECT_EQ(memory->count(nobody).value(), CollectionCounts());
}

TEST_F(SemanticMemoryTest, ASourceThatWasForgottenCanComeBack) {
  memory->ingest(mine, manual(), kWriter).value();
  memory->forget(mine, {.sources = {"manual.md"}}).value();
  EXPECT_THAT(memory->list(mine).value().items, IsEmpty());
  restart();
  EXPECT_EQ(best("tickets"), "");
  EXPECT_TRUE(memory->ingest(mine, manual(), kWriter).value().changed);
  EXPECT_THAT(best("tickets"), HasSubstr("twelve"));
}

TEST_F(SemanticMemoryTest, CancellingLeavesTheCollectionAsItWas) {
  CancelSource source;
  const IngestOptions options{.progress = [&](const IngestProgress&) { source.cancel(CancelReason::kUser); },
                              .cancel = source.token()};
  EXPECT_EQ(memory->ingest(mine, manual(), kWriter, options).error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(records(), 0U);
  EXPECT_THAT(memory->list(mine).value().items, IsEmpty());
}

TEST_F(SemanticMemoryTest, ToolsAndModelsMayNotWrite) {
  EXPECT_EQ(memory->ingest(mine, manual(), {WriterKind::kTool, "fetch_url"}).error().code(),
            ErrorCode::kNotPermitted);
  EXPECT_EQ(memory->remember(mine, {.text = "x"}, {WriterKind::kModel, "m"}).error().code(),
            ErrorCode::kNotPermitted);
  EXPECT_EQ(records(), 0U);
}

TEST_F(SemanticMemoryTest, NobodyFindsWhatBelongsToAnother) {
  remember("I live in Madrid");
  const CollectionId theirs = user_collection(kTenant, kBen).value();
  EXPECT_THAT(memory->recall(std::span(&theirs, 1), "Madrid").value(), IsEmpty());
  const CollectionId elsewhere = user_collection(TenantId::parse("other").value(), kAnna).value();
  EXPECT_THAT(memory->recall(std::span(&elsewhere, 1), "Madrid").value(), IsEmpty());
}

TEST_F(SemanticMemoryTest, SeveralCollectionsAreRecalledTogether) {
  remember("I live in Madrid");
  const CollectionId shared = shared_collection(kTenant, "handbook").value();
  memory->ingest(shared, {.source = "a", .bytes = "The office in Madrid has a roof garden."}, kWriter)
      .value();
  const std::vector<CollectionId> both = {mine, shared};
  EXPECT_THAT(memory->recall(both, "Madrid").value(), SizeIs(2));
}

TEST_F(SemanticMemoryTest, ACollectionRefusesAnotherEmbedder) {
  remember("I live in Madrid");
  SemanticMemory other(*store, env, std::make_shared<CountingEmbedder>("another"));
  const auto refused = other.recall(std::span(&mine, 1), "Madrid");
  EXPECT_EQ(refused.error().code(), ErrorCode::kBadConfig);
  EXPECT_THAT(refused.error().message(), HasSubstr("counting"));
  EXPECT_EQ(other.remember(mine, {.text = "x"}, kWriter).error().code(), ErrorCode::kBadConfig);
}

TEST_F(SemanticMemoryTest, RecallKeepsToItsLimits) {
  memory->ingest(mine, manual(), kWriter).value();
  EXPECT_THAT(memory->recall(std::span(&mine, 1), "museum ticket cloakroom", {.top_k = 2}).value(),
              SizeIs(2));
  const auto few = memory->recall(std::span(&mine, 1), "museum ticket cloakroom", {.max_tokens = 20}).value();
  std::size_t tokens = 0;
  for (const Recalled& one : few) tokens += one.tokens;
  EXPECT_LE(tokens, 20U);
  EXPECT_THAT(memory->recall(std::span(&mine, 1), "quantum chromodynamics", {.min_score = 0.75}).value(),
              IsEmpty());
}

TEST_F(SemanticMemoryTest, NeighboursAreJoinedWithoutRepeatingWhatTheyShare) {
  const std::string text =
      "The first sentence is about apples and pears. The second sentence is about trains and rails. The "
      "third "
      "sentence is about rivers and lakes. The fourth sentence is about stars and planets.";
  memory->ingest(mine, {.source = "a", .bytes = text}, kWriter).value();
  const auto found =
      memory->recall(std::span(&mine, 1), "rivers and lakes", {.top_k = 1, .neighbours = 9}).value();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().text, text);
}

TEST_F(SemanticMemoryTest, FiveFactsInThreeWordingsStayFive) {
  const std::vector<std::string> told = {
      "I live in Madrid",         "My home is in Madrid",    "The user lives in Madrid",
      "I am allergic to peanuts", "I have a peanut allergy", "I'm allergic to peanuts.",
      "My dog is called Rex",     "I have a dog named Rex",  "The name of my dog is Rex",
      "I work as a nurse",        "My job is nursing",       "I'm working as a nurse",
      "My birthday is 3 May",     "I was born on 3 May",     "My birthday is on May 3"};
  for (const std::string& text : told) remember(text);
  EXPECT_LE(memory->facts(mine).value().size(), 6U);
}

TEST_F(SemanticMemoryTest, AContradictionLeavesOneCurrentAndOneSuperseded) {
  const Time start = env.clock().now();
  remember("I live in Madrid");
  env.sim_clock().advance(std::chrono::hours(24));
  const Remembered moved = remember("I live in Lisbon now");
  ASSERT_THAT(moved.superseded, SizeIs(1));
  for (int life = 0; life < 2; ++life) {
    const auto now = memory->facts(mine).value();
    ASSERT_THAT(now, SizeIs(1));
    EXPECT_EQ(now.front().text, "I live in Lisbon now");
    const auto then = memory->facts(mine, start + std::chrono::hours(1)).value();
    ASSERT_THAT(then, SizeIs(1));
    EXPECT_EQ(then.front().superseded_by, moved.fact.id);
    EXPECT_EQ(best("Where do I live?"), "I live in Lisbon now");
    EXPECT_EQ(best("Where do I live?", {.as_of = start + std::chrono::hours(1)}), "I live in Madrid");
    restart();
  }
}

TEST_F(SemanticMemoryTest, WhatWasToldLaterHoldsWhicheverWasLearnedFirst) {
  const Time now = env.clock().now();
  const auto ago = [&](int days) { return now - std::chrono::days(days); };
  const auto tell = [&](std::string text, int days) {
    return memory->remember(mine, {.text = std::move(text), .valid_from = ago(days)}, kWriter).value();
  };
  const auto home = [&](int days) { return best("Where do I live?", {.as_of = ago(days)}); };
  const std::string lisbon = tell("I live in Lisbon", 2).fact.id;
  const Remembered madrid = tell("I live in Madrid", 6);
  EXPECT_FALSE(madrid.known);
  EXPECT_THAT(madrid.superseded, IsEmpty());
  EXPECT_EQ(madrid.fact.superseded_by, lisbon);
  EXPECT_EQ(madrid.fact.valid_until, ago(2));
  tell("I live in Porto", 4);
  EXPECT_TRUE(tell("I live in Lisbon", 3).known) << "and has been true for a day longer";
  EXPECT_FALSE(tell("I live in Lisbon", 5).known) << "before Porto it was another time";
  for (int life = 0; life < 2; ++life) {
    EXPECT_THAT(memory->facts(mine).value(), SizeIs(1));
    EXPECT_EQ(home(0), "I live in Lisbon");
    EXPECT_EQ(home(3), "I live in Lisbon");
    EXPECT_EQ(home(4), "I live in Porto");
    EXPECT_EQ(home(5), "I live in Lisbon");
    EXPECT_EQ(home(6), "I live in Madrid");
    EXPECT_EQ(home(7), "");
    restart();
  }
}

TEST_F(SemanticMemoryTest, AFactGoesWithTheLastMessageThatSaidIt) {
  const MessageId first = message();
  const MessageId second = message();
  remember("I live in Madrid", {first});
  EXPECT_TRUE(remember("My home is in Madrid", {second}).known);
  EXPECT_EQ(memory->forget(mine, {.messages = {first}}).value().changed, 1U);
  restart();
  ASSERT_THAT(memory->facts(mine).value(), SizeIs(1));
  EXPECT_THAT(memory->facts(mine).value().front().sources, ElementsAre(second));
  EXPECT_EQ(memory->forget(mine, {.messages = {second}}).value().removed, 1U);
  restart();
  EXPECT_THAT(memory->facts(mine).value(), IsEmpty());
}

TEST_F(SemanticMemoryTest, ADocumentGoesWithTheLastMessageItCameFrom) {
  const MessageId first = message();
  const MessageId second = message();
  memory->ingest(mine, manual(), kWriter, {.sources = {first, second}}).value();
  EXPECT_EQ(memory->forget(mine, {.messages = {first}}).value().removed, 0U);
  restart();
  EXPECT_THAT(memory->list(mine).value().items.front().sources, ElementsAre(second));
  EXPECT_GE(memory->forget(mine, {.messages = {second}}).value().removed, 3U);
  restart();
  EXPECT_THAT(memory->list(mine).value().items, IsEmpty());
}

TEST_F(SemanticMemoryTest, ForgettingAllErasesTheSession) {
  memory->ingest(mine, manual(), kWriter).value();
  EXPECT_EQ(memory->forget_all(mine).value().sessions, 1U);
  EXPECT_EQ(records(), 0U);
  EXPECT_EQ(best("tickets"), "");
}

TEST_F(SemanticMemoryTest, OnlySoManyCollectionsAreHeldInRamAndNothingIsLost) {
  CountingStore counted(*store);
  SemanticMemory some(counted, env, embedder, {.open_collections = 8});
  const auto of_guest = [&](int guest) {
    return user_collection(kTenant, OwnerId::parse("guest" + std::to_string(guest)).value()).value();
  };
  const auto home_of = [&](int guest) { return some.facts(of_guest(guest)).value().at(0).text; };
  for (int guest = 0; guest < 20; ++guest) {
    some.remember(of_guest(guest), {.text = "I live in house " + std::to_string(guest)}, kWriter).value();
  }
  counted.reads = 0;
  EXPECT_EQ(home_of(19), "I live in house 19");
  EXPECT_EQ(counted.reads, 0U) << "those that were used last are there";
  EXPECT_EQ(home_of(0), "I live in house 0");
  EXPECT_GT(counted.reads, 0U) << "the others are read again";
  for (int guest = 0; guest < 20; ++guest)
    EXPECT_EQ(home_of(guest), "I live in house " + std::to_string(guest));
}

TEST_F(SemanticMemoryTest, ListsPageByPage) {
  for (const std::string name : {"Anna", "Boris", "Clara", "Dimitri", "Elena"})
    remember("The guest is " + name);
  std::size_t seen = 0;
  std::string cursor;
  do {
    const ItemPage page = memory->list(mine, 2, cursor).value();
    seen += page.items.size();
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(seen, 5U);
}

// One that fails until it is told not to.
class FailingEmbedder final : public Embedder {
 public:
  const EmbedderInfo& info() const override { return static_embedder()->info(); }
  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    ++calls;
    if (failing) return done(Error(ErrorCode::kModelUnavailable, "no embedder"));
    static_embedder()->embed(std::move(call), std::move(done));
  }
  bool failing = true;
  int calls = 0;
};

TEST(ProceduralEmbedding, AnEmbedderThatHasFailedIsAskedAgainLater) {
  SimEnv env(1);
  const auto store = open_memory_store();
  const auto embedder = std::make_shared<FailingEmbedder>();
  const TenantId tenant = TenantId::parse("acme").value();
  ProceduralMemory procedures(*store, env, embedder);
  const Procedure refund{.name = "refund",
                         .description = "Refund a customer",
                         .steps = {{.instruction = "Ask first."}},
                         .approved = true};
  ASSERT_TRUE(procedures.put(tenant, {}, refund, {.kind = WriterKind::kUser, .name = "ada"}));
  const auto match = [&] { return procedures.match(tenant, {}, "Refund a customer", 0.5); };
  EXPECT_EQ(match().error().code(), ErrorCode::kModelUnavailable);
  embedder->failing = false;
  const int calls = embedder->calls;
  EXPECT_FALSE(match().value());
  EXPECT_LE(embedder->calls, calls + 1) << "only what was said is embedded: the procedure's turn comes later";
  env.sim_clock().advance(std::chrono::minutes(2));
  EXPECT_TRUE(match().value());
}

}  // namespace semantic_memory_test
}  // namespace tertulia
