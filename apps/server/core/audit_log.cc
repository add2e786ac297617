#include "core/audit_log.h"

#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/sha256.h"
#include "tertulia/base/utf8.h"
#include "tertulia/base/with_memory.h"

#include "core/call.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kReadBytes = 1U << 20U;
// How much of the end is read again when the log is opened: a long log does not make a start slow.
constexpr std::uint64_t kReadAtOpen = 1U << 20U;
// What may wait to be written; beyond it nothing new is begun.
constexpr std::size_t kMostWaiting = 100'000;
// How often the newest hash is logged while entries are added.
constexpr std::chrono::hours kAnchorEvery(1);

// What there must be room for, for the log to be taken for writable again: a few lines.
constexpr std::size_t kRoom = 4'096;

constexpr std::string_view kBegun = "begun";
constexpr std::string_view kCut = "cut";

// The line without its hash: everything but the closing brace. `state` is empty if there is a status.
std::string line_of(const AuditEntry& entry, std::string_view state, std::string_view landed,
                    std::uint64_t number, Time time, const std::string& previous) {
  std::string line;
  JsonWriter out(line);
  out.begin_object().key("n").number(number).key("time").string(iso_time(time));
  const auto add = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out.key(name).string(sanitize_utf8(value));
  };
  add("tenant", entry.tenant);
  add("user", entry.user);
  add("key", entry.key);
  add("method", entry.method);
  add("route", entry.route);
  add("session", entry.session);
  add("request", entry.request);
  if (state.empty()) {
    out.key("status").number(entry.status);
  } else {
    out.key("state").string(state);
  }
  if (!landed.empty()) out.key("landed").string(landed);
  out.key("prev").string(previous);
  return line;
}

struct Chain {
  AuditReport report;
  // Where the whole lines end.
  std::uint64_t end = 0;
  // The next line is the first that is read, and not the first that there is: what comes before it is taken
  // as it says.
  bool entered = false;
  // What was begun and has no second line yet, by its request.
  std::map<std::string, CutRequest> open{};
};

bool same_session(const AuditEntry& one, const AuditEntry& other) {
  return !one.session.empty() && one.session == other.session && one.user == other.user &&
         one.tenant == other.tenant;
}

// Keeps the account of what is open.
void note_line(const Json& form, Chain& chain) {
  JsonReader in(form, "audit");
  const std::string request = in.string_or("request", {});
  if (request.empty()) return;
  if (in.string_or("state", {}) != kBegun) {
    chain.open.erase(request);
    return;
  }
  CutRequest cut;
  AuditEntry& entry = cut.entry;
  entry.tenant = in.string_or("tenant", {});
  entry.user = in.string_or("user", {});
  entry.key = in.string_or("key", {});
  entry.method = in.string_or("method", {});
  entry.route = in.string_or("route", {});
  entry.session = in.string_or("session", {});
  entry.request = request;
  cut.begun = parse_iso_time(in.string_or("time", {})).value_or(Time{});
  for (auto& [id, other] : chain.open) {
    if (!same_session(other.entry, entry)) continue;
    other.alone = false;
    cut.alone = false;
  }
  chain.open.insert_or_assign(request, std::move(cut));
}

Error broken(std::uint64_t number, std::string_view why) {
  return Error(ErrorCode::kDamaged, "audit.jsonl: line " + std::to_string(number) + " " + std::string(why) +
                                        ": the log was changed, or the disk is damaged")
      .with("record", std::to_string(number));
}

Result<void> check_line(std::string_view line, Chain& chain) {
  const std::uint64_t number = chain.report.entries + 1;
  const std::size_t hash_at = line.rfind(",\"hash\":\"");
  const Result<Json> form = parse_json(line);
  if (!form || hash_at == std::string_view::npos) return broken(number, "is no entry");
  JsonReader in(*form, "audit");
  const std::int64_t counted = in.required_int("n", 1, INT64_MAX);
  const std::string previous = in.string_or("prev", {});
  const std::string hash = in.required_string("hash");
  if (Result<void> whole = in.finish(); !whole) return broken(number, "is no entry");
  if (std::exchange(chain.entered, false)) {
    chain.report.entries = static_cast<std::uint64_t>(counted) - 1;
    chain.report.head = previous;
  }
  if (static_cast<std::uint64_t>(counted) != chain.report.entries + 1)
    return broken(number, "has another number");
  if (previous != chain.report.head) return broken(number, "does not follow the line before it");
  if (hash != sha256_hex(line.substr(0, hash_at))) return broken(number, "is not what was written");
  ++chain.report.entries;
  chain.report.head = hash;
  note_line(*form, chain);
  return {};
}

