// Archives that somebody else wrote, with every checksum right: nothing in them lets anything happen.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive_sample.h"

namespace tertulia {
namespace archive_trust_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ExportScope kAll{.tenant = TenantId::parse("acme").value()};

constexpr std::array kKinds = {
    RecordKind::kJournal,    RecordKind::kEvent,      RecordKind::kToolCall, RecordKind::kEpisode,
    RecordKind::kReceipt,    RecordKind::kCheckpoint, RecordKind::kAsset,    RecordKind::kLease,
    RecordKind::kSubmission, RecordKind::kQuestion,   RecordKind::kMemory,
};

bool on_branch(RecordKind kind) {
  return kind != RecordKind::kCheckpoint && kind != RecordKind::kAsset && kind != RecordKind::kMemory;
}

std::string episode_of(const SessionKey& key) {
  Episode episode;
  episode.id = EpisodeId(Uuid::parse("01m7r7cee4e6vbwapvaab4166n").value());
  episode.session = key.session;
  episode.branch = BranchId::parse("main").value();
  episode.summary = "They talked.";
  return to_json(episode);
}

// One record of every kind that a caller may add, in the program's own sessions too.
std::string forged() {
  const std::unique_ptr<Store> owned = open_memory_store();
  Store& store = *owned;
  for (const SessionKey& key :
       {sample::key("talk"), sample::key("~memory.user"), sample::key("~runs"), sample::key("~ingest"),
        sample::key("~procedures", "~shared"), sample::key("~memory.shared.all", "~shared"),
        sample::key("plain", "~shared")}) {
    sample::fill(store, key);
    sample::Writer writer(store, key);
    for (const RecordKind kind : kKinds) {
      if (kind == RecordKind::kToolCall || kind == RecordKind::kLease) continue;
      const std::string payload = kind == RecordKind::kEpisode ? episode_of(key) : "{}";
      writer.note({AddRecord{sample::record(kind, on_branch(kind) ? "main" : "", 1, payload, "forged")}});
    }
  }
  return sample::export_text(store, kAll);
}

Result<ImportReport> imported(Store& store, const std::string& text, const ImportTarget& target) {
  SimEnv env(1);
  const auto file = sample::file_of(env, text);
  return import_archive(store, *file, target);
}

std::uint64_t left_of(const ImportReport& report, std::string_view what) {
  for (const LeftOut& left : report.left_out) {
    if (left.what != what) continue;
    EXPECT_FALSE(left.why.empty());
    return left.count;
  }
  return 0;
}

TEST(ArchiveTrust, AnEpisodeThatIsNoneIsLeftOutAndNamed) {
  const std::unique_ptr<Store> theirs = open_memory_store();
  sample::fill(*theirs, sample::key("talk"));
  sample::Writer(*theirs, sample::key("talk"))
      .note({AddRecord{sample::record(RecordKind::kEpisode, "main", 1, R"({"a":1})", "forged")}});
  const std::unique_ptr<Store> ours = open_memory_store();
  const ImportReport report =
      imported(*ours, sample::export_text(*theirs, kAll), {.tenant = TenantId::parse("acme").value()})
          .value();
  EXPECT_GE(left_of(report, "episode"), 1U);
}

TEST(ArchiveTrust, TakesWhatSpeaksAndLeavesWhatActs) {
  const std::unique_ptr<Store> owned = open_memory_store();
  Store& store = *owned;
  const ImportTarget mallory{
      .tenant = TenantId::parse("acme").value(), .owner = OwnerId::parse("mallory").value(), .adopt = true};
  const std::string text = forged();
  const ImportReport report = imported(store, text, mallory).value();
  EXPECT_EQ(report.counts.sessions, 2U);
  for (const std::string_view session :
       {"~memory.user", "~runs", "~ingest", "~procedures", "~memory.shared.all"}) {
    EXPECT_EQ(left_of(report, "session " + std::string(session)), 1U) << session;
    EXPECT_FALSE(load(store, sample::key(session, "mallory"))) << session;
    EXPECT_FALSE(load(store, sample::key(session, "~shared"))) << session;
  }
  EXPECT_EQ(left_of(report, "state of a session"), 2U);
  EXPECT_EQ(left_of(report, "state of a branch"), 2U);
  const SessionState talk = load(store, sample::key("talk", "mallory")).value();
  EXPECT_TRUE(talk.session.state.empty());
  for (const BranchHead& branch : talk.branches) EXPECT_TRUE(branch.state.empty());
  std::uint64_t records = 0;
  for (const RecordKind kind : kKinds) {
    const RecordPage page = read_records(store, {.tenant = TenantId::parse("acme").value(),
                                                 .owner = OwnerId::parse("mallory").value(),
                                                 .kind = kind,
                                                 .limit = 1'000})
                                .value();
    const bool speaks = kind == RecordKind::kEvent || kind == RecordKind::kToolCall ||
                        kind == RecordKind::kEpisode || kind == RecordKind::kAsset;
    EXPECT_EQ(!page.records.empty(), speaks) << name_of(kind);
    if (kind != RecordKind::kToolCall) records += page.records.size();
    const std::string quoted = "\"" + std::string(name_of(kind)) + "\"";
    if (!speaks && text.find(quoted) != std::string::npos) {
      EXPECT_GE(left_of(report, name_of(kind)), 2U) << name_of(kind);
    }
  }
  EXPECT_EQ(report.counts.records, records) << "the report counts what is there";
}

TEST(ArchiveTrust, RefusesOwnersOfTheProgram) {
  const std::unique_ptr<Store> owned = open_memory_store();
  Store& store = *owned;
  const Result<ImportReport> kept = imported(store, forged(), {.tenant = TenantId::parse("acme").value()});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code(), ErrorCode::kBadId);
  EXPECT_THAT(kept.error().message(), HasSubstr("begins with '~'"));
  EXPECT_TRUE(list(store, {.tenant = TenantId::parse("acme").value(), .own = OwnSessions::kToo})
                  .value()
                  .sessions.empty());
}

TEST(ArchiveTrust, TakesEverythingOfItsOwn) {
  const std::unique_ptr<Store> owned = open_memory_store();
  Store& store = *owned;
  const std::string text = forged();
  const ImportReport report =
      imported(store, text, {.tenant = TenantId::parse("acme").value(), .trust = ArchiveTrust::kOwn}).value();
  EXPECT_THAT(report.left_out, IsEmpty());
  EXPECT_EQ(sample::export_text(store, kAll), text);
}

}  // namespace archive_trust_test
}  // namespace tertulia
