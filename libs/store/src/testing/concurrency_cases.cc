// Several threads at once.
#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <utility>

#include "tertulia/store/testing/history_checker.h"

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;

// Runs `work(i)` on `count` threads that begin together.
template <class Work>
void together(std::size_t count, const Work& work) {
  std::latch begin(static_cast<std::ptrdiff_t>(count));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::uint64_t current_of(const Error& error) {
  const ErrorFact::Value* fact = error.fact("current");
  const auto* value = fact != nullptr ? std::get_if<std::int64_t>(fact) : nullptr;
  return value != nullptr ? static_cast<std::uint64_t>(*value) : 0;
}

// Loads, then commits at what it saw, and writes down both. True if the commit won.
bool try_append(Trial& t, const SessionKey& key, std::uint64_t n, HistoryRecorder& history) {
  std::uint64_t began = history.now();
  const Result<SessionState> seen = load(t.store(), key);
  if (!seen) return false;
  const Revision revision = seen->session.revision;
  history.add({.session = key.session.text(), .kind = RevisionCall::Kind::kRead, .result = revision}, began);

  began = history.now();
  const Result<Revision> made = t.append(key, revision, Trial::turn(n));
  if (made) {
    history.add({.session = key.session.text(),
                 .kind = RevisionCall::Kind::kAppended,
                 .expected = revision,
                 .result = *made},
                began);
    return true;
  }
  const bool lost = made.error().code() == ErrorCode::kRevisionConflict;
  history.add({.session = key.session.text(),
               .kind = lost ? RevisionCall::Kind::kConflict : RevisionCall::Kind::kUnknown,
               .expected = revision,
               .result = Revision{lost ? current_of(made.error()) : 0}},
              began);
  return false;
}

void linearizable(Trial& t, std::size_t threads, std::size_t sessions, std::size_t rounds) {
  std::vector<SessionKey> keys;
  for (std::size_t s = 0; s < sessions; ++s) {
    keys.push_back(Trial::key("s" + std::to_string(s)));
    t.create(keys.back());
  }
  HistoryRecorder history;
  std::vector<std::vector<std::uint64_t>> won(sessions * threads);
  together(threads, [&](std::size_t thread) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t s = (thread + round) % sessions;
      const std::uint64_t n = 2 * (thread * rounds + round);
      if (try_append(t, keys[s], n, history)) won[s * threads + thread].push_back(n);
    }
  });
  const Result<void> explained = check_history(history.calls());
  t.expect(explained.ok(), explained ? "" : explained.error().message());
  for (std::size_t s = 0; s < sessions; ++s) {
    std::vector<std::uint64_t> expected;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      for (const std::uint64_t n : won[s * threads + thread]) expected.insert(expected.end(), {n, n + 1});
    }
    std::vector<std::uint64_t> stored = t.numbers(keys[s]);
    t.expect(number(t.revision(keys[s])) == 1 + stored.size() / 2, "the revision counts the commits");
    std::sort(expected.begin(), expected.end());
    std::sort(stored.begin(), stored.end());
    t.expect(stored == expected, "exactly the turns of the winners are there, each once");
  }
  t.verified();
}

