#include "tertulia/store/record.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tertulia/base/nearest.h"

namespace tertulia {

namespace {

// Without a default: the compiler names a kind that is missing.
constexpr std::string_view text_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kJournal:
      return "journal";
    case RecordKind::kEvent:
      return "event";
    case RecordKind::kToolCall:
      return "tool_call";
    case RecordKind::kEpisode:
      return "episode";
    case RecordKind::kReceipt:
      return "receipt";
    case RecordKind::kCheckpoint:
      return "checkpoint";
    case RecordKind::kAsset:
      return "asset";
    case RecordKind::kLease:
      return "lease";
    case RecordKind::kSubmission:
      return "submission";
    case RecordKind::kQuestion:
      return "question";
    case RecordKind::kMemory:
      return "memory";
  }
  return {};
}

constexpr bool are_all_kinds_listed() {
  for (std::size_t i = 0; i < kAllRecordKinds.size(); ++i) {
    if (kAllRecordKinds[i] != static_cast<RecordKind>(i) || text_of(kAllRecordKinds[i]).empty()) return false;
  }
  return text_of(static_cast<RecordKind>(kAllRecordKinds.size())).empty();
}
static_assert(are_all_kinds_listed(), "a kind of record is missing in kAllRecordKinds");

}  // namespace

std::string_view name_of(RecordKind kind) { return text_of(kind); }

Result<void> tell_damaged(const RecordPage& page, std::set<SessionId>* damaged) {
  if (page.damaged.empty()) return {};
  if (damaged == nullptr) {
    return Error(ErrorCode::kSessionDamaged, "not everything of session '" + page.damaged.front().text() +
                                                 "' can be read: it is damaged; run: tertulia verify")
        .with("session", page.damaged.front().text());
  }
  damaged->insert(page.damaged.begin(), page.damaged.end());
  return {};
}

Result<RecordKind> record_kind_named(std::string_view name) {
  std::vector<std::string> known;
  for (const RecordKind kind : kAllRecordKinds) {
    if (text_of(kind) == name) return kind;
    known.emplace_back(text_of(kind));
  }
  return Error(ErrorCode::kOutOfRange, "there is no such kind of record" + did_you_mean(name, known))
      .with("param", "kind");
}

}  // namespace tertulia
