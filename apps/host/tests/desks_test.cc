#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/memory_store.h"

#include "host/collections.h"
#include "host/ingest_record.h"
#include "host/own_session.h"
#include "host/run_marker.h"
#include "host/tracked_run.h"

namespace tertulia {
namespace desks_test {

using ::testing::ElementsAre;

const TenantId kAcme = *TenantId::parse("acme");
const OwnerId kAna = *OwnerId::parse("ana");

Event event_numbered(std::uint64_t number) {
  Event event;
  event.number = number;
  event.kind = EventKind::kTextDelta;
  event.text = "x";
  return event;
}

TEST(TrackedRun, WhoeverReadsGetsTheNextEventHoweverFarItLeaps) {
  TrackedRun run({kAcme, kAna, *SessionId::parse("s")}, "r");
  std::vector<std::uint64_t> seen;
  const auto read = [&](std::uint64_t from) {
    run.read(from, [&](Result<std::optional<Event>> event) {
      seen.push_back(event && *event ? (*event)->number : UINT64_MAX);
    });
  };
  run.add(event_numbered(0));
  run.add(event_numbered(1));
  read(0);
  read(1);
  EXPECT_THAT(seen, ElementsAre(0, 1));
  read(2);
  run.add(event_numbered(1'000));
  EXPECT_THAT(seen, ElementsAre(0, 1, 1'000));
  read(1'001);
  run.close(std::string("{}"));
  read(1'001);
  EXPECT_THAT(seen, ElementsAre(0, 1, 1'000, UINT64_MAX, UINT64_MAX));
}

TEST(TrackedRun, ARunThatWasRefusedHasNotBegun) {
  TrackedRun run({kAcme, kAna, *SessionId::parse("s")}, "r");
  std::optional<Result<void>> begun;
  run.begun([&](Result<void> result) { begun = std::move(result); });
  EXPECT_FALSE(begun);
  run.close(Error(ErrorCode::kTurnRunning, "busy"));
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->error().code(), ErrorCode::kTurnRunning);
}

TEST(Collections, NamesLeadToCollectionsAndBack) {
  for (const char* name : {"user", "user.default", "agent.default", "shared.shop.prices"}) {
    const Result<CollectionId> collection = collection_named(kAcme, kAna, name);
    ASSERT_TRUE(collection) << name;
    EXPECT_EQ(collection_name(*collection), name);
    EXPECT_EQ(is_shared(*collection), collection->owner != kAna) << name;
  }
  for (const char* name : {"", "users", "shared", "shared.", "agent", "~memory.user", "user.../x"}) {
    EXPECT_FALSE(collection_named(kAcme, kAna, name)) << name;
  }
}

TEST(RunMarker, IsReadAsItWasWritten) {
  const SessionKey runs = runs_session(kAcme, kAna);
  const RunMarker marker{.key = {kAcme, kAna, *SessionId::parse("s1")},
                         .run = "r1",
                         .workflow = "review",
                         .how = RunStart::kFork,
                         .message = "Hi",
                         .branch = main_branch(),
                         .handle = "th1_x",
                         .exact = true,
                         .show_internal = true,
                         .checkpoint = "r0/2"};
  const Result<RunMarker> read = parse_marker(runs, to_text(marker));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_text(*read), to_text(marker));
  EXPECT_EQ(read->key, marker.key);
}

TEST(RunMarker, WhatWasNotedOfRunsIsForgottenWithTheirSession) {
  const auto store = open_memory_store();
  const SessionKey runs = runs_session(kAcme, kAna);
  const auto forget = [&](const char* session) {
    return forget_runs(*store, {kAcme, kAna, *SessionId::parse(session)});
  };
  EXPECT_TRUE(forget("a")) << "nothing was noted yet";
  ASSERT_TRUE(put_own_session(*store, runs, Time{}));
  Note noted{.key = runs, .conditions = {}, .changes = {}};
  for (const char* session : {"a", "b"}) {
    const RunMarker marker{.key = {kAcme, kAna, *SessionId::parse(session)}, .run = session, .message = "Hi"};
    for (const StreamId& stream : {marker_stream(session), run_key_stream(session)})
      noted.changes.emplace_back(AddRecord{{.stream = stream, .number = 1, .payload = to_text(marker)}});
  }
  ASSERT_TRUE(note(*store, std::move(noted)));
  ASSERT_TRUE(forget("a"));
  std::vector<std::string> left;
  for (const RecordKind kind : {RecordKind::kJournal, RecordKind::kSubmission}) {
    const auto page = read_records(*store, {.tenant = kAcme, .owner = kAna, .kind = kind});
    ASSERT_TRUE(page);
    for (const StoredRecord& stored : page->records) left.push_back(stored.record.stream.scope);
  }
  EXPECT_THAT(left, ElementsAre("b", "key.b"));
}

TEST(RunMarker, EventsComeBackWithHowTheyEnded) {
  const std::vector<Event> events{event_numbered(3), event_numbered(4)};
  const Result<std::string> failed = Error(ErrorCode::kModelKey, "no key");
  const Result<StoredEvents> read = parse_events(to_text(events, &failed));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->events, events);
  ASSERT_TRUE(read->outcome);
  EXPECT_EQ(read->outcome->error().code(), ErrorCode::kModelKey);
  EXPECT_FALSE(parse_events(to_text(events, nullptr))->outcome);
}

TEST(IngestRecord, AJobIsReadAsItWasWritten) {
  IngestJob job{.id = "j1",
                .collection = *collection_named(kAcme, kAna, "shared.shop"),
                .source = "a/b.pdf",
                .format = DocumentFormat::kPdf,
                .metadata = {{"lang", "en"}},
                .writer = {.kind = WriterKind::kOperator, .name = "ana"},
                .status = JobStatus::kFailed,
                .progress = {.chunks_done = 3, .chunks = 9},
                .error_code = "damaged",
                .error_message = "no PDF",
                .created_at = Time(Duration(5)),
                .ended_at = Time(Duration(7))};
  const Result<IngestJob> read = parse_job(to_text(job));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_text(*read), to_text(job));
  EXPECT_EQ(read->collection, job.collection);
}

}  // namespace desks_test
}  // namespace tertulia