void racing(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"threads", std::move(name), run}); };
  add("revisions of one session are linearizable", [](Trial& t) { linearizable(t, 4, 1, 25); });
  add("revisions of several sessions are linearizable", [](Trial& t) { linearizable(t, 4, 3, 25); });
  add("of many creators one wins", [](Trial& t) {
    std::atomic<int> made = 0;
    std::atomic<int> refused = 0;
    together(8, [&](std::size_t) {
      const Result<Revision> result = commit(t.store(), Trial::first(Trial::key()));
      if (result) ++made;
      if (!result && result.error().code() == ErrorCode::kSessionExists) ++refused;
    });
    t.expect(made == 1 && refused == 7, "one makes it, seven learn that it exists");
    t.expect(t.revision(Trial::key()) == Revision{1}, "it is at revision 1");
  });
  add("of many writers of a stream each number has one", [](Trial& t) {
    t.create(Trial::key());
    const StreamId journal{.kind = RecordKind::kJournal, .branch = main_branch()};
    std::atomic<int> won = 0;
    together(4, [&](std::size_t thread) {
      for (std::uint64_t n = 1; n <= 20; ++n) {
        if (t.add_note(Trial::key(), Trial::record(journal, n, std::to_string(thread))).ok()) ++won;
      }
    });
    const std::vector<Record> records = t.records(Trial::key(), RecordKind::kJournal);
    t.expect(records.size() == static_cast<std::size_t>(won.load()), "each acknowledged one is there");
    for (std::size_t i = 0; i < records.size(); ++i) t.expect(records[i].number == i + 1, "without gaps");
  });
  add("of many that take a free lease one gets it", [](Trial& t) {
    t.create(Trial::key());
    const StreamId lease{.kind = RecordKind::kLease, .branch = main_branch()};
    std::atomic<int> won = 0;
    together(8, [&](std::size_t) {
      if (t.add_note(Trial::key(), Trial::record(lease, 1), {{.stream = lease, .newest = 0}}).ok()) ++won;
    });
    t.expect(won == 1, "one");
  });
  add("readers see whole commits only", [](Trial& t) {
    Revision seen = t.create(Trial::key());
    seen = commit(t.store(), Trial::of(Trial::key(), seen, {PutBranch{Trial::head(Trial::branch("b"))}}))
               .value();
    std::atomic<bool> writing = true;
    std::atomic<bool> torn = false;
    together(3, [&](std::size_t thread) {
      if (thread == 0) {
        for (std::uint64_t i = 0; i < 40; ++i) {
          const auto made = commit(
              t.store(), Trial::of(Trial::key(), seen,
                                   {AppendTurn{.branch = main_branch(), .turn = Trial::turn(2 * i)},
                                    AppendTurn{.branch = Trial::branch("b"), .turn = Trial::turn(2 * i)}}));
          if (made) seen = *made;
        }
        writing = false;
        return;
      }
      while (writing) {
        const auto state = load(t.store(), Trial::key());
        if (!state || state->branches.size() != 2 ||
            state->branches[0].message_count != state->branches[1].message_count ||
            number(state->session.revision) != 2 + state->branches[0].message_count / 2) {
          torn = true;
        }
        const auto turns = read_turns(t.store(), Trial::key(), {.branch = main_branch()});
        if (!turns || (!turns->empty() && turns->back().turn.messages().size() != 2)) torn = true;
      }
    });
    t.expect(!torn, "both branches and the revision belong together at every moment");
    t.expect(t.numbers(Trial::key(), "b").size() == 80, "all was written");
  });
  add("records that are added and dropped together are seen together", [](Trial& t) {
    constexpr std::uint64_t kTogether = 20;
    t.create(Trial::key());
    const StreamId stream{.kind = RecordKind::kEvent, .branch = main_branch()};
    std::atomic<bool> writing = true;
    std::atomic<int> torn = 0;
    together(3, [&](std::size_t thread) {
      if (thread == 0) {
        for (std::uint64_t i = 0; i < 60; ++i) {
          Note next{.key = Trial::key(), .conditions = {}, .changes = {DropRecords{.stream = stream}}};
          for (std::uint64_t n = 1; n <= kTogether; ++n) {
            // Large enough that stores which tidy up do.
            next.changes.emplace_back(
                AddRecord{Trial::record(stream, kTogether * i + n, std::string(3'000, 'x'))});
          }
          if (!note(t.store(), std::move(next))) ++torn;
        }
        writing = false;
        return;
      }
      while (writing) {
        const auto page = read_records(t.store(), Trial::query(Trial::key(), RecordKind::kEvent));
        if (!page || (!page->records.empty() && page->records.size() != kTogether)) ++torn;
      }
    });
    t.expect(torn == 0, "all of a note or nothing");
  });
  add("a branch that is dropped and made again is read as one of them or not at all", [](Trial& t) {
    Revision seen = t.create(Trial::key());
    const BranchId side = Trial::branch("side");
    std::atomic<bool> writing = true;
    std::atomic<int> torn = 0;
    const auto change = [&](std::vector<Change> changes) {
      const auto made = commit(t.store(), Trial::of(Trial::key(), seen, std::move(changes)));
      if (made) seen = *made;
      if (!made) ++torn;
    };
    together(3, [&](std::size_t thread) {
      if (thread == 0) {
        for (std::uint64_t i = 0; i < 30; ++i) {
          AppendTurn turn{
              .branch = side, .turn = Trial::tool_turn(4 * i), .tool_calls = {Trial::tool_call(i)}};
          change({PutBranch{Trial::head(side)}, std::move(turn)});
          change({DropBranches{{side}}});
        }
        writing = false;
        return;
      }
      while (writing) {
        const auto turns = read_turns(t.store(), Trial::key(), {.branch = side});
        const bool is_gone = !turns && turns.error().code() == ErrorCode::kNoBranch;
        if (!is_gone && (!turns || turns->size() != 1)) ++torn;
        const auto calls = read_records(t.store(), Trial::query(Trial::key(), RecordKind::kToolCall));
        if (!calls || calls->records.size() > 1) ++torn;
      }
    });
    t.expect(torn == 0, "nobody sees a part of it, or an error");
    t.expect(verify(t.store()).value().problems.empty(), "nothing is damaged");
  });
  add("erasing one session does not disturb writers of others", [](Trial& t) {
    for (const char* name : {"a", "b", "c"}) t.create_with_turns(Trial::key(name), 3);
    std::atomic<int> failed = 0;
    together(3, [&](std::size_t thread) {
      if (thread == 0) {
        const SessionKey key = Trial::key("a");
        if (!erase(t.store(), {.tenant = key.tenant, .owner = key.owner, .session = key.session})) ++failed;
        return;
      }
      const SessionKey key = Trial::key(thread == 1 ? "b" : "c");
      for (std::uint64_t i = 0; i < 20; ++i) {
        if (!t.append(key, Revision{4 + i}, Trial::turn(100 + 2 * i))) ++failed;
      }
    });
    t.expect(failed == 0, "every commit succeeds");
    t.expect(t.numbers(Trial::key("b")).size() == 46 && t.numbers(Trial::key("c")).size() == 46,
             "all is there");
    t.refused(load(t.store(), Trial::key("a")), ErrorCode::kNoSession, "loading the erased one");
  });
}

void completing(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"threads", std::move(name), run}); };
  add("calls need not be waited for one by one", [](Trial& t) {
    constexpr int kSessions = 100;
    std::atomic<int> succeeded = 0;
    std::latch done(kSessions);
    for (int i = 0; i < kSessions; ++i) {
      t.store().commit(Trial::first(Trial::key("s" + std::to_string(i)), i), [&](Result<Revision> result) {
        if (result) ++succeeded;
        done.count_down();
      });
    }
    done.wait();
    t.expect(succeeded == kSessions, "each is done once, with success");
    t.expect(t.listed({.tenant = Trial::key().tenant}).size() == kSessions, "all are there");
  });
  add("a completion comes once for success and once for failure", [](Trial& t) {
    std::atomic<int> calls = 0;
    const auto once = [&](auto start) {
      std::latch done(1);
      start([&](auto) {
        ++calls;
        done.count_down();
      });
      done.wait();
    };
    Store& store = t.store();
    const SessionKey key = Trial::key();
    once([&](auto done) { store.commit(Trial::first(key), done); });
    once([&](auto done) { store.commit(Trial::first(key), done); });
    once([&](auto done) { store.note({.key = key}, done); });
    once([&](auto done) { store.load(key, done); });
    once([&](auto done) { store.read_turns(key, {.branch = main_branch()}, done); });
    once([&](auto done) { store.read_records(Trial::query(key, RecordKind::kEvent), done); });
    once([&](auto done) { store.list({.tenant = key.tenant}, done); });
    once([&](auto done) {
      store.erase({.tenant = key.tenant, .owner = key.owner, .session = key.session}, done);
    });
    once([&](auto done) { store.verify(done); });
    t.expect(calls == 9, "nine calls, nine answers");
  });
}

}  // namespace

void add_concurrency_cases(std::vector<StoreCase>& cases) {
  racing(cases);
  completing(cases);
}

}  // namespace tertulia
