// The cases of the conformance suite, without a test framework: what a store promises, one case for each
// promise. store_conformance.h makes tests of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/store/store.h"

namespace tertulia {

// A store under test and its home. Made empty.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;

  virtual Store& store() = 0;
  // Closes the store and opens it again, as a restart of the process does.
  virtual void reopen() = 0;
  // False if nothing outlives the store: then it is never reopened.
  virtual bool durable() const = 0;
};
using StoreFactory = std::function<std::unique_ptr<StoreFixture>()>;

// What a case works with: the store, short ways to say things, and a list of what was wrong.
class StoreTrial {
 public:
  explicit StoreTrial(StoreFixture& fixture) : fixture_(fixture) {}

  Store& store() { return fixture_.store(); }
  // A restart, if the store is one that outlives it.
  void reopen() {
    if (fixture_.durable()) fixture_.reopen();
  }

  // Notes a failure unless it holds.
  bool expect(bool holds, std::string_view sentence,
              std::source_location where = std::source_location::current());
  void refused(const Error* error, ErrorCode code, std::string_view what,
               std::source_location where = std::source_location::current());
  template <class T>
  void refused(const Result<T>& result, ErrorCode code, std::string_view what,
               std::source_location where = std::source_location::current()) {
    refused(result ? nullptr : &result.error(), code, what, where);
  }
  // As refused, and the fact "current" says this.
  template <class T>
  void conflicts(const Result<T>& result, std::uint64_t current,
                 std::source_location where = std::source_location::current()) {
    refused(result, ErrorCode::kRevisionConflict, "a stale writer", where);
    if (!result) says_current(result.error(), current, where);
  }

  const std::vector<std::string>& failures() const { return failures_; }
  void fail(std::string sentence) { failures_.push_back(std::move(sentence)); }

  // Names. A key is of tenant "t" and owner "o" unless told otherwise.
  static SessionKey key(std::string_view session = "s", std::string_view owner = "o",
                        std::string_view tenant = "t");
  static BranchId branch(std::string_view name);
  // Seconds after the beginning of 2026.
  static Time at(std::int64_t seconds);

  // Messages and turns. Ids are made from numbers, so the same number is the same message.
  static Message says(std::uint64_t n, Role role, std::string_view text);
  // Two messages, n and n + 1: a question and its answer.
  static Turn turn(std::uint64_t n, std::string_view question = "question",
                   std::string_view answer = "answer");
  // Four messages from n on: question, tool call, its result, answer.
  static Turn tool_turn(std::uint64_t n);
  static ToolCallRecord tool_call(std::uint64_t n);
  static Record record(StreamId stream, std::uint64_t number, std::string payload = "{}");

  // Commits. Those without a check throw, which the runner reports.
  static Session session();
  static BranchHead head(const BranchId& id, std::optional<ForkOrigin> origin = std::nullopt);
  static Commit first(const SessionKey& key, std::int64_t seconds = 0);
  static Commit of(const SessionKey& key, Revision expected, std::vector<Change> changes,
                   std::int64_t seconds = 1);
  // Makes a session with an empty branch "main": revision 1.
  Revision create(const SessionKey& key, std::int64_t seconds = 0);
  // Makes a session with `turns` turns on "main"; turn i has the messages 2 i and 2 i + 1.
  Revision create_with_turns(const SessionKey& key, std::uint64_t turns);
  Result<Revision> append(const SessionKey& key, Revision expected, Turn turn,
                          std::string_view branch = "main", std::int64_t seconds = 1);
  Result<Revision> fork(const SessionKey& key, Revision expected, std::string_view parent,
                        std::size_t at_index, std::string_view name);
  Result<Revision> drop(const SessionKey& key, Revision expected, std::vector<BranchId> branches);
  Result<void> add_note(const SessionKey& key, Record record, std::vector<ExpectStream> conditions = {});

  // Reading.
  SessionState state(const SessionKey& key);
  Revision revision(const SessionKey& key) { return state(key).session.revision; }
  std::vector<StoredTurn> turns(const SessionKey& key, std::string_view branch = "main",
                                std::uint64_t begin = 0, std::uint64_t end = UINT64_MAX);
  std::vector<Message> messages(const SessionKey& key, std::string_view branch = "main");
  // The numbers of the messages of a branch.
  std::vector<std::uint64_t> numbers(const SessionKey& key, std::string_view branch = "main");
  static std::uint64_t number_of(const Message& message);
  static RecordQuery query(const SessionKey& key, RecordKind kind);
  std::vector<Record> records(const SessionKey& key, RecordKind kind);
  // The ids of the sessions that a query finds, over all its pages.
  std::vector<std::string> listed(SessionQuery query);
  // That verify finds nothing.
  void verified(std::source_location where = std::source_location::current());

 private:
  void says_current(const Error& error, std::uint64_t current, std::source_location where);

  StoreFixture& fixture_;
  std::vector<std::string> failures_;
};

struct StoreCase {
  // "commit", "branch", …
  std::string group;
  // A sentence that holds for every store.
  std::string name;
  std::function<void(StoreTrial&)> run;
};

// Every case: more than two hundred.
const std::vector<StoreCase>& store_cases();

// Runs a case on a new store. What was wrong, each as a sentence; nothing if it holds.
std::vector<std::string> run_store_case(const StoreCase& store_case, const StoreFactory& factory);

}  // namespace tertulia
