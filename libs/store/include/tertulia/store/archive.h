// Archives: sessions as lines of JSON, to keep, to move or to read with other programs
// (docs/formats/archive.md).
//
//   export_sessions(store, {.tenant = tenant}, [&](std::string_view bytes) { return file.write(bytes); });
//   import_archive(other_store, *file, {.tenant = tenant});
//
// Nothing of a conversation is lost on the way: export, import as one's own (ArchiveTrust::kOwn), export
// gives the same bytes, with the same revisions, times and order. Left behind are leases, which belong to a
// running process, and the numbers of streams that are empty.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct ExportScope {
  TenantId tenant;
  // None: every owner of the tenant.
  std::optional<OwnerId> owner{};
  // Empty: every session in the scope. Otherwise `owner` must be given.
  std::vector<SessionId> sessions{};
};

struct ArchiveCounts {
  std::uint64_t sessions = 0;
  std::uint64_t branches = 0;
  std::uint64_t turns = 0;
  std::uint64_t messages = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;

  bool operator==(const ArchiveCounts&) const = default;
};

// Takes the next bytes of an archive. An error ends the export with it.
using ArchiveSink = std::function<Result<void>(std::string_view bytes)>;
// Called now and then from the thread that exports or imports, with what was done so far.
using ArchiveProgress = std::function<void(const ArchiveCounts&)>;

// Writes the sessions of the scope in the order of their keys, each as it is when its turn comes. Holds one
// page of messages for each branch of one session in memory. kNoSession for a session that was named and is
// not there; errors of the store and of the sink. What was written before an error is no archive: its end is
// missing.
//
// Blocks: not from inside a completion.
Result<ArchiveCounts> export_sessions(Store& store, const ExportScope& scope, const ArchiveSink& sink,
                                      const ArchiveProgress& progress = {});

// Whom an archive is from. Lines of JSON can be written by anybody: what lets something happen (permissions,
// unfinished turns and runs, the program's own sessions with memories, jobs and procedures) is taken from
// one's own copy only.
enum class ArchiveTrust : std::uint8_t { kForeign, kOwn };

// Where imported sessions go.
struct ImportTarget {
  TenantId tenant;
  // None: each session keeps its owner.
  std::optional<OwnerId> owner{};
  // Sessions of another tenant, or of another owner than the one that is given, are taken over by the target.
  // Without this they are refused (kNotPermitted).   Default: false.
  bool adopt = false;
  // Default: kForeign. What is left out because of it stands in the report.
  ArchiveTrust trust = ArchiveTrust::kForeign;
};

// What an import did not take over, and why.
struct LeftOut {
  // A kind of record, or "session ~runs".
  std::string what{};
  std::string why{};
  std::uint64_t count = 0;

  bool operator==(const LeftOut&) const = default;
};

struct ImportReport {
  // What is there now.
  ArchiveCounts counts;
  // One sentence for each thing that was changed to fit, the first kMaxAdaptations of them.
  std::vector<std::string> adapted{};
  std::uint64_t adaptations = 0;
  std::vector<LeftOut> left_out{};
};

// How many problems a refused import lists.
inline constexpr std::size_t kMaxImportProblems = 20;

// True if a session was being imported when the process died. Nobody may talk in it: the next import of it
// replaces it.
bool is_incomplete_import(const Session& session);

// Reads the archive twice: first everything is checked, then it is written. A bad archive changes nothing and
// gives the code of its first problem, with up to kMaxImportProblems sentences in the fact "problems" and
// their number in "count": kDamaged (a wrong checksum or hash, a missing end, cyclic parents), kDuplicateKey,
// kNotPermitted (another tenant's or owner's), kSessionExists, kNeedsVersion, or what a store would say.
//
// If writing fails (kStorageFull, …), what was written is erased again. If the process dies, the session it
// was at is marked in its metadata ("tertulia.import": "incomplete") and replaced by the next import of it.
//
// Blocks: not from inside a completion.
Result<ImportReport> import_archive(Store& store, File& archive, const ImportTarget& target,
                                    const ArchiveProgress& progress = {});

struct SalvageReport {
  ArchiveCounts counts;
  // One sentence for each thing that could not be read and is not in the copy.
  std::vector<std::string> losses;
};

// Copies what can be read of a damaged store into another one, session by session and with every kind of
// record: a damaged branch up to the damage, what was forked behind it as a branch of its own. Without a
// tenant in the scope: of every tenant. Changes nothing in `from`. Fails only if `to`
// fails, or if the sessions of `from` cannot even be listed.
//
// Blocks: not from inside a completion.
Result<SalvageReport> copy_readable(Store& from, Store& to, const ExportScope& scope,
                                    const ArchiveProgress& progress = {});

}  // namespace tertulia
