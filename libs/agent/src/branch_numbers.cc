#include "branch_numbers.h"

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include "tertulia/base/json.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

// The engines that live in this process.
struct Living {
  Mutex mutex;
  std::set<std::string> engines TERTULIA_GUARDED_BY(mutex);
};
Living& living() {
  static Living* const kLiving = new Living;
  return *kLiving;
}

std::string read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// Of this boot of this machine, which no other shares.
const std::string& host() {
  static const std::string kHost = read_line("/proc/sys/kernel/random/boot_id");
  return kHost;
}

// When the process was started, in ticks since the boot: a number that is used again has another one. Empty
// if there is no such process.
std::string start_of(const std::string& pid) {
  const std::string line = read_line("/proc/" + pid + "/stat");
  // The name of the program, in parentheses, may hold anything.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20 && rest >> field; ++i) {
    if (i == 0 && (field == "Z" || field == "X")) return {};
  }
  return field;
}

}  // namespace

StreamId lease_stream(const BranchId& branch) {
  return {.kind = RecordKind::kLease, .branch = branch, .scope = {}};
}
StreamId journal_stream(const BranchId& branch) {
  return {.kind = RecordKind::kJournal, .branch = branch, .scope = {}};
}
StreamId event_stream(const BranchId& branch) {
  return {.kind = RecordKind::kEvent, .branch = branch, .scope = {}};
}

std::string Lease::to_json() const {
  std::string out;
  JsonWriter(out)
      .begin_object()
      .key("owner")
      .string(owner)
      .key("until_us")
      .number(std::int64_t{until.time_since_epoch().count()})
      .key("journal")
      .number(journal)
      .key("events")
      .number(events)
      .end_object();
  return out;
}

Result<Lease> Lease::parse(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  JsonReader in(form, "lease");
  Lease lease;
  lease.owner = in.required_string("owner");
  lease.until = Time(Duration(in.required_int("until_us", INT64_MIN, INT64_MAX)));
  lease.journal = static_cast<std::uint64_t>(in.required_int("journal", 0, INT64_MAX));
  lease.events = static_cast<std::uint64_t>(in.required_int("events", 0, INT64_MAX));
  TERTULIA_TRY(in.finish());
  return lease;
}

LeaseOwner::LeaseOwner(std::string engine) : engine_(std::move(engine)) {
  const std::string pid = std::to_string(getpid());
  text_ = host() + "/" + pid + "/" + start_of(pid) + "/" + engine_;
  MutexLock lock(living().mutex);
  living().engines.insert(engine_);
}

LeaseOwner::~LeaseOwner() {
  MutexLock lock(living().mutex);
  living().engines.erase(engine_);
}

bool LeaseOwner::binds(const Lease& lease, Time now) const {
  if (lease.owner.empty()) return false;
  std::istringstream parts(lease.owner);
  std::string their_host;
  std::string pid;
  std::string start;
  std::string engine;
  std::getline(parts, their_host, '/');
  std::getline(parts, pid, '/');
  std::getline(parts, start, '/');
  std::getline(parts, engine);
  if (their_host != host() || host().empty()) return now < lease.until;
  if (start_of(pid) != start) return false;
  if (pid != std::to_string(getpid())) return true;
  MutexLock lock(living().mutex);
  return living().engines.contains(engine);
}

}  // namespace tertulia