// From the first line that begins behind `from`.
Result<Chain> read_chain(File& file, std::uint64_t from = 0) {
  Chain chain{.end = from};
  std::string bytes;
  std::uint64_t offset = from;
  if (from > 0) {
    // Lines are shorter than this.
    TERTULIA_TRY_AS(const std::string head, file.read_at(from, kReadBytes));
    const std::size_t line_end = head.find('\n');
    if (line_end == std::string::npos) return read_chain(file);
    offset = chain.end = from + line_end + 1;
    chain.entered = true;
  }
  while (true) {
    TERTULIA_TRY_AS(const std::string read, file.read_at(offset, kReadBytes));
    if (read.empty()) break;
    offset += read.size();
    bytes += read;
    std::size_t begin = 0;
    for (std::size_t end = bytes.find('\n'); end != std::string::npos; end = bytes.find('\n', begin)) {
      TERTULIA_TRY(check_line(std::string_view(bytes).substr(begin, end - begin), chain));
      begin = end + 1;
    }
    chain.end += begin;
    bytes.erase(0, begin);
  }
  chain.report.torn = !bytes.empty();
  return chain;
}

}  // namespace

Path audit_path(const Path& directory) { return directory / "audit.jsonl"; }

Result<AuditReport> verify_audit(FileSystem& files, const Path& directory) {
  Result<std::unique_ptr<File>> file = files.open(audit_path(directory), OpenMode::kRead);
  if (!file) {
    if (file.error().code() == ErrorCode::kNotFound) return AuditReport{};
    return std::move(file).error();
  }
  TERTULIA_TRY_AS(const Chain chain, read_chain(**file));
  return chain.report;
}

