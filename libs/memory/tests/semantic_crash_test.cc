// What a crash leaves of a collection: all of the old, or all of the new.
#include <cstdio>

#include <gmock/gmock.h>

#include "tertulia/base/log.h"
#include "tertulia/base/testing/sim_env.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"

#include "collection_state.h"

namespace tertulia {
namespace semantic_crash_test {

const MemoryWriter kWriter{WriterKind::kOperator, "test"};

CollectionId handbook() { return shared_collection(TenantId::parse("acme").value(), "handbook").value(); }

Document version(int number) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "Sentence " + std::to_string(i) + " of version " + std::to_string(number) + " is here. ";
  }
  return {.source = "book", .bytes = text};
}

SemanticOptions small_chunks() { return {.chunks = {.size = 24, .overlap = 0}}; }

// The texts of all chunks behind one another.
std::string content(Store& store, Env& env) {
  SemanticMemory memory(store, env, static_embedder(), small_chunks());
  std::map<std::uint64_t, std::string> chunks;
  for (const MemoryItem& item : memory.list(handbook(), 1'000).value().items) chunks[item.place] += item.text;
  std::string text;
  for (const auto& [place, chunk] : chunks) text += chunk;
  return text;
}

Result<IngestReport> ingest(Store& store, Env& env, int number) {
  SemanticMemory memory(store, env, static_embedder(), small_chunks());
  return memory.ingest(handbook(), version(number), kWriter);
}

std::unique_ptr<Store> open_quietly(SimEnv& env) {
  Log log(make_log_sink(stderr, LogFormat::kHuman), env.clock(), LogLevel::kError);
  return open_json_store(env, "/data", {.log = log}).value();
}

// Cuts the power after `cut` changes of the disk while version 2 takes the place of version 1. What is found
// afterwards; `finished` says whether the second version had been acknowledged.
std::string found_after_cut(std::uint64_t cut, std::uint64_t choice, bool& finished) {
  SimEnv env(cut);
  {
    const auto store = open_quietly(env);
    ingest(*store, env, 1).value();
    env.disk().set_faults({.power_off_after = cut});
    finished = ingest(*store, env, 2).ok();
  }
  if (choice == 0) {
    env.disk().crash(CrashPolicy::kLoseUnsynced);
  } else {
    env.disk().crash(CrashPolicy::kAnything, choice);
  }
  const auto store = open_quietly(env);
  std::string found = content(*store, env);
  // It works on.
  ingest(*store, env, 3).value();
  EXPECT_EQ(content(*store, env), version(3).bytes);
  return found;
}

TEST(SemanticCrash, APowerCutWhileASourceIsReplacedLeavesTheOldOrTheNew) {
  bool finished = false;
  int old_ones = 0;
  for (std::uint64_t cut = 1; !finished && cut < 100; ++cut) {
    for (std::uint64_t choice = 0; choice < 6; ++choice) {
      const std::string found = found_after_cut(cut, choice, finished);
      const bool is_old = found == version(1).bytes;
      EXPECT_TRUE(is_old || found == version(2).bytes) << "cut after change " << cut << ": " << found;
      EXPECT_FALSE(finished && is_old) << "what was acknowledged is gone";
      old_ones += is_old ? 1 : 0;
    }
  }
  EXPECT_TRUE(finished);
  EXPECT_GT(old_ones, 0);
}

TEST(SemanticCrash, ChunksThatACutIngestionLeftAreNotFoundAndGoWithTheNext) {
  SimEnv env(3);
  const auto store = open_memory_store();
  ingest(*store, env, 1).value();
  StoredItem left{.generation = "another"};
  left.item = {.id = "left-1", .source = "book", .text = "zebra"};
  left.vector = embed(*static_embedder(), {"zebra"}).value().front();
  note(*store, {.key = handbook().key(), .changes = {AddRecord{to_record(left)}}}).value();
  EXPECT_EQ(content(*store, env), version(1).bytes);
  const std::uint64_t before = verify(*store).value().records;
  ingest(*store, env, 2).value();
  EXPECT_EQ(verify(*store).value().records, before - 1);
}

TEST(SemanticCrash, SourcesOfThousandsOfChunksAreWrittenInSteps) {
  SimEnv env(3);
  const auto store = open_memory_store();
  Document large{.source = "book"};
  for (int i = 0; i < 5'000; ++i) large.bytes += "Row number " + std::to_string(i) + " holds a value.\n\n";
  SemanticMemory memory(*store, env, static_embedder(), small_chunks());
  const IngestReport report = memory.ingest(handbook(), large, kWriter).value();
  EXPECT_GT(report.chunks, kStepChanges);
  large.bytes += "One more.";
  EXPECT_EQ(memory.ingest(handbook(), large, kWriter).value().removed, report.chunks);
  EXPECT_EQ(content(*store, env).substr(0, 100), large.bytes.substr(0, 100));
}

TEST(SemanticCrash, EveryStoreKeepsWhatIsRemembered) {
  const Path directory = Path(::testing::TempDir()) / "tertulia-semantic";
  for (const std::string kind : {"json", "sqlite"}) {
    std::filesystem::remove_all(directory);
    const auto open = [&]() -> std::unique_ptr<Store> {
      if (kind == "json") return open_json_store(real_env(), directory).value();
      return open_sqlite_store(real_env(), directory).value();
    };
    {
      const auto store = open();
      ingest(*store, real_env(), 1).value();
    }
    const auto store = open();
    EXPECT_EQ(content(*store, real_env()), version(1).bytes) << kind;
    ingest(*store, real_env(), 2).value();
    EXPECT_EQ(content(*store, real_env()), version(2).bytes) << kind;
    EXPECT_TRUE(verify(*store).value().problems.empty()) << kind;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace semantic_crash_test
}  // namespace tertulia
