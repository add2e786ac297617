#include "tertulia/store/archive.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/store/crc32c.h"

#include "archive/archive_lines.h"
#include "archive_sample.h"

namespace tertulia {
namespace archive_test {

using ::testing::HasSubstr;
using ::testing::Not;

const ExportScope kAll{.tenant = TenantId::parse("acme").value()};
const ImportTarget kSame{.tenant = TenantId::parse("acme").value(), .trust = ArchiveTrust::kOwn};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// An archive of these objects (without their checksums), with a right end line.
std::string archive_of(const std::vector<std::string>& objects, const std::string& end_counts) {
  std::string text;
  const ArchiveSink sink = [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  };
  LineWriter writer(sink);
  for (const std::string& object : objects) writer.write(object).value();
  const std::string bytes = std::to_string(text.size());
  writer
      .write(R"({"kind":"end",)" + end_counts + R"(,"bytes":)" + bytes + R"(,"sha256":")" + writer.hash() +
             "\"")
      .value();
  return text;
}

// The objects of an archive without checksums and end.
std::vector<std::string> objects_of(const std::string& text) {
  std::vector<std::string> objects;
  for (const std::string& line : lines_of(text)) objects.emplace_back(checked_line(line).value());
  objects.pop_back();
  return objects;
}

std::string counts_of(const std::string& text) {
  const std::string end = lines_of(text).back();
  const std::size_t begin = end.find("\"sessions\"");
  return end.substr(begin, end.find(",\"bytes\"") - begin);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

bool is_empty(Store& store) { return list(store, {.tenant = kAll.tenant}).value().sessions.empty(); }

class Archive : public ::testing::Test {
 protected:
  std::unique_ptr<Store> store_ = open_memory_store();
  std::unique_ptr<Store> other_ = open_memory_store();

  std::string sample() {
    sample::fill(*store_, sample::key("one"));
    return sample::export_text(*store_, kAll);
  }
  // Refused with this code; nothing is in the other store.
  std::string refused(const std::string& text, ErrorCode code, const ImportTarget& target = kSame) {
    const auto result = sample::import_text(*other_, text, target);
    EXPECT_FALSE(result);
    if (result) return "";
    EXPECT_EQ(name_of(result.error().code()), name_of(code)) << result.error().message();
    EXPECT_TRUE(is_empty(*other_));
    return result.error().message();
  }
};

TEST_F(Archive, ExportImportExportGivesTheSameBytes) {
  sample::fill(*store_, sample::key("one"));
  sample::fill(*store_, sample::key("two"));
  sample::fill(*store_, sample::key("one", "bob"));
  const std::string first = sample::export_text(*store_, kAll);
  const auto counts = sample::import_text(*other_, first, kSame).value();
  EXPECT_EQ(counts.sessions, 3U);
  EXPECT_EQ(counts.branches, 9U);
  EXPECT_EQ(counts.bytes, first.size());
  EXPECT_EQ(sample::export_text(*other_, kAll), first);
}

TEST_F(Archive, AnImportedSessionIsTheSessionItWas) {
  sample();
  sample::import_text(*other_, sample::export_text(*store_, kAll), kSame).value();
  const SessionKey key = sample::key("one");
  const SessionState was = load(*store_, key).value();
  const SessionState is = load(*other_, key).value();
  EXPECT_EQ(is.session, was.session);
  EXPECT_EQ(is.branches, was.branches);
  for (const BranchHead& head : was.branches) {
    const auto expected = read_turns(*store_, key, {.branch = head.id}).value();
    const auto actual = read_turns(*other_, key, {.branch = head.id}).value();
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].revision, expected[i].revision);
      EXPECT_EQ(actual[i].turn.id(), expected[i].turn.id());
      EXPECT_TRUE(std::ranges::equal(actual[i].turn.messages(), expected[i].turn.messages()));
    }
  }
  for (const RecordKind kind :
       {RecordKind::kJournal, RecordKind::kEvent, RecordKind::kToolCall, RecordKind::kEpisode,
        RecordKind::kReceipt, RecordKind::kCheckpoint, RecordKind::kAsset}) {
    const RecordQuery query{.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = kind};
    EXPECT_EQ(read_records(*other_, query).value().records, read_records(*store_, query).value().records)
        << name_of(kind);
    EXPECT_FALSE(read_records(*other_, query).value().records.empty()) << name_of(kind);
  }
}

