#include "import_trust.h"

#include <utility>

#include "tertulia/base/outside_name.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/conversation/own_metadata.h"

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
  std::string_view why = reason_to_leave_out(record.stream.kind, trust_);
  const bool checked = trust_ != ArchiveTrust::kOwn && record.stream.kind == RecordKind::kEpisode;
  if (checked && !parse_form<Episode>(record.payload)) why = "it is not what an episode looks like";
  if (why.empty()) return true;
  note(std::string(name_of(record.stream.kind)), why);
  return false;
}

void ImportTrust::strip(Session& session) {
  if (trust_ == ArchiveTrust::kOwn) return;
  std::vector<std::string> own;
  for (const auto& [name, value] : session.metadata) {
    if (name.starts_with(kOwnMetadata)) own.push_back(name);
  }
  for (const std::string& name : own) {
    note("metadata " + name, "names that begin with 'tertulia.' are the program's own");
    session.metadata.erase(name);
  }
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
