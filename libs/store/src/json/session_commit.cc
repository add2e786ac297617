// How a commit or a note becomes steps over files.
#include <algorithm>
#include <new>
#include <set>
#include <type_traits>
#include <variant>

#include "names.h"
#include "session_files.h"

namespace tertulia {
namespace {

// A file of records is written anew when what was dropped takes more than the rest and this.
constexpr std::uint64_t kSlackBytes = 64U << 10U;
constexpr std::size_t kSectorBytes = 512;

std::string in_tree(const std::string& path, const std::string& tree) { return path.substr(tree.size() + 1); }

}  // namespace

struct SessionFiles::Plan {
  struct BranchPlan {
    // It is made by this commit.
    bool is_fresh = false;
    bool writes_head = false;
    const AppendTurn* append = nullptr;
  };
  struct RecordsPlan {
    std::vector<RecordItem> items;
    // Where the line of the items stands; or the whole file as it is afterwards.
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::optional<RecordsFile> whole;
  };

  bool creates = false;
  bool writes_session = false;
  Revision revision{};
  Time time{};
  // The image afterwards; only where more changes than turns and records.
  std::optional<SessionImage> after;
  std::map<BranchId, BranchPlan> branches;
  std::set<BranchId> dropped;
  std::map<RecordsKey, RecordsPlan> records;

  FileSteps steps;
  // The files of each branch that is made, relative to its directory.
  std::map<BranchId, std::vector<NewFile>> trees;
  // Of a session that is made, relative to its directory.
  std::vector<NewFile> files;
  // Assets, written before anything points to them.
  std::vector<NewFile> assets;
  std::map<BranchId, BranchFiles> branch_files;