TEST_F(Archive, AStreamGoesOnWithTheNumberItWouldHaveHad) {
  sample::import_text(*other_, sample(), kSame).value();
  const Record third = sample::record(RecordKind::kJournal, "main", 3, "{}");
  EXPECT_TRUE(note(*other_, {.key = sample::key("one"), .conditions = {}, .changes = {AddRecord{third}}}));
}

TEST_F(Archive, AStoreWithoutSessionsIsAnArchiveOfTwoLines) {
  const std::string text = sample::export_text(*store_, kAll);
  EXPECT_EQ(lines_of(text).size(), 2U);
  EXPECT_EQ(sample::import_text(*other_, text, kSame).value().sessions, 0U);
}

TEST_F(Archive, SessionsCanBeChosenByName) {
  sample::fill(*store_, sample::key("one"));
  sample::fill(*store_, sample::key("two"));
  ExportScope scope = kAll;
  scope.owner = sample::key("two").owner;
  scope.sessions = {sample::key("two").session};
  const std::string text = sample::export_text(*store_, scope);
  EXPECT_THAT(text, HasSubstr(R"("id":"two")"));
  EXPECT_THAT(text, Not(HasSubstr(R"("id":"one")")));
  scope.sessions = {sample::key("three").session};
  const auto missing = export_sessions(*store_, scope, [](std::string_view) { return Result<void>(); });
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNoSession);
}

TEST_F(Archive, AManyBranchedSessionComesBack) {
  sample::Writer writer(*store_, sample::key("wide"));
  writer.commit({PutSession{Session{}}, PutBranch{sample::head("main", 1)}, sample::append("main", 1)},
                sample::at(1));
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::string name = "b" + std::to_string(i);
    const std::string parent = i % 3 == 0 ? "main" : "b" + std::to_string(i - 1);
    writer.commit({PutBranch{sample::fork(name, parent, 0, static_cast<std::int64_t>(i))}}, sample::at(2));
    if (i % 2 == 0) writer.commit({sample::append(name, 100 + i)}, sample::at(3));
  }
  const std::string text = sample::export_text(*store_, kAll);
  sample::import_text(*other_, text, kSame).value();
  EXPECT_EQ(sample::export_text(*other_, kAll), text);
}

TEST_F(Archive, EveryChangedByteIsFound) {
  sample::Writer(*store_, sample::key("one"))
      .commit({PutSession{Session{}}, PutBranch{sample::head("main", 1)}, sample::append("main", 1, true)},
              sample::at(1))
      .note({AddRecord{sample::record(RecordKind::kAsset, "", 1, "\xff\xfe")}});
  const std::string text = sample::export_text(*store_, kAll);
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 0x04);
    if (sample::import_text(*other_, changed, kSame)) ++accepted;
    ASSERT_TRUE(is_empty(*other_)) << "byte " << i;
  }
  EXPECT_EQ(accepted, 0U);
}

TEST_F(Archive, EveryCutIsFound) {
  const std::string text = sample();
  for (std::size_t size = 0; size < text.size(); size += 7) {
    EXPECT_FALSE(sample::import_text(*other_, text.substr(0, size), kSame)) << size;
    ASSERT_TRUE(is_empty(*other_)) << size;
  }
  EXPECT_THAT(refused(text.substr(0, text.rfind("{\"kind\":\"end\"")), ErrorCode::kDamaged),
              HasSubstr("end line is missing"));
  EXPECT_THAT(refused("", ErrorCode::kEmptyBody), HasSubstr("empty"));
}

TEST_F(Archive, ALineThatWasTakenOutIsFoundByTheHash) {
  const std::string text = sample();
  const std::size_t begin = text.rfind("{\"kind\":\"record\"");
  EXPECT_THAT(
      refused(std::string(text).erase(begin, text.find('\n', begin) + 1 - begin), ErrorCode::kDamaged),
      HasSubstr("hash"));
}

TEST_F(Archive, ANewerVersionIsRefused) {
  const std::string text = sample();
  auto objects = objects_of(text);
  objects[0] = replaced(objects[0], "\"1.0\"", "\"2.0\"");
  EXPECT_THAT(refused(archive_of(objects, counts_of(text)), ErrorCode::kNeedsVersion), HasSubstr("newer"));
  objects[0] = replaced(objects[0], "\"2.0\"", "\"1.7\"");
  EXPECT_TRUE(sample::import_text(*other_, archive_of(objects, counts_of(text)), kSame));
}

