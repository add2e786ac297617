// The store: calls go to the writing thread or to the readers.
#include "tertulia/store/sqlite_store.h"

#include <memory>
#include <optional>
#include <utility>

#include "tertulia/store/memory_guard.h"
#include "tertulia/store/read_rules.h"
#include "tertulia/store/session_hold.h"

#include "derived.h"
#include "open_files.h"
#include "readers.h"
#include "reading.h"
#include "store_core.h"
#include "text_index.h"
#include "verifying.h"
#include "writer.h"

namespace tertulia {

namespace {

constexpr std::size_t kMaxReaders = 64;
constexpr std::size_t kLeastLogBytes = 4'096;

ChangeLogOptions log_options(const SqliteOptions& options) {
  return {.synced = options.durability == Durability::kFull, .growth = options.log_bytes / kLogParts};
}

class OpenSqliteStore final : public SqliteStore {
 public:
  OpenSqliteStore(Env& env, const Path& directory, SqliteOptions options)
      : core_(env, directory, std::move(options)) {
    core_.store = this;
  }

  Result<void> open() {
    TERTULIA_TRY_AS(Connection connection, open_files(core_));
    TERTULIA_TRY_AS(ChangeLog log,
                    ChangeLog::open(core_.env.files(), core_.directory, log_options(core_.options)));
    writer_ = std::make_unique<Writer>(core_, std::move(connection), std::move(log));
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
    if (auto free = check_hold(*this, key); !free) return done(std::move(free).error());
    const bool behind = core_.unsettled(key);
    read<SessionState>(
        behind,
        [this, key = std::move(key)](Connection& connection) {
          return read_session(connection, core_.keys, key);
        },
        std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    if (auto free = check_hold(*this, key); !free) return done(std::move(free).error());
    const bool behind = core_.unsettled(key);
    read<std::vector<StoredTurn>>(
        behind,
        [this, key = std::move(key), range = std::move(range)](Connection& connection) {
          return read_turn_range(connection, core_.keys, key, range);
        },
        std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    if (auto free = check_hold(*this, query); !free) return done(std::move(free).error());
    const bool derived = query.kind == RecordKind::kToolCall;
    // Shared, so that nothing here needs memory but this.
    auto shared = guarded<std::shared_ptr<const RecordQuery>>(
        [&] { return std::make_shared<const RecordQuery>(std::move(query)); });
    if (!shared) return done(std::move(shared).error());
    const bool behind = unsettled(**shared);
    auto look = [this, asked = *shared](Connection& connection) -> Result<RecordPage> {
      TERTULIA_TRY_AS(RecordPage page, read_record_page(connection, core_.keys, *asked));
      if (asked->kind == RecordKind::kToolCall) {
        TERTULIA_TRY(note_underivable(connection, *asked, core_.underivable_sessions(), page));
      }
      return page;
    };
    if (!derived) return read<RecordPage>(behind, std::move(look), std::move(done));
    auto otherwise = [this, asked = *shared](Connection& connection, const Error&) {
      return read_tool_calls(connection, core_.keys, *asked);
    };
    read_derived<RecordPage>(std::move(look), std::move(otherwise), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    // What is newer than the rows is taken before the snapshot begins: never too little is known.
    auto newer = guarded<std::shared_ptr<const NewerActivities>>(
        [&] { return std::make_shared<const NewerActivities>(core_.newer_activities()); });
    if (!newer) return done(std::move(newer).error());
    read<SessionPage>(
        core_.unsettled(),
        [this, query = std::move(query), newer = *std::move(newer)](Connection& connection) {
          return list_sessions(connection, core_.keys, query, *newer);
        },
        std::move(done));
  }
  void verify(Done<VerifyReport> done) override {
    read<VerifyReport>(
        core_.unsettled(),
        [this](Connection& connection) -> Result<VerifyReport> {
          TERTULIA_TRY_AS(VerifyReport report, verify_database(connection, core_.keys));
          MutexLock lock(core_.mutex);
          report.notices = std::exchange(core_.mended, {});
          report.problems.insert(report.problems.end(), core_.given_up.begin(), core_.given_up.end());
          return report;
        },
        std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    if (scope.tenant.empty() || scope.owner.empty()) {
      return done(Error(ErrorCode::kMissingField, "erasing needs a tenant and an owner")
                      .with("param", scope.tenant.empty() ? "tenant" : "owner"));
    }
    if (auto free = check_hold(*this, scope); !free) return done(std::move(free).error());
    write<EraseReport>([this, scope = std::move(scope)] { return writer_->erase(scope); }, std::move(done));
  }

  Result<void> check_writable() override {
    TERTULIA_TRY(writer_->check_whole());
    return core_.room.check();
  }

  Result<void> backup_to(const Path& file) override {
    TERTULIA_TRY(wait<void>(
        [&](Done<void> done) { write<void>([this] { return writer_->settle(); }, std::move(done)); }));
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
    const auto search = [&] {
      return wait<std::vector<TextHit>>([&](Done<std::vector<TextHit>> done) {
        read_derived<std::vector<TextHit>>(
            [=, this](Connection& connection) {
              return search_texts(connection, core_.keys, tenant, owner, words, limit);
            },
            [](Connection&, const Error& why) -> Result<std::vector<TextHit>> { return why; },
            std::move(done));
      });
    };
    Result<std::vector<TextHit>> found = search();
    if (found || !is_of_text_index(found.error())) return found;
    TERTULIA_TRY(wait<void>([&](Done<void> done) {
      write<void>([this, why = found.error()] { return writer_->mend_for_reader(why); }, std::move(done));
    }));
    return search();
  }

 private:
  template <class T, class Look>
  static Result<T> in_snapshot(Connection& connection, const Look& look) {
    return guarded<T>([&]() -> Result<T> {
      TERTULIA_TRY_AS(const Snapshot snapshot, Snapshot::begin(connection));
      return look(connection);
    });
  }

  bool unsettled(const RecordQuery& query) {
    if (query.session.empty()) return core_.unsettled();
    const Result<bool> behind =
        guarded<bool>([&] { return core_.unsettled(SessionKey{query.tenant, query.owner, query.session}); });
    return !behind || *behind;
  }

  // Has a reader look. If the tables are `behind`, it settles them first; where it cannot, on a full disk, it
  // looks through the writer's eyes.
  template <class T, class Look>
  void read(bool behind, Look look, Done<T> done) {
    add<T>(
        [this, behind, look = std::move(look)](Connection& connection) -> Result<T> {
          if (behind && !guarded<void>([&] { return writer_->settle(); })) return read_unsettled<T>(look);
          return in_snapshot<T>(connection, look);
        },
        done);
  }

  template <class T, class Look>
  Result<T> read_unsettled(const Look& look) {
    std::optional<Result<T>> found;
    TERTULIA_TRY(guarded<void>([&] {
      return writer_->as_if_settled([&](Connection& connection) -> Result<void> {
        found.emplace(look(connection));
        return {};
      });
    }));
    return *std::move(found);
  }

  // Has a reader do it. `done` is copied: it is needed here if there is no memory for the job.
  template <class T, class Call>
  void add(Call call, const Done<T>& done) {
    Result<void> added = guarded<void>([&]() -> Result<void> {
      readers_->add([call = std::move(call), done](Result<Connection*> connection) {
        if (!connection) return done(std::move(connection).error());
        done(call(**connection));
      });
      return {};
    });
    if (!added) done(std::move(added).error());
  }

  // As read, after the derived rows were brought up to date. Where the disk does not let them be written,
  // `otherwise` looks without them, or gives back why.
  template <class T, class Look, class Otherwise>
  void read_derived(Look look, Otherwise otherwise, Done<T> done) {
    if (!writer_->lagging()) return read<T>(core_.unsettled(), std::move(look), std::move(done));
    auto task = [this, look = std::move(look), otherwise = std::move(otherwise), done] {
      Result<void> derived = guarded<void>([&] { return writer_->derive_all(); });
      if (derived) return read<T>(false, look, done);
      const ErrorCode code = derived.error().code();
      if (code == ErrorCode::kStorageFull || code == ErrorCode::kStorageIo) {
        return read<T>(
            core_.unsettled(),
            [otherwise, why = derived.error()](Connection& connection) { return otherwise(connection, why); },
            done);
      }
      done(std::move(derived).error());
    };
    Result<void> added = guarded<void>([&]() -> Result<void> {
      writer_->run(std::move(task), done);
      return {};
    });
    if (!added) done(std::move(added).error());
  }

  template <class T, class Call>
  void write(Call call, Done<T> done) {
    Result<void> added = guarded<void>([&]() -> Result<void> {
      writer_->run([call = std::move(call), done] { done(guarded<T>(call)); }, done);
      return {};
    });
    if (!added) done(std::move(added).error());
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
      options.queue >= 1 && options.log_bytes >= kLeastLogBytes) {
    return {};
  }
  return Error(ErrorCode::kBadConfig,
               "a SQLite store has 1 to 64 readers, room for a session and a call, and 4 KiB for its log");
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> open_sqlite_store(Env& env, const Path& directory,
                                                       SqliteOptions options) {
  TERTULIA_TRY(check_options(options));
  return guarded<std::unique_ptr<SqliteStore>>([&]() -> Result<std::unique_ptr<SqliteStore>> {
    auto store = std::make_unique<OpenSqliteStore>(env, directory, std::move(options));
    TERTULIA_TRY(store->open());
    return std::unique_ptr<SqliteStore>(std::move(store));
  });
}

}  // namespace tertulia
