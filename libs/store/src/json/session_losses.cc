// What was stored and is not there any more.
//
// A line is durable before the next change is begun, so whatever was written later tells of it: each line of
// a file of records, and branch.json, say how many turns their branch had; a fork says which message it
// begins behind; a higher revision elsewhere says that a lower one is done. A last line of a transcript that
// looks torn is cut only if all of them are silent.
#include <algorithm>
#include <utility>

#include "names.h"
#include "session_files.h"

namespace tertulia {

void SessionFiles::line_was_stored(const BranchId& branch, const std::string& sentence) {
  const auto found = branches_.find(branch);
  if (found == branches_.end() || !found->second.damage.empty()) return;
  BranchFiles& files = found->second;
  std::string record = files.path + "/" + std::string(kTranscriptFile);
  if (files.torn) record += " at byte " + std::to_string(files.torn->at);
  note_damage(record, sentence);
  MutexLock lock(state_mutex_);
  files.damage = std::move(record);
}

void SessionFiles::branch_had(const BranchId& branch, std::uint64_t turns) {
  const auto found = branches_.find(branch);
  if (found == branches_.end() || turns <= found->second.turns) return;
  line_was_stored(branch, "the branch had " + std::to_string(turns) + (turns == 1 ? " turn" : " turns") +
                              ", of which " + std::to_string(found->second.turns) + " can be read");
}

void SessionFiles::compare(const BranchId& branch, const ToldBeside& told) {
  if (!branch.empty()) return branch_had(branch, told.turns);
  if (told.revision <= image_.session.revision) return;
  // Then it is that line which is missing: look_for_traces says so.
  if (std::ranges::any_of(branches_, [](const auto& one) { return one.second.torn.has_value(); })) return;
  const std::string sentence = "the session had revision " + std::to_string(number(told.revision)) +
                               ", and what can be read is of revision " +
                               std::to_string(number(image_.session.revision));
  note_damage(std::string(kSessionFile), sentence);
}

// Looks at everything that could tell of the torn line of this branch.
Result<void> SessionFiles::look_for_traces(const BranchId& branch) {
  const Revision there_is = image_.session.revision;
  Revision told = there_is;
  for (const RecordKind kind : kRecordKinds) {
    TERTULIA_TRY(records_file(kind, branch));
    TERTULIA_TRY_AS(const RecordsFile* const of_session, records_file(kind, {}));
    told = std::max(told, of_session->told.revision);
  }
  const std::uint64_t there = image_.find(branch)->message_count;
  for (const BranchHead& head : image_.branches) {
    if (head.forked_from && head.forked_from->parent == branch && head.forked_from->at_index >= there) {
      line_was_stored(branch, "branch '" + head.id.text() + "' was forked from a message that it held");
    }
  }
  const std::optional<TurnHead>& head = branches_.at(branch).torn->head;
  if (head ? head->revision <= told : told > there_is) {
    line_was_stored(branch, "it is not whole, and the session has been stored with revision " +
                                std::to_string(number(told)));
  }
  return {};
}

void SessionFiles::read_lengths() {
  const Result<std::string> text = read_file(context_.files, directory_.at(kLengthsFile));
  if (!text) return;
  const std::size_t end = text->find_last_not_of(' ');
  lengths_ = read_lengths_document(key_, std::string_view(*text).substr(0, end + 1));
}

std::string SessionFiles::shorter_than_stored(const std::string& path, const RecordsFile& file) const {
  const auto stored = lengths_.find(path);
  if (stored == lengths_.end() || file.header.generation > stored->second.generation) return {};
  if (file.header.generation == stored->second.generation && file.size >= stored->second.bytes) return {};
  return "it has " + std::to_string(file.size) + " bytes that can be read, and had been stored with " +
         std::to_string(stored->second.bytes);
}

Result<BranchDocument> SessionFiles::told_by_transcript(const std::string& path, bool& is_whole) {
  const std::string transcript = path + "/" + std::string(kTranscriptFile);
  TERTULIA_TRY_AS(const std::unique_ptr<File> file,
                  context_.files.open(directory_.at(transcript), OpenMode::kRead));
  TERTULIA_TRY_AS(const std::uint64_t size, file->size());
  LineReader lines(*file, size);
  TERTULIA_TRY_AS(const std::optional<std::string_view> first, lines.line_at(0));
  if (!first) return Error(ErrorCode::kDamaged, "the first line of its transcript is missing");
  const std::uint64_t behind = first->size() + 1;
  TERTULIA_TRY_AS(FileHeader header, read_header_line(key_, transcript, *first));
  if (branch_path(header.branch) != path) return Error(ErrorCode::kDamaged, "it is another branch's");
  // Behind all others whose order is known.
  constexpr std::uint64_t kLast = UINT64_MAX / 2;
  BranchDocument document;
  document.head.id = header.branch;
  document.order = header.branch == main_branch() ? 0 : kLast;
  document.head.forked_from = std::move(header.forked_from);
  TERTULIA_TRY_AS(const std::optional<std::string_view> turn, lines.line_at(behind));
  const std::optional<TurnHead> head = turn ? read_turn_head(*turn) : std::nullopt;
  // A fork of an older version does not say its origin here; a branch that begins at 0 has none.
  const bool says_origin = document.head.forked_from || head || document.head.id == main_branch();
  is_whole = says_origin && (!head || head->first_index == own_begin(document.head));
  if (!is_whole) document.head.forked_from.reset();
  return document;
}

Result<void> SessionFiles::settle_torn_lines() {
  for (auto& [id, files] : branches_) {
    if (!files.torn) continue;
    if (files.damage.empty()) TERTULIA_TRY(look_for_traces(id));
    // What is damaged stays as it is.
    const TornLine torn = *std::exchange(files.torn, std::nullopt);
    if (!files.damage.empty()) continue;
    TERTULIA_TRY(cut_torn(files.path + "/" + std::string(kTranscriptFile), torn.at, torn.bytes));
  }
  return {};
}

}  // namespace tertulia
