// Turns and records, read from the files without holding up writers.
#include <utility>

#include "tertulia/store/crc32c.h"

#include "checked_text.h"
#include "names.h"
#include "session_files.h"

namespace tertulia {
namespace {

// Below this a transcript is read through instead of searched.
constexpr std::uint64_t kReadThrough = 64U << 10U;

bool says_machine(ErrorCode code) {
  return code == ErrorCode::kStorageIo || code == ErrorCode::kNotPermitted ||
         code == ErrorCode::kNeedsVersion;
}

Error damage(std::string sentence) { return Error(ErrorCode::kDamaged, std::move(sentence)); }

}  // namespace

Error SessionFiles::found_damage(const std::string& record, const Error& why, std::uint64_t seen) {
  if (says_machine(why.code())) return why;
  if (changes_begun_ != seen || changes_done_ != seen) {
    return Error(ErrorCode::kNotFound, record + " was changed while it was being read");
  }
  note_damage(record, why.message());
  return damaged(record, why.message());
}

// The line of a transcript that begins here.
Result<std::string_view> SessionFiles::line_in(LineReader& lines, std::uint64_t at, const std::string& record,
                                               std::uint64_t seen) {
  const Result<std::optional<std::string_view>> line = lines.line_at(at);
  if (!line) return found_damage(record, line.error(), seen);
  if (!*line) return found_damage(record, damage("a line does not end"), seen);
  return **line;
}

Result<std::vector<SessionFiles::TranscriptPart>> SessionFiles::parts_of(const TurnRange& range) {
  MutexLock lock(state_mutex_);
  if (!exists_) return no_session(key_.session);
  Result<std::vector<Segment>> segments = segments_of(image_.branches, range);
  if (!segments) {
    if (segments.error().code() == ErrorCode::kDamaged)
      return damaged("branches", segments.error().message());
    if (segments.error().code() == ErrorCode::kNoBranch && !lost_branch_.empty()) {
      return damaged(lost_branch_, "it may be the branch that was asked for");
    }
    return std::move(segments).error();
  }
  const BranchFiles& asked = branches_.at(range.branch);
  const std::uint64_t there = image_.find(range.branch)->message_count;
  if (!asked.damage.empty() && range.end > there) {
    return damaged(asked.damage, "the branch can be read up to message " + std::to_string(there))
        .with("messages", static_cast<std::int64_t>(there));
  }
  std::vector<TranscriptPart> parts;
  for (const Segment& segment : *segments) {
    const BranchFiles& files = branches_.at(segment.branch->id);
    parts.push_back({.branch = segment.branch->id,
                     .path = files.path + "/" + std::string(kTranscriptFile),
                     .size = files.size,
                     .begin = segment.begin,
                     .end = segment.end,
                     .visible = segment.visible,
                     .seen = changes_done_});
  }
  return parts;
}

Result<std::uint64_t> SessionFiles::find_line(LineReader& lines, const TranscriptPart& part) {
  TERTULIA_TRY_AS(std::uint64_t low, lines.next_start(1));  // behind the header
  std::uint64_t high = part.size;
  // Each step trusts a line that it has not checked: a wrong turn ends at a line that does not fit.
  while (high - low > kReadThrough) {
    TERTULIA_TRY_AS(const std::uint64_t middle, lines.next_start(low + (high - low) / 2));
    if (middle >= high) break;
    TERTULIA_TRY_AS(std::optional<std::string_view> line, lines.line_at(middle));
    const std::optional<TurnHead> head = line ? read_turn_head(*line) : std::nullopt;
    if (!head) break;
    if (head->first_index <= part.begin) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

Result<void> SessionFiles::read_part(const TranscriptPart& part, std::vector<StoredTurn>& turns) {
  Result<std::unique_ptr<File>> file = context_.files.open(directory_path() / part.path, OpenMode::kRead);
  if (!file) return found_damage(part.path, file.error(), part.seen);
  LineReader lines(**file, part.size);
  const Result<std::uint64_t> start = find_line(lines, part);
  if (!start) return found_damage(part.path, start.error(), part.seen);
  std::optional<TurnHead> before;
  for (std::uint64_t at = *start; at < part.size;) {
    const std::string record = part.path + " at byte " + std::to_string(at);
    TERTULIA_TRY_AS(const std::string_view line, line_in(lines, at, record, part.seen));
    at += line.size() + 1;
    const std::optional<TurnHead> head = read_turn_head(line);
    if (head && head->end() <= part.begin) continue;
    if (head && before && head->first_index >= part.end && head->first_index == before->end()) break;
    Result<TurnLine> turn = read_turn_line(key_, part.path, part.branch, line);
    if (!turn) return found_damage(record, turn.error(), part.seen);
    const bool fits = before ? turn->head.number == before->number + 1 &&
                                   turn->head.first_index == before->end() &&
                                   turn->head.revision > before->revision
                             : turn->head.first_index <= part.begin && turn->head.end() > part.begin;
    if (!fits) return found_damage(record, damage("lines are missing or in another order"), part.seen);
    before = turn->head;
    Result<StoredTurn> cut = cut_turn({.turn = std::move(turn->append.turn),
                                       .revision = turn->head.revision,
                                       .first_index = turn->head.first_index},
                                      part.visible);
    if (!cut) return found_damage(record, cut.error(), part.seen);
    turns.push_back(*std::move(cut));
    if (before->end() >= part.end) return {};
  }
  if (!before || before->end() < part.end) {
    return found_damage(part.path, damage("messages are missing at its end"), part.seen);
  }
  return {};
}

Result<std::vector<StoredTurn>> SessionFiles::read_turns(const TurnRange& range) {
  while (true) {
    TERTULIA_TRY(ensure_there());
    TERTULIA_TRY_AS(const std::vector<TranscriptPart> parts, parts_of(range));
    std::vector<StoredTurn> turns;
    Result<void> read;
    for (const TranscriptPart& part : parts) {
      read = read_part(part, turns);
      if (!read) break;
    }
    if (read) return turns;
    if (read.error().code() != ErrorCode::kNotFound) return std::move(read).error();
    // A branch was dropped meanwhile, or made anew.
    wait_for_writer();
  }
}

std::vector<SessionFiles::TranscriptPart> SessionFiles::own_parts(
    const std::optional<BranchId>& branch) const {
  MutexLock lock(state_mutex_);
  std::vector<TranscriptPart> parts;
  for (const auto& [id, files] : branches_) {
    if (branch && *branch != id) continue;
    const BranchHead* head = image_.find(id);
    parts.push_back({.branch = id,
                     .path = files.path + "/" + std::string(kTranscriptFile),
                     .size = files.size,
                     .begin = own_begin(*head),
                     .end = head->message_count,
                     .visible = head->message_count,
                     .seen = changes_done_});
  }
  return parts;
}

Result<void> SessionFiles::for_each_turn(const TranscriptPart& part, std::string_view needle,
                                         const std::function<Result<void>(TurnLine)>& each) {
  Result<std::unique_ptr<File>> file = context_.files.open(directory_path() / part.path, OpenMode::kRead);
  if (!file) return found_damage(part.path, file.error(), part.seen);
  LineReader lines(**file, part.size);
  const std::string place = place_of(key_, part.path);
  const Result<std::uint64_t> start = lines.next_start(1);
  if (!start) return found_damage(part.path, start.error(), part.seen);
  for (std::uint64_t at = *start; at < part.size;) {
    const std::string record = part.path + " at byte " + std::to_string(at);
    TERTULIA_TRY_AS(const std::string_view line, line_in(lines, at, record, part.seen));
    at += line.size() + 1;
    if (!is_whole_line(place, line)) {
      return found_damage(record, damage("the line does not fit its checksum"), part.seen);
    }
    if (line.find(needle) == std::string_view::npos) continue;
    Result<TurnLine> turn = read_turn_line(key_, part.path, part.branch, line);
    if (!turn) return found_damage(record, turn.error(), part.seen);
    if (Result<void> done = each(*std::move(turn)); !done) {
      return found_damage(record, done.error(), part.seen);
    }
  }
  return {};
}

Result<void> SessionFiles::find_tool_calls(const RecordQuery& query,
                                           const std::function<void(Record)>& found) {
  Result<void> all;
  {
    MutexLock lock(state_mutex_);
    if (!lost_branch_.empty()) all = damaged(lost_branch_, "nobody knows which tool calls were the branch's");
  }
  for (const TranscriptPart& part : own_parts(query.branch)) {
    Result<void> read = find_tool_calls_in(part, query, found);
    if (!read && read.error().code() != ErrorCode::kSessionDamaged) return read;
    if (all) all = std::move(read);
  }
  return all;
}

Result<void> SessionFiles::find_tool_calls_in(TranscriptPart part, const RecordQuery& query,
                                              const std::function<void(Record)>& found) {
  const std::string needle = query.scope.value_or("\"tool_calls\":[");
  while (true) {
    bool seen = false;
    std::vector<Record> calls;
    Result<void> read = for_each_turn(part, needle, [&](const TurnLine& line) -> Result<void> {
      seen = seen || (query.scope && line.append.turn.id().text() == *query.scope);
      for (Record& record : tool_call_records(key_, line.append)) {
        if (matches(query, record)) calls.push_back(std::move(record));
      }
      return {};
    });
    if (!read && read.error().code() == ErrorCode::kNotFound) {
      // It was dropped, or made anew, while it was being read.
      wait_for_writer();
      const std::vector<TranscriptPart> again = own_parts(part.branch);
      if (again.empty()) return {};
      part = again.front();
      continue;
    }
    for (Record& call : calls) found(std::move(call));
    // Damage behind the turn that was asked for takes nothing from it.
    if (seen && (read || read.error().code() == ErrorCode::kSessionDamaged)) return {};
    return read ? whole_transcript(part.branch) : read;
  }
}

// kSessionDamaged if lines are missing at the end of what can be read of it.
Result<void> SessionFiles::whole_transcript(const BranchId& branch) const {
  MutexLock lock(state_mutex_);
  const auto files = branches_.find(branch);
  if (files == branches_.end() || files->second.damage.empty()) return {};
  return damaged(files->second.damage, "its tool calls cannot all be read");
}

Result<void> SessionFiles::load_records(RecordKind kind, const std::optional<BranchId>& branch) {
  std::vector<BranchId> missing;
  const auto want = [&](const BranchId& id) {
    if ((!branch || *branch == id) && !records_.contains({kind, id})) missing.push_back(id);
  };
  {
    MutexLock lock(state_mutex_);
    want({});
    for (const auto& [id, files] : branches_) want(id);
  }
  if (missing.empty()) return {};
  MutexLock lock(write_mutex_);
  for (const BranchId& id : missing) {
    if (id.empty() || branches_.contains(id)) TERTULIA_TRY(records_file(kind, id));
  }
  return {};
}

Result<void> SessionFiles::find_records(const RecordQuery& query, const std::function<void(Record)>& found) {
  TERTULIA_TRY(ensure_there());
  if (query.kind == RecordKind::kToolCall) return find_tool_calls(query, found);
  TERTULIA_TRY(load_records(query.kind, query.branch));
  MutexLock lock(state_mutex_);
  Result<void> all;
  if (!lost_branch_.empty()) all = damaged(lost_branch_, "nobody knows which records were the branch's");
  for (const auto& [id, file] : records_) {
    if (id.first != query.kind || (query.branch && *query.branch != id.second)) continue;
    if (!file.damage.empty() && all) all = damaged(file.damage, "its records cannot all be read");
    auto at = query.scope ? file.live.lower_bound({*query.scope, query.after}) : file.live.begin();
    for (; at != file.live.end() && (!query.scope || at->first.first == *query.scope); ++at) {
      Record record{.stream = {.kind = id.first, .branch = id.second, .scope = at->first.first},
                    .number = at->first.second,
                    .time = at->second.time,
                    .key = at->second.key,
                    .name = at->second.name};
      if (matches(query, record)) found(std::move(record));
    }
  }
  return all;
}

// A file of records as it was when its generation was read.
struct SessionFiles::OpenRecords {
  OpenRecords(RecordsKey key, std::unique_ptr<File> opened, std::uint64_t size)
      : id(std::move(key)), file(std::move(opened)), lines(*file, size) {}

  RecordsKey id;
  std::unique_ptr<File> file;
  LineReader lines;
  FileHeader header;
};

Result<void> SessionFiles::read_asset(Record& record, const RecordItem& item, std::uint64_t seen) {
  const std::string path = asset_path(record.stream, record.number);
  Result<std::string> bytes = read_file(context_.files, directory_path() / path, kMaxRecordBytes);
  if (!bytes) return found_damage(path, bytes.error(), seen);
  if (bytes->size() != item.outside_bytes || asset_checksum(key_, record, *bytes) != item.outside_sum) {
    return found_damage(path, damage("it does not fit its checksum"), seen);
  }
  record.payload = *std::move(bytes);
  return {};
}

// Where the payload of a record stands.
struct SessionFiles::PlaceNow {
  RecordPlace place;
  std::uint64_t generation = 0;
  // Of the file.
  std::uint64_t size = 0;
  // Of changes_begun_.
  std::uint64_t seen = 0;
};

// None if it was dropped.
std::optional<SessionFiles::PlaceNow> SessionFiles::place_now(const Record& record) const {
  MutexLock lock(state_mutex_);
  const auto file = records_.find({record.stream.kind, record.stream.branch});
  if (file == records_.end()) return std::nullopt;
  const auto found = file->second.live.find({record.stream.scope, record.number});
  if (found == file->second.live.end()) return std::nullopt;
  return PlaceNow{.place = found->second,
                  .generation = file->second.header.generation,
                  .size = file->second.size,
                  .seen = changes_done_};
}

Result<void> SessionFiles::read_payload_at(Record& record, const PlaceNow& now,
                                           std::unique_ptr<OpenRecords>& open) {
  const RecordsKey id{record.stream.kind, record.stream.branch};
  const std::string path = records_path(id.first, id.second);
  if (!open || open->id != id || open->header.generation != now.generation || open->lines.size() < now.size) {
    open.reset();
    Result<std::unique_ptr<File>> file = context_.files.open(directory_path() / path, OpenMode::kRead);
    if (!file) return found_damage(path, file.error(), now.seen);
    auto fresh = std::make_unique<OpenRecords>(id, *std::move(file), now.size);
    const Result<std::optional<std::string_view>> first = fresh->lines.line_at(0);
    if (!first) return found_damage(path, first.error(), now.seen);
    Result<FileHeader> header = read_header_line(key_, path, first->value_or(std::string_view()));
    if (!header) return found_damage(path, header.error(), now.seen);
    fresh->header = *std::move(header);
    if (fresh->header.generation != now.generation) {
      return found_damage(path, damage("it is another file than it was"), now.seen);
    }
    open = std::move(fresh);
  }
  const std::string where = path + " at byte " + std::to_string(now.place.offset);
  const Result<std::optional<std::string_view>> line = open->lines.line_at(now.place.offset);
  if (!line) return found_damage(where, line.error(), now.seen);
  Result<RecordLine> read = read_record_line(key_, path, open->header, line->value_or(std::string_view()));
  if (!read) return found_damage(where, read.error(), now.seen);
  if (now.place.item >= read->items.size()) {
    return found_damage(path, damage("a record is not where it was"), now.seen);
  }
  RecordItem& item = read->items[now.place.item];
  if (item.is_outside) return read_asset(record, item, now.seen);
  record.payload = std::move(item.record.payload);
  return {};
}

Result<void> SessionFiles::read_payload(Record& record, std::unique_ptr<OpenRecords>& open) {
  while (true) {
    const std::optional<PlaceNow> now = place_now(record);
    if (!now) {
      record.number = 0;
      return {};
    }
    Result<void> read = read_payload_at(record, *now, open);
    if (read || read.error().code() != ErrorCode::kNotFound) return read;
    // Written anew, or dropped, between looking and reading: look again.
    wait_for_writer();
  }
}

Result<SessionFiles::PayloadsRead> SessionFiles::read_payloads(std::span<Record* const> records) {
  TERTULIA_TRY(ensure_there());
  PayloadsRead result;
  std::unique_ptr<OpenRecords> open;
  for (Record* const record : records) {
    if (record->stream.kind == RecordKind::kToolCall) continue;
    // Between finding and reading the session may have been put out of memory.
    TERTULIA_TRY(load_records(record->stream.kind, record->stream.branch));
    Result<void> read = read_payload(*record, open);
    if (read) {
      result.moved = result.moved || record->number == 0;
      continue;
    }
    if (read.error().code() != ErrorCode::kSessionDamaged) return std::move(read).error();
    record->number = 0;
    if (!result.damage) result.damage = std::move(read).error();
  }
  return result;
}

}  // namespace tertulia