class AuditLog::Writer {
 public:
  Writer(Env& env, std::unique_ptr<File> file, Chain chain, Log log, const Landed& landed)
      : env_(env), file_(std::move(file)), chain_(std::move(chain)), log_(std::move(log)) {
    anchor();
    const std::map<std::string, CutRequest> open = std::exchange(chain_.open, {});
    for (const auto& [request, cut] : open) add(cut.entry, kCut, landed ? landed(cut) : "unknown");
    thread_ = std::thread([this] { run(); });
  }
  ~Writer() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
    anchor();
  }

  void begin(AuditEntry entry, Done<void> durable) {
    const Time time = env_.clock().now();
    {
      MutexLock lock(mutex_);
      if (waiting_.size() < kMostWaiting) {
        waiting_.push_back({time, std::move(entry), kBegun, {}, std::move(durable)});
        changed_.notify_all();
        return;
      }
    }
    durable(Error(ErrorCode::kQueueFull, "the audit log cannot keep up; try again in a moment"));
  }

  Result<void> check_writable() {
    MutexLock lock(mutex_);
    if (!refusing_) return {};
    looks_ = true;
    changed_.notify_all();
    return *refusing_;
  }

  void settle() {
    MutexLock lock(mutex_);
    while (!waiting_.empty() || writing_ || looks_) idle_.wait(mutex_);
  }

  // `state` and `landed` are literals.
  void add(AuditEntry entry, std::string_view state = {}, std::string_view landed = {}) {
    const Time time = env_.clock().now();
    MutexLock lock(mutex_);
    waiting_.push_back({time, std::move(entry), state, landed, nullptr});
    changed_.notify_all();
  }

 private:
  struct Waiting {
    Time time{};
    AuditEntry entry;
    std::string_view state;
    std::string_view landed;
    // Of what begins.
    Done<void> durable;
  };

  // Of the real clock, whatever time the entries have.
  static Instant now() { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }

  void anchor() {
    next_anchor_ = now() + kAnchorEvery;
    anchored_ = chain_.report.entries;
    log_.info("audit", {{"entries", chain_.report.entries}, {"head", chain_.report.head}});
  }

  void anchor_again() {
    if (anchored_ != chain_.report.entries) return anchor();
    next_anchor_ = now() + kAnchorEvery;
  }

  void run() {
    while (true) {
      std::vector<Waiting> entries;
      bool last = false;
      bool look = false;
      {
        MutexLock lock(mutex_);
        while (waiting_.empty() && !stopping_ && !looks_ && now() < next_anchor_) {
          changed_.wait_until(mutex_, next_anchor_);
        }
        if (waiting_.empty() && stopping_) return give_up(unwritten_);
        last = stopping_;
        look = std::exchange(looks_, false);
        entries.swap(waiting_);
        writing_ = true;
      }
      if (now() >= next_anchor_) run_safely("the writer of the audit log", [&] { anchor_again(); });
      if (look && entries.empty()) run_safely("the writer of the audit log", [&] { look_for_room(); });
      bool written = entries.empty();
      if (!written && !run_safely("the writer of the audit log", [&] { written = write_all(entries); })) {
        put_back(entries);
      }
      if (!written && last) return give_up(unwritten_);
      MutexLock lock(mutex_);
      writing_ = false;
      idle_.notify_all();
    }
  }

  bool write_all(std::vector<Waiting>& entries) {
    // What could not be written before comes first.
    entries.insert(entries.begin(), std::make_move_iterator(unwritten_.begin()),
                   std::make_move_iterator(unwritten_.end()));
    unwritten_.clear();
    const Result<void> written = write(entries);
    if (!written) keep_ends(entries, written.error());
    return written.ok();
  }

  // Nobody may come who writes something while it is known that nothing can be written.
  void look_for_room() {
    if (!failing_) return;
    if (!unwritten_.empty()) {
      std::vector<Waiting> none;
      write_all(none);
      return;
    }
    const Result<void> mended = mend();
    Result<void> room = mended ? file_->write_at(chain_.end, std::string(kRoom, ' ')) : mended;
    if (const Result<void> cut = file_->truncate(chain_.end); room && !cut) room = cut;
    if (room) {
      tell_written();
    } else {
      refuse(room.error());
    }
  }

  void refuse(const Error& why) {
    MutexLock lock(mutex_);
    refusing_ = Error(why.code(), "the audit log cannot be written, so nothing is changed: " + why.message());
  }

  void tell_written() {
    if (!std::exchange(failing_, false)) return;
    log_.info("the audit log is written again", {});
    MutexLock lock(mutex_);
    refusing_.reset();
  }

  // What a sync that failed has left behind the last whole line is not known, so it is taken off; what is
  // before was synced.
  Result<void> mend() {
    if (!broken_) return {};
    TERTULIA_TRY(file_->truncate(chain_.end));
    TERTULIA_TRY(file_->sync());
    broken_.reset();
    return {};
  }

  // Nothing of them is in the file: what was to begin is refused, what has ended waits.
  void keep_ends(std::vector<Waiting>& entries, const Error& why) {
    if (!std::exchange(failing_, true)) {
      log_.error("the audit log cannot be written: nothing is changed until it can",
                 {{"reason", why.message()}});
    }
    refuse(why);
    for (Waiting& one : entries) {
      if (one.durable) {
        std::exchange(one.durable, nullptr)(
            Error(why.code(), "the audit log cannot be written, so nothing is changed: " + why.message()));
      } else {
        unwritten_.push_back(std::move(one));
      }
    }
  }

  // Memory has run out before they were written: what was to begin is refused, what has ended waits for more.
  void put_back(std::vector<Waiting>& entries) {
    with_memory([&] { unwritten_.reserve(unwritten_.size() + entries.size()); });
    for (Waiting& one : entries) {
      const Done<void> told = std::exchange(one.durable, nullptr);
      if (told) {
        run_safely("the writer of the audit log",
                   [&] { told(Error(ErrorCode::kStorageFull, "the server is out of memory")); });
      } else if (!one.entry.request.empty()) {
        unwritten_.push_back(std::move(one));
      }
    }
  }

  void give_up(const std::vector<Waiting>& entries) {
    if (entries.empty()) return;
    log_.error("what came of some requests is not in the audit log; the next start says that they were cut",
               {{"count", entries.size()}});
  }

  Result<void> write(std::vector<Waiting>& entries) {
    TERTULIA_TRY(mend());
    Chain after{.report = chain_.report, .end = chain_.end};
    std::string lines;
    for (const Waiting& one : entries) {
      std::string line =
          line_of(one.entry, one.state, one.landed, after.report.entries + 1, one.time, after.report.head);
      after.report.head = sha256_hex(line);
      ++after.report.entries;
      lines.append(line).append(",\"hash\":\"").append(after.report.head).append("\"}\n");
    }
    if (Result<void> written = file_->write_at(chain_.end, lines); !written) {
      if (Result<void> cut = file_->truncate(chain_.end); !cut) broken_ = cut.error();
      return written;
    }
    if (Result<void> synced = file_->sync(); !synced) {
      broken_ = synced.error();
      return synced;
    }
    after.end = chain_.end + lines.size();
    chain_ = std::move(after);
    tell_written();
    for (Waiting& one : entries) {
      if (const Done<void> told = std::exchange(one.durable, nullptr)) {
        run_safely("whoever waits for the audit log", [&] { told({}); });
      }
    }
    return {};
  }

  Env& env_;
  const std::unique_ptr<File> file_;
  Chain chain_;
  const Log log_;
  // Of the thread that writes, and before and after it.
  Instant next_anchor_{};
  std::uint64_t anchored_ = 0;
  Mutex mutex_;
  CondVar changed_;
  CondVar idle_;
  std::vector<Waiting> waiting_ TERTULIA_GUARDED_BY(mutex_);
  bool writing_ TERTULIA_GUARDED_BY(mutex_) = false;
  // Of the thread that writes.
  std::vector<Waiting> unwritten_;
  std::optional<Error> broken_;
  bool failing_ = false;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  // Why nothing may begin, and that somebody wants to know whether that is still so.
  std::optional<Error> refusing_ TERTULIA_GUARDED_BY(mutex_);
  bool looks_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

