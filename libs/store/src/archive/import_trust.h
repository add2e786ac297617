// What an import takes over, by whom the archive is from.
//
// Lines of JSON can be written by anybody, with every checksum right. What only speaks (messages, what tools
// answered, summaries, files) is taken from everybody. What lets something happen is taken from one's own
// copy only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/store/archive.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"

namespace tertulia {

// Why a record of this kind is not taken from an archive; empty if it is. The one place that decides it, for
// every kind that there is.
std::string_view reason_to_leave_out(RecordKind kind, ArchiveTrust trust);

class ImportTrust {
 public:
  explicit ImportTrust(ArchiveTrust trust) : trust_(trust) {}

  // False: it is left out, which left_out() tells.
  bool takes(const Session& session);
  bool takes(const Record& record);
  // Takes away what is not taken over.
  void strip(Session& session);
  void strip(BranchHead& branch);

  std::vector<LeftOut> left_out() const;

 private:
  void note(std::string what, std::string_view why);

  const ArchiveTrust trust_;
  std::map<std::string, LeftOut> left_out_;
};

}  // namespace tertulia
