// Erasing a session, and checking everything of it.
#include <algorithm>
#include <set>

#include "names.h"
#include "session_files.h"

namespace tertulia {
namespace {

bool is_ours(const std::string& name, std::initializer_list<std::string_view> names) {
  if (name.ends_with(kNewSuffix) || name.ends_with(kErasedSuffix)) return true;
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<void> SessionFiles::load_all_records() {
  std::vector<BranchId> owners = {{}};
  for (const auto& [id, files] : branches_) owners.push_back(id);
  for (const RecordKind kind : kRecordKinds) {
    for (const BranchId& owner : owners) TERTULIA_TRY(records_file(kind, owner));
  }
  return {};
}

void SessionFiles::count(EraseReport& report) {
  report.branches += branches_.size();
  for (const auto& [id, files] : branches_) report.turns += files.turns;
  (void)load_all_records();
  for (const auto& [id, file] : records_) report.records += file.live.size();
  for (const TranscriptPart& part : own_parts({})) {
    // What is damaged is erased as well; it cannot be counted.
    (void)for_each_turn(part, "\"tool_calls\":[", [&](const TurnLine& line) -> Result<void> {
      report.records += line.append.tool_calls.size();
      return {};
    });
  }
}

Result<void> SessionFiles::erase(EraseReport& report, const std::function<void()>& gone) {
  MutexLock write(write_mutex_);
  TERTULIA_TRY(context_.health.check());
  FileSystem& files = context_.files;
  Path erased = directory_path();
  erased += kErasedSuffix;
  // What an earlier attempt has left.
  TERTULIA_TRY(remove_tree(files, erased));
  const Result<void> loaded = ensure_loaded();
  TERTULIA_TRY(context_.health.check());
  if (loaded && !exists_) return {};
  EraseReport counted{.sessions = 1};
  if (loaded) count(counted);
  directory_.forget_open_file();
  const Changing changing(*this);
  // Until the end is reached, what memory says of it is not to be believed.
  is_loaded_ = false;
  TERTULIA_TRY(files.rename(directory_path(), erased));
  if (Result<void> synced = files.sync_directory(sessions_); !synced) {
    return context_.health.failed(std::move(synced).error());
  }
  reset();
  is_loaded_ = true;
  gone();
  TERTULIA_TRY(remove_tree(files, erased));
  if (Result<void> synced = files.sync_directory(sessions_); !synced) {
    return context_.health.failed(std::move(synced).error());
  }
  report.sessions += counted.sessions;
  report.branches += counted.branches;
  report.turns += counted.turns;
  report.records += counted.records;
  return {};
}

void SessionFiles::add_problem(VerifyReport& report, const Error& error, const std::string& record) const {
  Problem problem{.code = error.code(),
                  .session = key_.text(),
                  .record = fact_text(error, "record"),
                  .sentence = fact_text(error, "reason")};
  if (problem.record.empty()) problem.record = record;
  if (problem.sentence.empty()) problem.sentence = error.message();
  const bool is_known = std::ranges::any_of(report.problems, [&](const Problem& other) {
    return other.session == problem.session && other.record == problem.record;
  });
  if (!is_known) report.problems.push_back(std::move(problem));
}

void SessionFiles::verify_branch(const TranscriptPart& part, VerifyReport& report) {
  std::uint64_t index = part.begin;
  std::uint64_t turns = 0;
  std::uint64_t calls = 0;
  Revision newest{};
  const Result<void> read = for_each_turn(part, {}, [&](const TurnLine& line) -> Result<void> {
    const TurnHead& head = line.head;
    if (head.first_index != index || head.number != turns + 1 || head.revision <= newest) {
      return Error(ErrorCode::kDamaged, "lines are missing or in another order");
    }
    index = head.end();
    newest = head.revision;
    ++turns;
    calls += line.append.tool_calls.size();
    return {};
  });
  if (!read && read.error().code() == ErrorCode::kNotFound) {
    // It was dropped, or made anew, while it was being read.
    wait_for_writer();
    for (const TranscriptPart& again : own_parts(part.branch)) verify_branch(again, report);
    return;
  }
  report.turns += turns;
  report.records += calls;
  if (!read) {
    add_problem(report, read.error(), part.path);
  } else if (index != part.end) {
    report.problems.push_back({.session = key_.text(),
                               .record = part.path,
                               .sentence = "the branch has " + std::to_string(part.end) +
                                           " messages, its file " + std::to_string(index)});
  }
}

void SessionFiles::verify_records(RecordKind kind, const BranchId& branch, VerifyReport& report) {
  const RecordQuery query{
      .tenant = key_.tenant, .owner = key_.owner, .session = key_.session, .kind = kind, .branch = branch};
  std::vector<Record> records;
  Result<void> read = find_records(query, [&](Record record) { records.push_back(std::move(record)); });
  if (read) {
    for (Record& record : records) {
      Record* const one = &record;
      Result<PayloadsRead> payload = read_payloads({&one, 1});
      if (!payload) read = std::move(payload).error();
      if (payload && payload->damage) read = *std::move(payload->damage);
      if (!read) break;
      record.payload.clear();
    }
  }
  report.records += records.size();
  if (!read) add_problem(report, read.error(), records_path(kind, branch));
}

// Nothing may stand here that belongs to nobody.
Result<void> SessionFiles::verify_names(VerifyReport& report) {
  FileSystem& files = context_.files;
  const auto stray = [&](const std::string& path) {
    report.problems.push_back({.code = ErrorCode::kForeignData,
                               .session = key_.text(),
                               .record = path,
                               .sentence = "this file is none of the store's"});
  };
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory_path()));
  for (const std::string& name : names) {
    if (!is_ours(name, {kSessionFile, kPendingFile, kLengthsFile, kBranchesDirectory, kRecordsDirectory,
                        kAssetsDirectory})) {
      stray(name);
    }
  }
  for (const TranscriptPart& part : own_parts({})) {
    const std::string branch = Path(part.path).parent_path().string();
    TERTULIA_TRY_AS(const std::vector<std::string> inside, files.list(directory_path() / branch));
    for (const std::string& name : inside) {
      const bool is_records = std::ranges::any_of(
          kRecordKinds, [&](RecordKind kind) { return name == std::string(name_of(kind)) + ".jsonl"; });
      if (!is_records && !is_ours(name, {kBranchFile, kTranscriptFile, kAssetsDirectory})) {
        stray(branch + "/" + name);
      }
    }
  }
  return {};
}

Result<void> SessionFiles::verify(VerifyReport& report) {
  {
    MutexLock lock(write_mutex_);
    TERTULIA_TRY(ensure_loaded());
    // What they tell of one another is part of what is checked.
    if (exists_ && !is_unreadable_) TERTULIA_TRY(load_all_records());
  }
  std::vector<BranchId> owners = {{}};
  {
    MutexLock lock(state_mutex_);
    if (!exists_) return {};
    ++report.sessions;
    if (damage_) add_problem(report, *damage_, {});
    if (is_unreadable_) return {};
    verify_image(key_, image_, report.problems);
    for (const auto& [id, files] : branches_) owners.push_back(id);
  }
  for (const TranscriptPart& part : own_parts({})) verify_branch(part, report);
  for (const BranchId& owner : owners) {
    for (const RecordKind kind : kRecordKinds) verify_records(kind, owner, report);
  }
  return verify_names(report);
}

}  // namespace tertulia
