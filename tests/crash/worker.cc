// A process that is killed. It writes to a store from several threads and says on standard output, line by
// line, what it is about to do and what was acknowledged; the supervisor (kill_loop.mjs) keeps that ledger
// outside.
//
//   worker run   KIND DIRECTORY ROUND    writes until it is killed
//   worker once  KIND DIRECTORY          opens, does each thing once or twice, closes
//   worker fill  KIND DIRECTORY BALLAST  writes until the disk is full, removes BALLAST, writes on
//   worker press KIND DIRECTORY BALLAST NAME KILL  fills the disk and frees it again and again, until it is
//   killed
//                                        after KILL microseconds; the session it writes is NAME
//   worker check KIND DIRECTORY          verifies the store, then lists what is in it
//   worker lives                         many of those, each a process (lives.h)
//
//   try  SESSION TURN                    before a turn is handed to the store
//   ack  SESSION TURN REVISION           after it was acknowledged
//   tryn SESSION NUMBER, ackn …          the same for a note to the session's journal
//   erase SESSION, erased SESSION        before and after a session is erased
//   full CODE                            fill: the error of the first change that did not fit
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/store.h"

#include "lives.h"

namespace tertulia {
namespace {

constexpr int kThreads = 4;
constexpr int kSessionsPerThread = 3;

// One write for a line, so that a kill never leaves half of one between two others.
void say(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) std::_Exit(3);
}

[[noreturn]] void give_up(const std::string& what, const Error& error) {
  say("fail " + what + ": " + std::string(name_of(error.code())) + ": " + error.message());
  std::_Exit(4);
}

template <class T>
T must(const std::string& what, Result<T> result) {
  if (!result) give_up(what, result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::unique_ptr<Store> open(const std::string& kind, const Path& directory) {
  if (kind == "json") return must("open", open_json_store(real_env(), directory));
  return must("open", open_sqlite_store(real_env(), directory));
}

const BranchId kMain = BranchId::parse("main").value();

StreamId journal() { return {.kind = RecordKind::kJournal, .branch = kMain}; }

// What a thread knows of one session.
struct Writer {
  SessionKey key;
  Revision revision{};
  std::uint64_t notes = 0;
};

class Worker {
 public:
  explicit Worker(Store& store) : store_(store), ids_(real_env().clock(), real_env().random()) {}

  Writer begin(const std::string& name) {
    Writer writer{.key = local_key(SessionId::parse(name).value())};
    const auto state = load(store_, writer.key);
    if (state) {
      writer.revision = state->session.revision;
      writer.notes = last_note(writer.key);
      return writer;
    }
    if (state.error().code() != ErrorCode::kNoSession) give_up("load " + name, state.error());
    Session session{.id = writer.key.session, .tenant = writer.key.tenant, .owner = writer.key.owner};
    writer.revision = must("create " + name,
                           commit(store_, Commit{.key = writer.key,
                                                 .changes = {PutSession{session}, PutBranch{{.id = kMain}}},
                                                 .time = real_env().clock().now()}));
    return writer;
  }

  void add_turn(Writer& writer) { must("turn", try_turn(writer)); }

  // Says that it was acknowledged if it was.
  Result<void> try_turn(Writer& writer, std::size_t padding = 0) {
    TurnDraft draft{TurnId(ids_.make())};
    const std::string turn = draft.id().text();
    for (Role role : {Role::kUser, Role::kAssistant}) {
      const std::string text = "what was said in turn " + turn + std::string(padding, '.');
      must("add",
           draft.add(Message::text(MessageId(ids_.make()), role, text, real_env().clock().now()).value()));
    }
    const std::string session = writer.key.session.text();
    say("try " + session + " " + turn);
    Commit change{.key = writer.key,
                  .expected = writer.revision,
                  .changes = {AppendTurn{.branch = kMain, .turn = Turn::seal(std::move(draft)).value()}},
                  .time = real_env().clock().now()};
    TERTULIA_TRY_AS(writer.revision, commit(store_, std::move(change)));
    say("ack " + session + " " + turn + " " + std::to_string(number(writer.revision)));
    return {};
  }

  // A fork and its end, which leave nothing behind but revisions.
  void fork_and_drop(Writer& writer) {
    const BranchId side = BranchId::parse("side").value();
    const BranchHead head{.id = side, .forked_from = ForkOrigin{kMain, 1}};
    for (const Change& change : {Change(PutBranch{head}), Change(DropBranches{{side}})}) {
      writer.revision = must("fork", commit(store_, Commit{.key = writer.key,
                                                           .expected = writer.revision,
                                                           .changes = {change},
                                                           .time = real_env().clock().now()}));
    }
  }

  void erase_session(const Writer& writer) {
    const SessionKey& key = writer.key;
    say("erase " + key.session.text());
    must("erase", erase(store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}));
    say("erased " + key.session.text());
  }

  // It may be done, or be finished when there is room.
  void erase_on_full_disk(const Writer& writer) {
    const SessionKey& key = writer.key;
    say("erase " + key.session.text());
    const auto gone = erase(store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session});
    if (!gone && gone.error().code() != ErrorCode::kStorageFull) give_up("erase", gone.error());
    if (gone) say("erased " + key.session.text());
  }

  void add_note(Writer& writer) {
    const std::string line = " " + writer.key.session.text() + " " + std::to_string(++writer.notes);
    say("tryn" + line);
    Record record{
        .stream = journal(), .number = writer.notes, .time = real_env().clock().now(), .payload = line};
    must("note", note(store_, Note{.key = writer.key, .changes = {AddRecord{std::move(record)}}}));
    say("ackn" + line);
  }

 private:
  std::uint64_t last_note(const SessionKey& key) {
    const RecordQuery query{.tenant = key.tenant,
                            .owner = key.owner,
                            .session = key.session,
                            .kind = RecordKind::kJournal,
                            .newest_first = true,
                            .limit = 1};
    const RecordPage page = must("notes", read_records(store_, query));
    return page.records.empty() ? 0 : page.records.front().record.number;
  }

  Store& store_;
  UuidMaker ids_;
};

int run(const std::string& kind, const Path& directory, const std::string& round) {
  const std::unique_ptr<Store> store = open(kind, directory);
  Worker worker(*store);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<Writer> writers;
      for (int i = 0; i < kSessionsPerThread; ++i) {
        // The last session of a thread is new in each round, so that creating one is killed too.
        const bool fresh = i + 1 == kSessionsPerThread;
        writers.push_back(
            worker.begin("t" + std::to_string(thread) + "-" + (fresh ? "round" + round : std::to_string(i))));
      }
      for (std::size_t step = 0;; ++step) {
        Writer& writer = writers[step % writers.size()];
        if (step % 4 == 3) {
          worker.add_note(writer);
        } else {
          worker.add_turn(writer);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int once(const std::string& kind, const Path& directory) {
  const std::unique_ptr<Store> store = open(kind, directory);
  Worker worker(*store);
  Writer one = worker.begin("one");
  worker.add_turn(one);
  worker.add_note(one);
  worker.add_turn(one);
  Writer two = worker.begin("two");
  worker.add_turn(two);
  worker.fork_and_drop(two);
  worker.erase_session(two);
  worker.add_turn(one);
  return 0;
}

int fill(const std::string& kind, const Path& directory, const Path& ballast) {
  const std::unique_ptr<Store> store = open(kind, directory);
  Worker worker(*store);
  Writer writer = worker.begin("one");
  constexpr std::size_t kPadding = 3'000;
  Result<void> written;
  while (written) written = worker.try_turn(writer, kPadding);
  say("full " + std::string(name_of(written.error().code())));
  // Reading needs no room.
  must("read", read_turns(*store, writer.key, {.branch = kMain}));
  if (worker.try_turn(writer, kPadding)) say("fail there was room after all");
  must("remove", real_env().files().remove(ballast));
  for (int i = 0; i < 3; ++i) must("turn with room", worker.try_turn(writer, kPadding));
  return 0;
}

std::uint64_t room_on(const Path& path) {
  std::error_code problem;
  const auto space = std::filesystem::space(path, problem);
  return problem ? 0 : space.available;
}

// Takes all but `leave` bytes of the disk.
void take_room(const Path& ballast, std::uint64_t leave) {
  const std::uint64_t room = room_on(ballast.parent_path());
  const std::string zeros(room > leave ? room - leave : 0, '\1');
  const auto file = real_env().files().open(ballast, OpenMode::kCreate);
  if (file) static_cast<void>((*file)->write_at(0, zeros));
}

// Nobody knows where it is when its time has come.
void kill_after(std::uint64_t microseconds) {
  std::thread([microseconds] {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

// The disk may be full when this begins. With room, every change must succeed; without, none may but with
// storage_full, and what is there can be read.
int press(const std::string& kind, const Path& directory, const Path& ballast, const std::string& name,
          std::uint64_t kill) {
  std::mt19937_64 random(kill);
  kill_after(kill);
  const std::unique_ptr<Store> store = open(kind, directory);
  Worker worker(*store);
  Writer writer{};
  const SessionKey key = local_key(SessionId::parse(name).value());
  must("verify", verify(*store));
  for (;;) {
    must("remove", real_env().files().info(ballast) ? real_env().files().remove(ballast) : Result<void>());
    writer = worker.begin(name);
    for (int i = 0; i < 3; ++i) must("turn with room", worker.try_turn(writer, random() % 2'000));
    worker.add_note(writer);
    Writer other = worker.begin("x" + std::to_string(random()));
    worker.add_turn(other);
    if (random() % 2 == 0) worker.erase_session(other);
    take_room(ballast, random() % 40'000);
    Result<void> written;
    while (written) written = worker.try_turn(writer, random() % 6'000);
    if (written.error().code() != ErrorCode::kStorageFull) give_up("full", written.error());
    must("read", read_turns(*store, writer.key, {.branch = kMain}));
    worker.erase_on_full_disk(other);
    must("list", list(*store, {.tenant = key.tenant}));
    must("calls",
         read_records(*store, {.tenant = key.tenant, .owner = key.owner, .kind = RecordKind::kToolCall}));
  }
}

// Nobody kills who checks: its many lines are said in few writes.
class Listing {
 public:
  void add(const std::string& line) {
    text_ += line + "\n";
    if (text_.size() > 30'000) say_all();
  }
  void say_all() {
    for (std::string_view left = text_; !left.empty();) {
      const ssize_t written = ::write(STDOUT_FILENO, left.data(), left.size());
      if (written <= 0) std::_Exit(3);
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    text_.clear();
  }

 private:
  std::string text_;
};

int check(const std::string& kind, const Path& directory) {
  Listing listing;
  const std::unique_ptr<Store> store = open(kind, directory);
  const VerifyReport report = must("verify", verify(*store));
  for (const Problem& problem : report.problems) {
    say("problem " + std::string(name_of(problem.code)) + " " + problem.session + " " + problem.record +
        ": " + problem.sentence);
  }
  SessionQuery query{.tenant = local_key({}).tenant, .limit = 1000};
  do {
    const SessionPage page = must("list", list(*store, query));
    for (const SessionSummary& summary : page.sessions) {
      const std::string name = summary.key.session.text();
      listing.add("session " + name + " " + std::to_string(number(summary.revision)));
      for (const StoredTurn& turn : must("read", read_turns(*store, summary.key, {.branch = kMain}))) {
        listing.add("turn " + name + " " + turn.turn.id().text() + " " +
                    std::to_string(number(turn.revision)));
      }
      RecordQuery records{.tenant = summary.key.tenant,
                          .owner = summary.key.owner,
                          .session = summary.key.session,
                          .kind = RecordKind::kJournal,
                          .limit = 1000};
      do {
        RecordPage notes = must("notes", read_records(*store, records));
        for (const StoredRecord& found : notes.records) {
          listing.add("note " + name + " " + std::to_string(found.record.number));
        }
        records.cursor = std::move(notes.next);
      } while (!records.cursor.empty());
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  listing.say_all();
  say("checked");
  return report.problems.empty() ? 0 : 5;
}

int live(const std::vector<std::string>& words) {
  if (words.size() == 5 && words[1] == "run") return tertulia::run(words[2], words[3], words[4]);
  if (words.size() == 4 && words[1] == "once") return tertulia::once(words[2], words[3]);
  if (words.size() == 5 && words[1] == "fill") return tertulia::fill(words[2], words[3], words[4]);
  if (words.size() == 7 && words[1] == "press") {
    return tertulia::press(words[2], words[3], words[4], words[5], std::stoull(words[6]));
  }
  if (words.size() == 4 && words[1] == "check") return tertulia::check(words[2], words[3]);
  std::fputs(
      "usage: worker run KIND DIRECTORY ROUND | once KIND DIRECTORY | fill KIND DIRECTORY BALLAST | check "
      "KIND DIRECTORY | lives\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { return tertulia::live_one_or_many(argc, argv, tertulia::live); }