  bool is_fresh(const BranchId& branch) const {
    const auto found = branches.find(branch);
    return found != branches.end() && found->second.is_fresh;
  }
  void drop(const BranchId& branch, bool is_stored) {
    branches.erase(branch);
    std::erase_if(records, [&](const auto& file) { return file.first.second == branch; });
    std::erase_if(assets,
                  [&](const NewFile& file) { return file.first.starts_with(branch_path(branch) + "/"); });
    if (is_stored) dropped.insert(branch);
    writes_session = true;
  }
};

Result<void> SessionFiles::load_streams(const std::vector<StreamId>& streams) {
  image_.streams.clear();
  for (const StreamId& stream : streams) {
    if (!exists_ || stream.kind == RecordKind::kToolCall) continue;
    if (!stream.branch.empty() && !branches_.contains(stream.branch)) continue;
    TERTULIA_TRY_AS(const RecordsFile* const file, records_file(stream.kind, stream.branch));
    if (const auto head = file->heads.find(stream.scope); head != file->heads.end()) {
      image_.streams[stream] = head->second;
    }
  }
  return {};
}

Result<void> SessionFiles::check_writable() const {
  if (damage_) return *damage_;
  return context_.health.check();
}

void SessionFiles::plan_record(Plan& plan, const AddRecord& add) {
  const StreamId& stream = add.record.stream;
  RecordItem item{.record = add.record};
  if (stands_outside(add.record)) {
    item.is_outside = true;
    item.outside_bytes = add.record.payload.size();
    item.outside_sum = asset_checksum(key_, add.record, add.record.payload);
    plan.assets.emplace_back(asset_path(stream, add.record.number), add.record.payload);
    item.record.payload.clear();
  }
  plan.records[{stream.kind, stream.branch}].items.push_back(std::move(item));
}

void SessionFiles::plan_record(Plan& plan, const DropRecords& drop) {
  const RecordsKey id{drop.stream.kind, drop.stream.branch};
  const std::string& scope = drop.stream.scope;
  const auto found = records_.find(id);
  const RecordsFile* stored =
      found == records_.end() || plan.is_fresh(drop.stream.branch) ? nullptr : &found->second;
  std::uint64_t newest = 0;
  if (stored != nullptr) {
    if (const auto head = stored->heads.find(scope); head != stored->heads.end()) newest = head->second;
  }
  if (const auto planned = plan.records.find(id); planned != plan.records.end()) {
    for (const RecordItem& item : planned->second.items) {
      if (!item.is_drop && item.record.stream == drop.stream) newest = std::max(newest, item.record.number);
    }
  }
  if (newest == 0) return;
  const std::uint64_t up_to = drop.up_to == 0 ? newest : std::min(newest, drop.up_to);
  if (drop.stream.kind == RecordKind::kAsset) {
    for (std::uint64_t number = 1; number <= up_to; ++number) {
      const std::string path = asset_path(drop.stream, number);
      std::erase_if(plan.assets, [&](const NewFile& file) { return file.first == path; });
      if (stored != nullptr && stored->live.contains({scope, number})) plan.steps.removals.push_back(path);
    }
  }
  plan.records[id].items.push_back({.is_drop = true, .record = {.stream = drop.stream, .number = up_to}});
}

Result<SessionFiles::Plan> SessionFiles::plan_commit(const Commit& commit) {
  Plan plan;
  plan.creates = !exists_;
  plan.revision = next(image_.session.revision);
  plan.time = commit.time;
  bool changes_more = plan.creates;
  bool appends = false;
  for (const Change& change : commit.changes) {
    if (std::holds_alternative<PutSession>(change)) {
      plan.writes_session = changes_more = true;
    } else if (const auto* put = std::get_if<PutBranch>(&change)) {
      auto& branch = plan.branches[put->head.id];
      const bool is_stored = branches_.contains(put->head.id) && !plan.dropped.contains(put->head.id);
      branch.is_fresh = branch.is_fresh || !is_stored;
      branch.writes_head = changes_more = true;
    } else if (const auto* append = std::get_if<AppendTurn>(&change)) {
      plan.branches[append->branch].append = append;
      appends = true;
    } else if (const auto* drop = std::get_if<DropBranches>(&change)) {
      for (const BranchId& branch : drop->branches) plan.drop(branch, branches_.contains(branch));
      // What the session says of them goes with them.
      plan.writes_session = changes_more = true;
    } else if (const auto* add = std::get_if<AddRecord>(&change)) {
      plan_record(plan, *add);
    } else {
      plan_record(plan, std::get<DropRecords>(change));
    }
  }
  // Something must carry the new revision.
  if (!changes_more && !appends) plan.writes_session = changes_more = true;
  if (changes_more) {
    plan.after = image_;
    apply_commit(*plan.after, commit);
  }
  TERTULIA_TRY(plan_branches(plan));
  TERTULIA_TRY(plan_records_files(plan));
  return plan;
}

Result<void> SessionFiles::plan_branch(Plan& plan, const BranchId& id) {
  const Plan::BranchPlan& branch = plan.branches[id];
  BranchFiles files;
  if (!branch.is_fresh) {
    files = branches_[id];
  } else {
    files.path = branch_path(id);
    for (const auto& [other, stored] : branches_) files.order = std::max(files.order, stored.order + 1);
    for (const auto& [other, planned] : plan.branch_files)
      files.order = std::max(files.order, planned.order + 1);
  }
  const std::string transcript = files.path + "/" + std::string(kTranscriptFile);
  std::string text;
  if (branch.is_fresh) {
    text =
        header_line(key_, transcript,
                    {.file = "transcript", .branch = id, .forked_from = plan.after->find(id)->forked_from});
  }
  if (branch.writes_head) files.state_at = 0;
  files.revision = plan.revision;
  files.time = plan.time;
  if (branch.append != nullptr) {
    const std::uint64_t count = branch.append->turn.messages().size();
    const std::uint64_t before =
        plan.after ? plan.after->find(id)->message_count - count : image_.find(id)->message_count;
    const std::uint64_t offset = files.size + text.size();
    if (branch.append->state && !branch.writes_head) files.state_at = offset;
    const TurnHead head{.number = ++files.turns,
                        .revision = plan.revision,
                        .first_index = before,
                        .count = count,
                        .time = plan.time,
                        .state_at = files.state_at};
    text += turn_line(key_, transcript, head, *branch.append);
  }
  std::string document;
  if (branch.writes_head) {
    TERTULIA_TRY_AS(document, branch_document(key_, {.head = *plan.after->find(id),
                                                     .order = files.order,
                                                     .revision = plan.revision,
                                                     .time = plan.time,
                                                     .turns = files.turns}));
  }
  const std::string file = files.path + "/" + std::string(kBranchFile);
  if (branch.is_fresh) {
    plan.trees[id] = {{std::string(kBranchFile), std::move(document)}, {std::string(kTranscriptFile), text}};
  } else {
    if (branch.append != nullptr) plan.steps.appends.push_back({transcript, files.size, text});
    if (branch.writes_head) plan.steps.replaces.push_back({file, std::move(document)});
  }
  files.size += text.size();
  plan.branch_files[id] = std::move(files);
  return {};
}

Result<void> SessionFiles::plan_branches(Plan& plan) {
  // In the order in which they were made, which is that of the image.
  if (plan.after) {
    for (const BranchHead& head : plan.after->branches) {
      if (plan.branches.contains(head.id)) TERTULIA_TRY(plan_branch(plan, head.id));
    }
  } else {
    for (const auto& [id, branch] : plan.branches) TERTULIA_TRY(plan_branch(plan, id));
  }
  for (const BranchId& id : plan.dropped) {
    if (!plan.is_fresh(id)) plan.steps.removals.push_back(branch_path(id));
  }
  if (plan.writes_session && !plan.creates) {
    TERTULIA_TRY_AS(std::string document, session_document(key_, plan.after->session));
    plan.steps.replaces.push_back({std::string(kSessionFile), std::move(document)});
  }
  return {};
}

// What the records of a branch, or those of the session, tell of the rest after this change.
ToldBeside SessionFiles::told_by(const Plan& plan, const BranchId& branch) {
  if (branch.empty()) return {.revision = plan.revision};
  const auto planned = plan.branch_files.find(branch);
  if (planned != plan.branch_files.end()) return {.turns = planned->second.turns};
  const auto stored = branches_.find(branch);
  return {.turns = stored == branches_.end() ? 0 : stored->second.turns};
}

Result<std::string> SessionFiles::rewritten(const RecordsKey& id, const RecordsFile& file, RecordsFile& after,
                                            const std::vector<RecordItem>& items, const ToldBeside& told) {
  const std::string path = records_path(id.first, id.second);
  std::map<std::pair<std::string, std::uint64_t>, RecordItem> live;
  if (!file.live.empty()) {
    TERTULIA_TRY_AS(std::unique_ptr<File> opened, context_.files.open(directory_.at(path), OpenMode::kRead));
    LineReader lines(*opened, file.size);
    for (const auto& [name, place] : file.live) {
      TERTULIA_TRY_AS(std::optional<std::string_view> line, lines.line_at(place.offset));
      Result<RecordLine> there = read_record_line(key_, path, file.header, line.value_or(std::string_view()));
      if (!there || place.item >= there->items.size()) return damaged(path, "a line cannot be read");
      live[name] = std::move(there->items[place.item]);
    }
  }
  after.exists = true;
  after.header = file.header;
  after.header.heads = file.heads;
  after.header.told = told;
  ++after.header.generation;
  for (const RecordItem& item : items) {
    const std::string& scope = item.record.stream.scope;
    if (item.is_drop) {
      live.erase(live.lower_bound({scope, 0}), live.upper_bound({scope, item.record.number}));
    } else {
      after.header.heads[scope] = item.record.number;
      live[{scope, item.record.number}] = item;
    }
  }
  after.heads = after.header.heads;
  std::string text = header_line(key_, path, after.header);
  for (auto& [name, item] : live) {
    const std::vector<RecordItem> one = {std::move(item)};
    const std::string line = record_line(key_, path, one, {});
    replay(after, one, text.size(), line.size());
    text += line;
  }
  after.size = text.size();
  return text;
}

// Whether something that a person may have asked to forget goes for good: it must not stay in the file until
// there is more to be written anew. The steps of turns come and go with every one of them, and stay.
bool SessionFiles::forgets(RecordKind kind, const RecordsFile& file, const std::vector<RecordItem>& items) {
  if (kind != RecordKind::kMemory && kind != RecordKind::kEpisode && kind != RecordKind::kReceipt)
    return false;
  return std::ranges::any_of(items, [&](const RecordItem& drop) {
    if (!drop.is_drop) return false;
    const std::string& scope = drop.record.stream.scope;
    const auto first = file.live.lower_bound({scope, 0});
    if (first == file.live.upper_bound({scope, drop.record.number})) return false;
    return std::ranges::none_of(
        items, [&](const RecordItem& item) { return !item.is_drop && item.record.stream.scope == scope; });
  });
}

Result<void> SessionFiles::plan_records_files(Plan& plan) {
  for (auto& [id, records] : plan.records) {
    const std::string path = records_path(id.first, id.second);
    const bool is_fresh = plan.creates || plan.is_fresh(id.second);
    RecordsFile none;
    none.header = {.file = std::string(name_of(id.first)), .branch = id.second};
    const RecordsFile* file = &none;
    if (!is_fresh) {
      TERTULIA_TRY_AS(file, records_file(id.first, id.second));
    }
    const ToldBeside told = told_by(plan, id.second);
    std::uint64_t dropped = 0;
    for (const RecordItem& item : records.items) {
      if (!item.is_drop) continue;
      const std::string& scope = item.record.stream.scope;
      const auto last = file->live.upper_bound({scope, item.record.number});
      for (auto at = file->live.lower_bound({scope, 0}); at != last; ++at) dropped += at->second.bytes;
    }
    const std::uint64_t live = file->live_bytes - std::min(dropped, file->live_bytes);
    const bool stays = !forgets(id.first, *file, records.items);
    if (file->exists && stays && file->size < 2 * live + kSlackBytes) {
      const std::string line = record_line(key_, path, records.items, told);
      records.offset = file->size;
      records.bytes = line.size();
      plan.steps.appends.push_back({path, file->size, line});
      continue;
    }
    TERTULIA_TRY_AS(std::string text, rewritten(id, *file, records.whole.emplace(), records.items, told));
    if (!is_fresh) {
      plan.steps.replaces.push_back({path, std::move(text)});
    } else if (id.second.empty()) {
      plan.files.emplace_back(path, std::move(text));
    } else {
      plan.trees[id.second].emplace_back(in_tree(path, branch_path(id.second)), std::move(text));
    }
  }
  return {};
}

Result<void> SessionFiles::create(Plan& plan) {
  TERTULIA_TRY_AS(std::string document, session_document(key_, plan.after->session));
  plan.files.emplace_back(std::string(kSessionFile), std::move(document));
  plan.files.emplace_back(std::string(kBranchesDirectory) + "/", "");
  for (auto& [id, tree] : plan.trees) {
    for (auto& [name, text] : tree) plan.files.emplace_back(branch_path(id) + "/" + name, std::move(text));
  }
  for (NewFile& asset : plan.assets) plan.files.push_back(std::move(asset));
  SessionDirectory sessions(context_.files, sessions_, std::string(), context_.health);
  TERTULIA_TRY(sessions.build_tree(name_, plan.files));
  return sessions.run({.adoptions = {name_}});
}

Result<void> SessionFiles::carry_out(Plan& plan) {
  if (plan.creates) return create(plan);
  for (NewFile& asset : plan.assets) {
    const auto owner = std::ranges::find_if(
        plan.trees, [&](const auto& tree) { return asset.first.starts_with(branch_path(tree.first) + "/"); });
    if (owner != plan.trees.end()) {
      owner->second.emplace_back(in_tree(asset.first, branch_path(owner->first)), std::move(asset.second));
    } else {
      TERTULIA_TRY(directory_.write_beforehand(asset.first, asset.second));
    }
  }
  for (const auto& [id, tree] : plan.trees) {
    TERTULIA_TRY(directory_.build_tree(branch_path(id), tree));
    plan.steps.adoptions.push_back(branch_path(id));
  }
  for (const auto& replace : plan.steps.replaces) {
    if (replace.file.starts_with(kRecordsDirectory)) {
      TERTULIA_TRY(directory_.ensure_directory(std::string(kRecordsDirectory)));
    }
  }
  return directory_.run(plan.steps);
}

void SessionFiles::publish_files(Plan& plan) {
  for (const BranchId& id : plan.dropped) {
    branches_.erase(id);
    std::erase_if(records_, [&](const auto& file) { return file.first.second == id; });
  }
  for (auto& [id, files] : plan.branch_files) branches_[id] = std::move(files);
  for (auto& [id, records] : plan.records) {
    if (records.whole) {
      records_[id] = *std::move(records.whole);
      continue;
    }
    RecordsFile& file = records_[id];
    replay(file, records.items, records.offset, records.bytes);
    file.size += records.bytes;
  }
  exists_ = true;
}

Result<Revision> SessionFiles::commit(const Commit& commit, const Changed& changed) {
  MutexLock write(write_mutex_);
  TERTULIA_TRY(ensure_loaded());
  TERTULIA_TRY(load_streams(streams_of(commit)));
  if (exists_ && damage_) return *damage_;
  TERTULIA_TRY(check_commit(exists_ ? &image_ : nullptr, commit));
  TERTULIA_TRY(check_writable());
  TERTULIA_TRY_AS(Plan plan, plan_commit(commit));
  const Revision revision = plan.revision;
  const Changing changing(*this);
  try {
    TERTULIA_TRY(carry_out(plan));
    MutexLock state(state_mutex_);
    publish_files(plan);
    if (plan.after) {
      image_ = *std::move(plan.after);
    } else {
      apply_commit(image_, commit);
    }
    image_.streams.clear();
  } catch (const std::bad_alloc&) {
    distrust_memory();
    throw;
  }
  write_lengths(plan);
  changed(image_.session);
  return revision;
}

// Memory ran out while files were being changed: the commit is there whole or not at all, and only the files
// know which. They are read again at the next touch.
void SessionFiles::distrust_memory() {
  is_loaded_ = false;
  directory_.forget_open_file();
}

Result<void> SessionFiles::note(const Note& note) {
  MutexLock write(write_mutex_);
  TERTULIA_TRY(ensure_loaded());
  TERTULIA_TRY(load_streams(streams_of(note)));
  if (exists_ && damage_) return *damage_;
  TERTULIA_TRY(check_note(exists_ ? &image_ : nullptr, note));
  TERTULIA_TRY(check_writable());
  Plan plan;
  plan.revision = image_.session.revision;
  for (const auto& change : note.changes) {
    std::visit([&](const auto& record) TERTULIA_REQUIRES(write_mutex_) { plan_record(plan, record); },
               change);
  }
  TERTULIA_TRY(plan_records_files(plan));
  const Changing changing(*this);
  try {
    TERTULIA_TRY(carry_out(plan));
    MutexLock state(state_mutex_);
    publish_files(plan);
  } catch (const std::bad_alloc&) {
    distrust_memory();
    throw;
  }
  write_lengths(plan);
  return {};
}

// Those whose loss nothing else would tell: the steps and events of a turn come and go with it, and a lease
// with its process.
bool SessionFiles::is_measured(RecordKind kind) {
  return kind != RecordKind::kJournal && kind != RecordKind::kEvent && kind != RecordKind::kLease;
}

void SessionFiles::write_lengths(const Plan& plan) noexcept {
  try {
    bool changes = false;
    for (const BranchId& id : plan.dropped) {
      changes =
          std::erase_if(lengths_,
                        [&](const auto& one) { return one.first.starts_with(branch_path(id) + "/"); }) > 0 ||
          changes;
    }
    for (const auto& [id, records] : plan.records) {
      const auto file = records_.find(id);
      if (!is_measured(id.first) || file == records_.end()) continue;
      lengths_[records_path(id.first, id.second)] = {.generation = file->second.header.generation,
                                                     .bytes = file->second.size};
      changes = true;
    }
    if (!changes) return;
    std::string text = lengths_document(key_, lengths_);
    const Result<std::unique_ptr<File>> file =
        context_.files.open(directory_.at(kLengthsFile), OpenMode::kCreate);
    if (!file) return;
    // In place, in whole sectors: what was longer before is overwritten with blanks.
    const std::uint64_t before = (*file)->size().value_or(0);
    const std::size_t sectors = (text.size() + kSectorBytes - 1) / kSectorBytes;
    text.resize(std::max<std::size_t>(before, sectors * kSectorBytes), ' ');
    static_cast<void>((*file)->write_at(0, text));
  } catch (const std::bad_alloc&) {
    // They say less than they could.
    return;
  }
}

}  // namespace tertulia