TEST_F(Archive, CyclicParentsAreRefused) {
  const std::string text = sample();
  auto objects = objects_of(text);
  for (std::string& object : objects) {
    // formal comes from main, deep from formal: now formal from deep as well.
    if (object.find(R"("id":"formal")") != std::string::npos) {
      object = replaced(object, R"("forked_from":{"branch":"main","at_index":4})",
                        R"("forked_from":{"branch":"deep","at_index":1})");
    }
  }
  refused(archive_of(objects, counts_of(text)), ErrorCode::kDamaged);
}

TEST_F(Archive, DuplicateIdsAreRefused) {
  const std::string text = sample();
  const auto objects = objects_of(text);
  const auto twice = [&](std::string_view kind) {
    auto more = objects;
    const std::string start = "{\"kind\":\"" + std::string(kind) + "\"";
    const auto found =
        std::find_if(more.begin(), more.end(), [&](const auto& line) { return line.starts_with(start); });
    const std::string copy = *found;
    more.insert(found, copy);
    return more;
  };
  refused(archive_of(twice("branch"), replaced(counts_of(text), "\"branches\":3", "\"branches\":4")),
          ErrorCode::kDuplicateKey);
  refused(archive_of(twice("session"), replaced(counts_of(text), "\"sessions\":1", "\"sessions\":2")),
          ErrorCode::kDuplicateKey);
  auto same_turn = objects;
  const std::string first = sample::uuid(1 * 16).text();
  for (std::string& line : same_turn) {
    if (line.find(sample::uuid(2 * 16).text()) != std::string::npos)
      line = replaced(line, sample::uuid(2 * 16).text(), first);
  }
  refused(archive_of(same_turn, counts_of(text)), ErrorCode::kDuplicateKey);
}

TEST_F(Archive, AnotherTenantsSessionsNeedPermission) {
  const std::string text = sample();
  ImportTarget elsewhere{.tenant = TenantId::parse("other").value()};
  EXPECT_THAT(refused(text, ErrorCode::kNotPermitted, elsewhere), HasSubstr("acme/ann"));
  ImportTarget owner = kSame;
  owner.owner = OwnerId::parse("bob").value();
  EXPECT_THAT(refused(text, ErrorCode::kNotPermitted, owner), HasSubstr("--adopt"));
  owner.adopt = true;
  sample::import_text(*other_, text, owner).value();
  EXPECT_TRUE(load(*other_, sample::key("one", "bob")));
  EXPECT_FALSE(load(*other_, sample::key("one", "ann")));
}

TEST_F(Archive, AnExistingSessionIsNotTouched) {
  const std::string text = sample();
  sample::Writer(*other_, sample::key("one")).commit({PutSession{Session{}}}, sample::at(1));
  const auto result = sample::import_text(*other_, text, kSame);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kSessionExists);
  EXPECT_EQ(number(load(*other_, sample::key("one")).value().session.revision), 1U);
}

TEST_F(Archive, WhatAnImportThatDiedHasLeftIsReplaced) {
  const std::string text = sample();
  Session half;
  half.metadata.set("tertulia.import", "incomplete");
  sample::Writer(*other_, sample::key("one")).commit({PutSession{half}}, sample::at(1));
  sample::import_text(*other_, text, kSame).value();
  EXPECT_EQ(sample::export_text(*other_, kAll), text);
}

TEST_F(Archive, AMarkThatIsTheProgramsOwnIsNotTakenFromOthers) {
  Session marked;
  marked.metadata.set("tertulia.import", "incomplete");
  marked.metadata.set("title", "Theirs");
  sample::Writer(*store_, sample::key("one")).commit({PutSession{marked}}, sample::at(1));
  ImportTarget from_others = kSame;
  from_others.trust = ArchiveTrust::kForeign;
  sample::import_text(*other_, sample::export_text(*store_, kAll), from_others).value();
  const Session session = load(*other_, sample::key("one")).value().session;
  EXPECT_EQ(session.metadata.find("tertulia.import"), nullptr);
  EXPECT_NE(session.metadata.find("title"), nullptr);
}

