// Listing sessions and paging through records.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;
using Names = std::vector<std::string>;

SessionQuery all_of_owner(std::size_t limit = 50) {
  return {.tenant = Trial::key().tenant, .owner = Trial::key().owner, .limit = limit};
}

// Sessions s0 … with rising activity.
void make_sessions(Trial& t, int count) {
  for (int i = 0; i < count; ++i) t.create(Trial::key("s" + std::to_string(i)), i);
}

void with_metadata(Trial& t, const SessionKey& key, JsonObject metadata, std::int64_t seconds) {
  Commit first = Trial::first(key, seconds);
  std::get<PutSession>(first.changes[0]).session.metadata = std::move(metadata);
  commit(t.store(), first).value();
}

void listing(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"list", std::move(name), run}); };
  add("an empty store lists nothing",
      [](Trial& t) { t.expect(t.listed(all_of_owner()).empty(), "nothing"); });
  add("the latest activity comes first", [](Trial& t) {
    make_sessions(t, 3);
    t.append(Trial::key("s0"), Revision{1}, Trial::turn(0), "main", 100).value();
    t.expect(t.listed(all_of_owner()) == Names{"s0", "s2", "s1"}, "s0 was active last");
    t.reopen();
    t.expect(t.listed(all_of_owner()) == Names{"s0", "s2", "s1"}, "also after a restart");
  });
  add("sessions of the same time are listed by their names", [](Trial& t) {
    for (const char* name : {"c", "a", "b"}) t.create(Trial::key(name), 5);
    t.expect(t.listed(all_of_owner()) == Names{"a", "b", "c"}, "in one order");
    t.expect(t.listed(all_of_owner(1)) == Names{"a", "b", "c"}, "also in pages of one");
  });
  add("a summary says what the session says", [](Trial& t) {
    with_metadata(t, Trial::key(), {{"color", "azul"}}, 3);
    t.append(Trial::key(), Revision{1}, Trial::turn(0), "main", 9).value();
    t.reopen();
    const SessionPage page = list(t.store(), all_of_owner()).value();
    const SessionSummary expected{.key = Trial::key(),
                                  .created_at = Trial::at(0),
                                  .last_activity = Trial::at(9),
                                  .revision = Revision{2},
                                  .metadata = {{"color", "azul"}}};
    t.expect(page.sessions.size() == 1 && page.sessions[0] == expected, "every field");
    t.expect(page.next.empty(), "and it was the last page");
  });
  add("other owners and tenants are not listed", [](Trial& t) {
    t.create(Trial::key("mine"));
    t.create(Trial::key("theirs", "other"));
    t.create(Trial::key("far", "o", "other"));
    t.expect(t.listed(all_of_owner()) == Names{"mine"}, "only the owner's");
  });
  add("a tenant can be listed over its owners", [](Trial& t) {
    t.create(Trial::key("a", "ann"), 1);
    t.create(Trial::key("b", "bob"), 2);
    t.create(Trial::key("c", "ann", "other"), 3);
    t.expect(t.listed({.tenant = Trial::key().tenant}) == Names{"b", "a"},
             "both owners, not the other tenant");
  });
  for (const std::size_t limit : {1U, 2U, 3U, 7U, 50U}) {
    add("pages of " + std::to_string(limit) + " join to the whole list", [limit](Trial& t) {
      make_sessions(t, 20);
      Names expected;
      for (int i = 19; i >= 0; --i) expected.push_back("s" + std::to_string(i));
      t.expect(t.listed(all_of_owner(limit)) == expected, "nothing twice, nothing left out");
    });
  }
  add("a cursor holds while others write", [](Trial& t) {
    make_sessions(t, 10);
    SessionQuery query = all_of_owner(4);
    const SessionPage first = list(t.store(), query).value();
    t.create(Trial::key("new"), 1'000);
    t.append(Trial::key("s8"), Revision{1}, Trial::turn(0), "main", 2'000).value();
    query.cursor = first.next;
    t.expect(t.listed(query) == Names{"s5", "s4", "s3", "s2", "s1", "s0"},
             "those that were behind the cursor and did not move, each once");
  });
  add("a cursor holds after its session was erased", [](Trial& t) {
    make_sessions(t, 6);
    SessionQuery query = all_of_owner(2);
    const SessionPage first = list(t.store(), query).value();
    const SessionKey last = first.sessions.back().key;
    erase(t.store(), {.tenant = last.tenant, .owner = last.owner, .session = last.session}).value();
    query.cursor = first.next;
    t.expect(t.listed(query) == Names{"s3", "s2", "s1", "s0"}, "the rest");
  });
  add("a cursor holds after a restart", [](Trial& t) {
    make_sessions(t, 6);
    SessionQuery query = all_of_owner(2);
    query.cursor = list(t.store(), query).value().next;
    t.reopen();
    t.expect(t.listed(query) == Names{"s3", "s2", "s1", "s0"}, "the rest");
  });
  add("a cursor that is none is refused", [](Trial& t) {
    make_sessions(t, 1);
    SessionQuery query = all_of_owner();
    for (const char* cursor : {"x", "1/2/3", "99999999999999999999/t/o/s/", "1/../o/s/"}) {
      query.cursor = cursor;
      t.refused(list(t.store(), query), ErrorCode::kOutOfRange, "a made-up cursor");
    }
  });
  add("a page of nothing or of too much is refused", [](Trial& t) {
    t.refused(list(t.store(), all_of_owner(0)), ErrorCode::kOutOfRange, "a limit of 0");
    t.refused(list(t.store(), all_of_owner(1'001)), ErrorCode::kOutOfRange, "a limit of 1,001");
    t.expect(list(t.store(), all_of_owner(1'000)).ok(), "1,000 is fine");
  });
  add("a listing without a tenant is refused", [](Trial& t) {
    t.create(Trial::key());
    t.refused(list(t.store(), {}), ErrorCode::kMissingField, "no tenant");
  });
}

void searching(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"search", std::move(name), run}); };
  static const auto found = [](Trial& t, JsonObject metadata) {
    SessionQuery query = all_of_owner();
    query.metadata = std::move(metadata);
    return t.listed(query);
  };
  add("sessions are found by a member of their metadata", [](Trial& t) {
    with_metadata(t, Trial::key("red"), {{"color", "red"}, {"n", 1}}, 1);
    with_metadata(t, Trial::key("blue"), {{"color", "blue"}, {"n", 1}}, 2);
    with_metadata(t, Trial::key("none"), {}, 3);
    t.expect(found(t, {{"color", "red"}}) == Names{"red"}, "one");
    t.expect(found(t, {{"n", 1}}) == Names{"blue", "red"}, "two");
    t.expect(found(t, {{"n", 1}, {"color", "blue"}}) == Names{"blue"}, "both must hold");
    t.expect(found(t, {{"color", "green"}}).empty(), "none");
    t.expect(found(t, {{"size", nullptr}}).empty(), "a member that is not there is not null");
  });
  add("a filter nobody knows matches nothing and not everything", [](Trial& t) {
    with_metadata(t, Trial::key(), {{"color", "red"}}, 1);
    t.expect(found(t, {{"tenant_id", "x"}}).empty(), "no session has it");
  });
  add("metadata is compared by value and type", [](Trial& t) {
    with_metadata(t, Trial::key("text"), {{"v", "1"}}, 1);
    with_metadata(t, Trial::key("number"), {{"v", 1}}, 2);
    with_metadata(t, Trial::key("yes"), {{"v", true}}, 3);
    with_metadata(t, Trial::key("null"), {{"v", nullptr}}, 4);
    with_metadata(t, Trial::key("list"), {{"v", JsonArray{1, 2}}}, 5);
    t.expect(found(t, {{"v", 1}}) == Names{"number"}, "1 is not \"1\" and not true");
    t.expect(found(t, {{"v", "1"}}) == Names{"text"}, "\"1\" is not 1");
    t.expect(found(t, {{"v", nullptr}}) == Names{"null"}, "null is a value");
    t.expect(found(t, {{"v", JsonArray{1, 2}}}) == Names{"list"}, "lists are compared whole");
  });
  add("metadata keys may hold anything", [](Trial& t) {
    for (const char* name : {"a.b", "$.a", "a'b\"c", "ação", "", "a[0]"}) {
      const SessionKey key = Trial::key("k" + std::to_string(std::hash<std::string_view>()(name)));
      with_metadata(t, key, {{name, "here"}}, 1);
      t.expect(found(t, {{name, "here"}}) == Names{key.session.text()}, "found by exactly that key");
      erase(t.store(), {.tenant = key.tenant, .owner = key.owner, .session = key.session}).value();
    }
  });
  add("search follows changed metadata", [](Trial& t) {
    with_metadata(t, Trial::key(), {{"color", "red"}}, 1);
    Session session = Trial::session();
    session.metadata = {{"color", "blue"}};
    commit(t.store(), Trial::of(Trial::key(), Revision{1}, {PutSession{session}})).value();
    t.expect(found(t, {{"color", "red"}}).empty(), "not the old one");
    t.expect(found(t, {{"color", "blue"}}).size() == 1, "the new one");
  });
  add("sessions are found by their status", [](Trial& t) {
    t.create(Trial::key("open"));
    t.create(Trial::key("closed"));
    Session session = Trial::session();
    session.status = SessionStatus::kClosed;
    session.end_reason = EndReason::kUserClosed;
    commit(t.store(), Trial::of(Trial::key("closed"), Revision{1}, {PutSession{session}})).value();
    SessionQuery query = all_of_owner();
    query.status = SessionStatus::kClosed;
    t.expect(t.listed(query) == Names{"closed"}, "the closed one");
    query.status = SessionStatus::kActive;
    t.expect(t.listed(query) == Names{"open"}, "the open one");
  });
  add("pages of a search join to the whole", [](Trial& t) {
    for (int i = 0; i < 20; ++i) {
      with_metadata(t, Trial::key("s" + std::to_string(i)), {{"even", i % 2 == 0}}, i);
    }
    SessionQuery query = all_of_owner(3);
    query.metadata = {{"even", true}};
    const Names names = t.listed(query);
    t.expect(names.size() == 10 && names.front() == "s18" && names.back() == "s0", "all ten in order");
  });
}

void unfinished_queries(std::vector<StoreCase>& cases) {
  static const auto listed = [](Trial& t, SessionQuery query) {
    Names names;
    query.unfinished = true;
    do {
      const SessionPage page = list(t.store(), query).value();
      for (const SessionSummary& summary : page.sessions) names.push_back(summary.key.text());
      query.cursor = page.next;
    } while (!query.cursor.empty());
    std::sort(names.begin(), names.end());
    return names;
  };
  static const StreamId journal{.kind = RecordKind::kJournal, .branch = main_branch()};
  cases.push_back({"query", "sessions with a journal are found, of every tenant", [](Trial& t) {
                     const SessionKey finished = Trial::key("finished");
                     const SessionKey here = Trial::key("here");
                     SessionKey there = Trial::key("there");
                     there.tenant = TenantId::parse("elsewhere").value();
                     for (const SessionKey& key : {finished, here, there}) {
                       t.create(key);
                       t.add_note(key, Trial::record(journal, 1)).value();
                     }
                     Note dropped{.key = finished, .changes = {DropRecords{.stream = journal}}};
                     tertulia::note(t.store(), dropped).value();
                     Names both{here.text(), there.text()};
                     std::sort(both.begin(), both.end());
                     t.expect(listed(t, {.tenant = {}}) == both, "of every tenant");
                     t.expect(listed(t, {.tenant = {}, .limit = 1}) == both, "page by page");
                     t.expect(listed(t, {.tenant = here.tenant}) == Names{here.text()}, "of one tenant");
                     t.reopen();
                     t.expect(listed(t, {.tenant = {}}) == both, "also after a restart");
                   }});
  cases.push_back({"query", "a listing of every tenant is for unfinished turns only", [](Trial& t) {
                     t.refused(list(t.store(), {.tenant = {}}), ErrorCode::kMissingField, "without a tenant");
                   }});
}

void other_queries(std::vector<StoreCase>& cases) {
  cases.push_back({"query", "sessions of the program's own are listed when they are asked for", [](Trial& t) {
                     t.create(Trial::key("~memory"));
                     t.create(Trial::key("spoken"));
                     SessionQuery query{.tenant = Trial::key("spoken").tenant};
                     t.expect(list(t.store(), query).value().sessions.size() == 1, "the other one alone");
                     query.own = OwnSessions::kToo;
                     t.expect(list(t.store(), query).value().sessions.size() == 2, "both");
                     query.own = OwnSessions::kOnly;
                     const SessionPage own = list(t.store(), query).value();
                     t.expect(own.sessions.size() == 1 && own.sessions[0].key == Trial::key("~memory"),
                              "the program's own alone");
                   }});
  cases.push_back({"query", "idle sessions are found, of every tenant", [](Trial& t) {
                     SessionKey there = Trial::key("there");
                     there.tenant = TenantId::parse("elsewhere").value();
                     t.create(Trial::key("here"));
                     t.create(there);
                     const Time last = load(t.store(), there).value().session.last_activity;
                     SessionQuery query{.tenant = {}, .status = SessionStatus::kActive};
                     query.idle_since = last;
                     t.expect(list(t.store(), query).value().sessions.empty(), "none was idle before");
                     query.idle_since = last + std::chrono::hours(1);
                     t.expect(list(t.store(), query).value().sessions.size() == 2, "both");
                     query.tenant = there.tenant;
                     t.expect(list(t.store(), query).value().sessions.size() == 1, "of one tenant");
                     query.status = SessionStatus::kClosed;
                     t.expect(list(t.store(), query).value().sessions.empty(), "none is closed");
                   }});
  cases.push_back({"query", "pages of idle sessions of every tenant join to the whole list", [](Trial& t) {
                     Names made;
                     for (int i = 0; i < 7; ++i) {
                       SessionKey key = Trial::key("s" + std::to_string(i));
                       if (i % 2 == 1) key.tenant = TenantId::parse("elsewhere").value();
                       t.create(key);
                       made.push_back(key.text());
                     }
                     SessionQuery query{.tenant = {}, .idle_since = Time::max(), .limit = 2};
                     Names found;
                     std::vector<Time> times;
                     do {
                       const SessionPage page = list(t.store(), query).value();
                       t.expect(page.sessions.size() <= query.limit, "a page has no more than its limit");
                       for (const SessionSummary& session : page.sessions) {
                         found.push_back(session.key.text());
                         times.push_back(session.last_activity);
                       }
                       query.cursor = page.next;
                     } while (!query.cursor.empty());
                     t.expect(std::ranges::is_sorted(times, std::ranges::greater()), "the latest first");
                     std::ranges::sort(made);
                     std::ranges::sort(found);
                     t.expect(found == made, "each of them once");
                   }});
}

void record_queries(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"query", std::move(name), run}); };
  static const auto events = [](Trial& t, const SessionKey& key, int scopes, std::uint64_t each) {
    t.create(key);
    for (int s = 0; s < scopes; ++s) {
      const StreamId stream{
          .kind = RecordKind::kEvent, .branch = main_branch(), .scope = "turn-" + std::to_string(s)};
      Note note{.key = key};
      for (std::uint64_t n = 1; n <= each; ++n)
        note.changes.emplace_back(AddRecord{Trial::record(stream, n)});
      tertulia::note(t.store(), note).value();
    }
  };
  static const auto pages = [](Trial& t, RecordQuery query) {
    Names places;
    do {
      const RecordPage page = read_records(t.store(), query).value();
      t.expect(page.records.size() <= query.limit, "a page has no more entries than its limit");
      for (const StoredRecord& stored : page.records) {
        places.push_back(stored.session.text() + ":" + stored.record.stream.scope + ":" +
                         std::to_string(stored.record.number));
      }
      query.cursor = page.next;
    } while (!query.cursor.empty());
    return places;
  };
  for (const std::size_t limit : {1U, 4U, 100U}) {
    add("record pages of " + std::to_string(limit) + " join to the whole", [limit](Trial& t) {
      events(t, Trial::key(), 3, 3);
      RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
      query.limit = limit;
      Names expected;
      for (int s = 0; s < 3; ++s) {
        for (int n = 1; n <= 3; ++n) {
          expected.push_back("s:turn-" + std::to_string(s) + ":" + std::to_string(n));
        }
      }
      t.expect(pages(t, query) == expected, "by scope and number");
      query.newest_first = true;
      t.expect(pages(t, query) == Names(expected.rbegin(), expected.rend()), "and the other way round");
    });
  }
  add("a reader can come back at any number", [](Trial& t) {
    events(t, Trial::key(), 2, 10);
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.scope = "turn-1";
    query.after = 7;
    t.expect(pages(t, query) == Names{"s:turn-1:8", "s:turn-1:9", "s:turn-1:10"}, "no gap and no duplicate");
  });
  add("a record cursor holds while others write", [](Trial& t) {
    events(t, Trial::key(), 1, 10);
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.limit = 4;
    query.cursor = read_records(t.store(), query).value().next;
    const StreamId stream{.kind = RecordKind::kEvent, .branch = main_branch(), .scope = "turn-0"};
    t.add_note(Trial::key(), Trial::record(stream, 11)).value();
    const StreamId before{.kind = RecordKind::kEvent, .branch = main_branch(), .scope = "a"};
    t.add_note(Trial::key(), Trial::record(before, 1)).value();
    t.expect(pages(t, query).size() == 7, "5 to 11");
  });
  add("records are filtered by time", [](Trial& t) {
    events(t, Trial::key(), 1, 10);
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.since = Trial::at(3);
    query.until = Trial::at(5);
    t.expect(pages(t, query) == Names{"s:turn-0:3", "s:turn-0:4"}, "from 3 on, before 5");
  });
  add("records are filtered by branch key and name", [](Trial& t) {
    events(t, Trial::key(), 2, 3);
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.key = "key-2";
    t.expect(pages(t, query).size() == 2, "by key");
    query.name = "other";
    t.expect(pages(t, query).empty(), "by name");
    query.name = "name";
    query.branch = Trial::branch("b");
    t.expect(pages(t, query).empty(), "by branch");
    query.branch = main_branch();
    t.expect(pages(t, query).size() == 2, "by branch");
  });
  add("records of all sessions of an owner come by time", [](Trial& t) {
    events(t, Trial::key("b"), 1, 2);
    events(t, Trial::key("a"), 1, 2);
    events(t, Trial::key("x", "other"), 1, 2);
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.session = {};
    const Names expected{"a:turn-0:1", "b:turn-0:1", "a:turn-0:2", "b:turn-0:2"};
    t.expect(pages(t, query) == expected, "not those of others");
    query.limit = 1;
    t.expect(pages(t, query) == expected, "also in pages of one");
    query.newest_first = true;
    t.expect(pages(t, query) == Names(expected.rbegin(), expected.rend()), "and the other way round");
  });
  add("records of another owner are not read", [](Trial& t) {
    events(t, Trial::key("s", "other"), 1, 2);
    t.refused(read_records(t.store(), Trial::query(Trial::key(), RecordKind::kEvent)), ErrorCode::kNoSession,
              "a session of somebody else");
  });
  add("record queries that make no sense are refused", [](Trial& t) {
    t.create(Trial::key());
    RecordQuery query = Trial::query(Trial::key(), RecordKind::kEvent);
    query.limit = 0;
    t.refused(read_records(t.store(), query), ErrorCode::kOutOfRange, "a limit of 0");
    query.limit = 10;
    query.cursor = "nonsense";
    t.refused(read_records(t.store(), query), ErrorCode::kOutOfRange, "a made-up cursor");
    query.cursor.clear();
    query.owner = {};
    t.refused(read_records(t.store(), query), ErrorCode::kMissingField, "no owner");
  });
}

}  // namespace

void add_query_cases(std::vector<StoreCase>& cases) {
  listing(cases);
  searching(cases);
  unfinished_queries(cases);
  other_queries(cases);
  record_queries(cases);
}

}  // namespace tertulia
