// The store: calls go to the writing thread or to the readers.
#include "tertulia/store/sqlite_store.h"

#include <new>
#include <utility>

#include "tertulia/store/read_rules.h"

#include "derived.h"
#include "open_files.h"
#include "readers.h"
#include "reading.h"
#include "store_core.h"
#include "verifying.h"
#include "writer.h"

namespace tertulia {

namespace {

constexpr std::size_t kMaxReaders = 64;

class OpenSqliteStore final : public SqliteStore {
 public:
  OpenSqliteStore(Env& env, const Path& directory, SqliteOptions options)
      : core_(env, directory, std::move(options)) {}

  Result<void> open() {
    TERTULIA_TRY_AS(Connection connection, open_files(core_));
    writer_ = std::make_unique<Writer>(core_, std::move(connection));
    TERTULIA_TRY(writer_->start());
    readers_ = std::make_unique<Readers>(core_);
    return {};
  }
  // First the writer, which may still hand work to the readers; but its connection closes last, so that it
  // can put the log away.
  ~OpenSqliteStore() override {
    if (writer_ != nullptr && readers_ != nullptr) wait_for_writer();
    readers_.reset();
    writer_.reset();
  }

  void commit(Commit commit, Done<Revision> done) override {
    writer_->commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override { writer_->note(std::move(note), std::move(done)); }

  void load(SessionKey key, Done<SessionState> done) override {
    read<SessionState>([this, key = std::move(key)](
                           Connection& connection) { return read_session(connection, core_.keys, key); },
                       std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    read<std::vector<StoredTurn>>(
        [this, key = std::move(key), range = std::move(range)](Connection& connection) {
          return read_turn_range(connection, core_.keys, key, range);
        },
        std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    const bool derived = query.kind == RecordKind::kToolCall;
    auto look = [this, query = std::move(query)](Connection& connection) {
      return read_record_page(connection, core_.keys, query);
    };
    derived ? read_derived<RecordPage>(std::move(look), std::move(done))
            : read<RecordPage>(std::move(look), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    // What is newer than the rows is taken before the snapshot begins: never too little is known.
    auto job = [this, query = std::move(query)](Connection& connection, const NewerActivities& newer) {
      return list_sessions(connection, core_.keys, query, newer);
    };
    readers_->add([this, job = std::move(job), done = std::move(done)](Result<Connection*> connection) {
      if (!connection) return done(std::move(connection).error());
      const NewerActivities newer = core_.newer_activities();
      done(in_snapshot<SessionPage>(**connection, [&](Connection& reader) { return job(reader, newer); }));
    });
  }
  void verify(Done<VerifyReport> done) override {
    read<VerifyReport>([this](Connection& connection) { return verify_database(connection, core_.keys); },
                       std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    if (scope.tenant.empty() || scope.owner.empty()) {
      return done(Error(ErrorCode::kMissingField, "erasing needs a tenant and an owner")
                      .with("param", scope.tenant.empty() ? "tenant" : "owner"));
    }
    write<EraseReport>([this, scope = std::move(scope)] { return writer_->erase(scope); }, std::move(done));
  }

  Result<void> backup_to(const Path& file) override {
    TERTULIA_TRY_AS(Connection connection, open_reader(core_));
    return copy_database(connection, core_, file);
  }
  Result<bool> erase_tenant_key(const TenantId& tenant) override {
    return wait<bool>([&](Done<bool> done) {
      write<bool>([this, tenant] { return writer_->erase_tenant_key(tenant); }, std::move(done));
    });
  }
  Result<std::vector<TextHit>> search_text(const TenantId& tenant, const OwnerId& owner,
                                           const std::string& words, std::size_t limit) override {
    TERTULIA_TRY(check_query(SessionQuery{.tenant = tenant, .owner = owner, .limit = limit}));
    return wait<std::vector<TextHit>>([&](Done<std::vector<TextHit>> done) {
      read_derived<std::vector<TextHit>>(
          [=, this](Connection& connection) {
            return search_texts(connection, core_.keys, tenant, owner, words, limit);
          },
          std::move(done));
    });
  }

 private:
  // What `call` gives; an exception must not end the thread, and with it the program.
  template <class T, class Call>
  static Result<T> guarded(const Call& call) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::kStorageFull, "there is not enough memory for this call");
    }
  }

  template <class T, class Look>
  static Result<T> in_snapshot(Connection& connection, const Look& look) {
    return guarded<T>([&]() -> Result<T> {
      TERTULIA_TRY_AS(const Snapshot snapshot, Snapshot::begin(connection));
      return look(connection);
    });
  }

  template <class T, class Look>
  void read(Look look, Done<T> done) {
    readers_->add([look = std::move(look), done = std::move(done)](Result<Connection*> connection) {
      if (!connection) return done(std::move(connection).error());
      done(in_snapshot<T>(**connection, look));
    });
  }

  // As read, after the derived rows were brought up to date.
  template <class T, class Look>
  void read_derived(Look look, Done<T> done) {
    if (!writer_->lagging()) return read<T>(std::move(look), std::move(done));
    writer_->run(
        [this, look = std::move(look), done] {
          Result<void> derived = guarded<void>([&] { return writer_->derive_all(); });
          if (!derived) return done(std::move(derived).error());
          read<T>(look, done);
        },
        done);
  }

  template <class T, class Call>
  void write(Call call, Done<T> done) {
    writer_->run([call = std::move(call), done] { done(guarded<T>(call)); }, done);
  }

  void wait_for_writer() {
    static_cast<void>(wait<void>([&](Done<void> done) { writer_->run([done] { done({}); }, done); }));
  }

  StoreCore core_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Readers> readers_;
};

Result<void> check_options(const SqliteOptions& options) {
  if (options.readers >= 1 && options.readers <= kMaxReaders && options.cached_sessions >= 1 &&
      options.queue >= 1) {
    return {};
  }
  return Error(ErrorCode::kBadConfig,
               "a SQLite store has 1 to 64 readers, and room for a session and a call");
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> open_sqlite_store(Env& env, const Path& directory,
                                                       SqliteOptions options) {
  TERTULIA_TRY(check_options(options));
  auto store = std::make_unique<OpenSqliteStore>(env, directory, std::move(options));
  TERTULIA_TRY(store->open());
  return std::unique_ptr<SqliteStore>(std::move(store));
}

}  // namespace tertulia