TEST_F(Archive, TheFirstTwentyProblemsAreListed) {
  for (int i = 0; i < 30; ++i) sample::fill(*store_, sample::key("s" + std::to_string(i)));
  const std::string text = sample::export_text(*store_, kAll);
  const ImportTarget elsewhere{.tenant = TenantId::parse("other").value()};
  const auto result = sample::import_text(*other_, text, elsewhere);
  ASSERT_FALSE(result);
  const auto* problems = std::get_if<std::vector<std::string>>(result.error().fact("problems"));
  ASSERT_NE(problems, nullptr);
  EXPECT_EQ(problems->size(), 20U);
  EXPECT_THAT(problems->front(), HasSubstr("line 2: session 's0'"));
}

// Another store, as it is; what is overridden goes wrong.
class Forwarding : public Store {
 public:
  explicit Forwarding(Store& inner) : inner_(inner) {}
  void commit(Commit commit, Done<Revision> done) override {
    inner_.commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override { inner_.note(std::move(note), std::move(done)); }
  void load(SessionKey key, Done<SessionState> done) override {
    inner_.load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    inner_.read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    inner_.read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    inner_.list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    inner_.erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { inner_.verify(std::move(done)); }

 protected:
  Store& inner_;
};

// Fails from the n-th commit on.
class FullStore final : public Forwarding {
 public:
  FullStore(Store& inner, int commits) : Forwarding(inner), left_(commits) {}
  void commit(Commit commit, Done<Revision> done) override {
    if (left_-- <= 0) return done(Error(ErrorCode::kStorageFull, "the disk is full"));
    inner_.commit(std::move(commit), std::move(done));
  }

 private:
  int left_;
};

// The messages of main from the third on are damaged, and so is the session "gone" as a whole.
class DamagedStore final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  void load(SessionKey key, Done<SessionState> done) override {
    if (key.session.text() == "gone") return done(Error(ErrorCode::kSessionDamaged, "damaged"));
    inner_.load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    if (range.branch == sample::branch("main") && range.end > 2) {
      return done(Error(ErrorCode::kSessionDamaged, "damaged"));
    }
    inner_.read_turns(std::move(key), std::move(range), std::move(done));
  }
};

TEST_F(Archive, WhatCanBeReadOfADamagedStoreIsCopied) {
  sample::fill(*store_, sample::key("one"));
  sample::fill(*store_, sample::key("gone"));
  const std::string before = sample::export_text(*store_, kAll);
  DamagedStore damaged(*store_);
  const SalvageReport report = copy_readable(damaged, *other_, kAll).value();
  EXPECT_EQ(report.counts.sessions, 1U);
  EXPECT_EQ(report.losses.size(), 4U);  // the session, the end of main, and two forks behind it
  const SessionState state = load(*other_, sample::key("one")).value();
  ASSERT_EQ(state.branches.size(), 3U);
  EXPECT_EQ(state.branches[0].message_count, 2U);
  EXPECT_EQ(state.branches[1].message_count, 2U);  // formal's own turn
  EXPECT_FALSE(state.branches[1].forked_from.has_value());
  EXPECT_EQ(number(state.session.revision), 13U);
  EXPECT_TRUE(verify(*other_).value().problems.empty());
  EXPECT_EQ(sample::export_text(*store_, kAll), before);
}

TEST_F(Archive, AStoreThatIsWholeIsCopiedWhole) {
  const std::string text = sample();
  EXPECT_TRUE(copy_readable(*store_, *other_, kAll).value().losses.empty());
  EXPECT_EQ(sample::export_text(*other_, kAll), text);
}

TEST_F(Archive, AFullDiskLeavesNothingBehind) {
  sample::fill(*store_, sample::key("one"));
  sample::fill(*store_, sample::key("two"));
  const std::string text = sample::export_text(*store_, kAll);
  int commits = 0;
  for (;; ++commits) {
    FullStore full(*other_, commits);
    const auto result = sample::import_text(full, text, kSame);
    if (result) break;
    EXPECT_EQ(result.error().code(), ErrorCode::kStorageFull);
    ASSERT_TRUE(is_empty(*other_)) << commits;
  }
  EXPECT_EQ(commits, 26);  // two sessions of thirteen revisions
}

TEST_F(Archive, ASinkThatFailsEndsTheExport) {
  sample::fill(*store_, sample::key("one"));
  const auto result = export_sessions(*store_, kAll, [n = 0](std::string_view) mutable {
    return ++n < 4 ? Result<void>() : Result<void>(Error(ErrorCode::kStorageFull, "full"));
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kStorageFull);
}

}  // namespace archive_test
}  // namespace tertulia