AuditLog::AuditLog(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
AuditLog::~AuditLog() = default;

Result<std::unique_ptr<AuditLog>> AuditLog::open(Env& env, const Path& directory, Log log,
                                                 const Landed& landed) {
  TERTULIA_TRY(env.files().make_directory(directory));
  TERTULIA_TRY_AS(std::unique_ptr<File> file, env.files().open(audit_path(directory), OpenMode::kCreate));
  // A power cut must not take the name away with what is written under it.
  TERTULIA_TRY(env.files().sync_directory(directory));
  // Its parent may be closed to this user; then it is older than this process.
  if (directory.has_parent_path()) (void)env.files().sync_directory(directory.parent_path());
  TERTULIA_TRY_AS(const std::uint64_t size, file->size());
  TERTULIA_TRY_AS(Chain chain, read_chain(*file, size > kReadAtOpen ? size - kReadAtOpen : 0));
  // Nothing but a torn line behind the place: the whole log says what came before.
  if (chain.entered) {
    TERTULIA_TRY_AS(chain, read_chain(*file));
  }
  if (chain.report.torn) TERTULIA_TRY(file->truncate(chain.end));
  return std::unique_ptr<AuditLog>(
      new AuditLog(std::make_unique<Writer>(env, std::move(file), std::move(chain), std::move(log), landed)));
}

void AuditLog::begin(AuditEntry entry, Done<void> durable) {
  writer_->begin(std::move(entry), std::move(durable));
}
void AuditLog::add(AuditEntry entry) { writer_->add(std::move(entry)); }
Result<void> AuditLog::check_writable() { return writer_->check_writable(); }
void AuditLog::settle() { writer_->settle(); }

}  // namespace tertulia::server
