#include "import_trust.h"

#include <utility>

#include "tertulia/base/outside_name.h"

namespace tertulia {

std::string_view reason_to_leave_out(RecordKind kind, ArchiveTrust trust) {
  if (trust == ArchiveTrust::kOwn) return {};
  switch (kind) {
    case RecordKind::kEvent:
    case RecordKind::kToolCall:
    case RecordKind::kEpisode:
    case RecordKind::kAsset:
      return {};
    case RecordKind::kJournal:
      return "an unfinished turn would be finished here, with its tools";
    case RecordKind::kReceipt:
      return "receipts say what a model was shown here";
    case RecordKind::kCheckpoint:
      return "a run of a workflow would go on here, with its tools";
    case RecordKind::kLease:
      return "leases belong to a running process";
    case RecordKind::kSubmission:
      return "they answer an Idempotency-Key with a turn that did not happen here";
    case RecordKind::kQuestion:
      return "they say what a person permitted";
    case RecordKind::kMemory:
      return "memories are what the program itself noted";
  }
  return "this kind is not known";
}

void ImportTrust::note(std::string what, std::string_view why) {
  LeftOut& entry = left_out_[what];
  ++entry.count;
  if (entry.count > 1) return;
  entry.what = std::move(what);
  entry.why = why;
}

bool ImportTrust::takes(const Session& session) {
  if (trust_ == ArchiveTrust::kOwn || !is_reserved(session.id)) return true;
  note("session " + session.id.text(), "names that begin with '~' are the program's own");
  return false;
}

bool ImportTrust::takes(const Record& record) {
  const std::string_view why = reason_to_leave_out(record.stream.kind, trust_);
  if (why.empty()) return true;
  note(std::string(name_of(record.stream.kind)), why);
  return false;
}

void ImportTrust::strip(Session& session) {
  if (trust_ == ArchiveTrust::kOwn) return;
  if (!session.state.empty()) note("state of a session", "it holds what was always allowed");
  if (!session.bindings.empty()) note("bindings", "they name conversations kept at a provider");
  session.state.clear();
  session.bindings.clear();
}

void ImportTrust::strip(BranchHead& branch) {
  if (trust_ == ArchiveTrust::kOwn) return;
  if (!branch.state.empty()) note("state of a branch", "it is what middleware here noted");
  branch.state.clear();
}

std::vector<LeftOut> ImportTrust::left_out() const {
  std::vector<LeftOut> all;
  for (const auto& [what, entry] : left_out_) all.push_back(entry);
  return all;
}

}  // namespace tertulia
