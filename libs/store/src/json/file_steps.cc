#include "file_steps.h"

#include "tertulia/conversation/json_forms.h"

#include "checked_text.h"
#include "names.h"

namespace tertulia {
namespace {

std::string with_suffix(std::string_view name, std::string_view suffix) {
  std::string text(name);
  return text += suffix;
}

std::string parent_of(const std::string& name) { return Path(name).parent_path().string(); }

JsonArray names_json(const std::vector<std::string>& names) {
  JsonArray array;
  for (const std::string& name : names) array.emplace_back(name);
  return array;
}

JsonObject steps_json(const FileSteps& steps) {
  JsonArray appends;
  for (const auto& step : steps.appends) {
    appends.emplace_back(JsonObject{{"file", step.file}, {"at", step.at}, {"text", step.text}});
  }
  JsonArray replaces;
  for (const auto& step : steps.replaces)
    replaces.emplace_back(JsonObject{{"file", step.file}, {"text", step.text}});
  return {{"append", std::move(appends)},
          {"replace", std::move(replaces)},
          {"adopt", names_json(steps.adoptions)},
          {"remove", names_json(steps.removals)}};
}

Result<std::vector<std::string>> read_names(const JsonArray& array) {
  std::vector<std::string> names;
  for (const Json& name : array) {
    if (name.as_string() == nullptr) return Error(ErrorCode::kDamaged, "a step names no file");
    names.push_back(*name.as_string());
  }
  return names;
}

Result<FileSteps> read_steps(const Json& json) {
  JsonReader in(json, kPendingFile);
  FileSteps steps;
  for (const Json& step : in.array_or_empty("append")) {
    JsonReader one(step, "append");
    FileSteps::Append append{.file = one.required_string("file")};
    append.at = static_cast<std::uint64_t>(one.required_int("at", 0, INT64_MAX));
    append.text = one.required_string("text");
    TERTULIA_TRY(one.finish());
    steps.appends.push_back(std::move(append));
  }
  for (const Json& step : in.array_or_empty("replace")) {
    JsonReader one(step, "replace");
    steps.replaces.push_back({.file = one.required_string("file"), .text = one.required_string("text")});
    TERTULIA_TRY(one.finish());
  }
  TERTULIA_TRY_AS(steps.adoptions, read_names(in.array_or_empty("adopt")));
  TERTULIA_TRY_AS(steps.removals, read_names(in.array_or_empty("remove")));
  TERTULIA_TRY(in.finish());
  return steps;
}

bool is_missing(const Error& error) { return error.code() == ErrorCode::kNotFound; }

Result<bool> exists(FileSystem& files, const Path& path) {
  Result<FileInfo> info = files.info(path);
  if (info) return true;
  if (is_missing(info.error())) return false;
  return std::move(info).error();
}

}  // namespace

Result<void> WriteHealth::check() const {
  MutexLock lock(mutex_);
  if (!first_) return {};
  return Error(ErrorCode::kStorageIo,
               "the store stopped writing after a failure and must be opened again: " + first_->message());
}

Error WriteHealth::failed(Error error) {
  MutexLock lock(mutex_);
  if (!first_) first_ = error;
  return Error(ErrorCode::kStorageIo, error.message());
}

Result<void> remove_tree(FileSystem& files, const Path& path) {
  Result<FileInfo> info = files.info(path);
  if (!info) {
    // A link that leads nowhere is not there for info, but may stand in the way.
    if (!is_missing(info.error())) return std::move(info).error();
    return {};
  }
  if (info->is_directory) {
    TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(path));
    for (const std::string& name : names) TERTULIA_TRY(remove_tree(files, path / name));
  }
  Result<void> removed = files.remove(path);
  if (!removed && !is_missing(removed.error())) return removed;
  return {};
}

SessionDirectory::SessionDirectory(FileSystem& files, Path path, std::string place, WriteHealth& health)
    : files_(files), path_(std::move(path)), place_(std::move(place)), health_(health) {}

Error SessionDirectory::judged(Error error) {
  const ErrorCode code = error.code();
  if (code == ErrorCode::kStorageFull || code == ErrorCode::kNotPermitted || code == ErrorCode::kNotFound) {
    return error;
  }
  return health_.failed(std::move(error));
}

Result<void> SessionDirectory::sync_directory_of(const std::string& name) {
  Result<void> synced = files_.sync_directory(path_ / parent_of(name));
  if (!synced) return health_.failed(std::move(synced).error());
  return {};
}

Result<void> SessionDirectory::settle_removal() {
  if (!removal_unsettled_) return {};
  TERTULIA_TRY(sync_directory_of(std::string(kPendingFile)));
  removal_unsettled_ = false;
  replaced_unsettled_.clear();
  return {};
}

Result<void> SessionDirectory::write_new(const std::string& file, std::string_view text) {
  const Path path = at(with_suffix(file, kNewSuffix));
  Result<std::unique_ptr<File>> opened = files_.open(path, OpenMode::kCreate);
  if (!opened) return judged(std::move(opened).error());
  Result<void> written = (*opened)->truncate(0);
  if (written) written = (*opened)->write_at(0, text);
  if (!written) {
    (void)files_.remove(path);
    return judged(std::move(written).error());
  }
  Result<void> synced = (*opened)->sync();
  if (!synced) return health_.failed(std::move(synced).error());
  return {};
}

Result<void> SessionDirectory::rename_new(const std::string& file) {
  if (open_ && open_->name == file) open_.reset();
  const std::string from = with_suffix(file, kNewSuffix);
  Result<void> renamed = files_.rename(at(from), at(file));
  if (!renamed) return judged(std::move(renamed).error());
  return sync_directory_of(file);
}

Result<File*> SessionDirectory::open_for_append(const std::string& name) {
  if (!open_ || open_->name != name) {
    open_.reset();
    Result<std::unique_ptr<File>> opened = files_.open(at(name), OpenMode::kReadWrite);
    if (!opened) return judged(std::move(opened).error());
    open_ = OpenFile{name, *std::move(opened)};
  }
  return open_->file.get();
}

Result<void> SessionDirectory::append(const FileSteps::Append& step) {
  TERTULIA_TRY_AS(File* const file, open_for_append(step.file));
  Result<void> written = file->write_at(step.at, step.text);
  if (!written) {
    Error error = judged(std::move(written).error());
    if (error.code() != ErrorCode::kStorageIo) {
      // Synced, so that no later append can meet the remains of this one.
      Result<void> cut = file->truncate(step.at);
      if (cut) cut = file->sync();
      if (!cut) return health_.failed(std::move(cut).error());
    }
    return error;
  }
  Result<void> synced = file->sync();
  if (!synced) return health_.failed(std::move(synced).error());
  return {};
}

Result<void> SessionDirectory::append_again(const FileSteps::Append& step) {
  TERTULIA_TRY_AS(File* const file, open_for_append(step.file));
  TERTULIA_TRY_AS(const std::uint64_t size, file->size());
  if (size < step.at) {
    return Error(ErrorCode::kDamaged,
                 "'" + step.file + "' is shorter than " + std::to_string(step.at) + " bytes");
  }
  // Longer than this step makes it: the step was done, and others after it.
  if (size > step.at + step.text.size()) return {};
  TERTULIA_TRY_AS(const std::string there, file->read_at(step.at, step.text.size()));
  if (there != step.text) {
    if (size > step.at) {
      Result<void> cut = file->truncate(step.at);
      if (!cut) return judged(std::move(cut).error());
    }
    return append(step);
  }
  Result<void> synced = file->sync();
  if (!synced) return health_.failed(std::move(synced).error());
  return {};
}

Result<void> SessionDirectory::remove(const std::string& name) {
  if (open_ && open_->name.starts_with(name)) open_.reset();
  Result<FileInfo> info = files_.info(at(name));
  if (info && !info->is_directory) {
    Result<void> removed = files_.remove(at(name));
    if (!removed) return judged(std::move(removed).error());
    return sync_directory_of(name);
  }
  const Path erased = at(with_suffix(name, kErasedSuffix));
  Result<void> gone = remove_tree(files_, erased);
  if (!gone) return judged(std::move(gone).error());
  Result<void> renamed = files_.rename(at(name), erased);
  if (!renamed && !is_missing(renamed.error())) return judged(std::move(renamed).error());
  TERTULIA_TRY(sync_directory_of(name));
  // From here on it is gone; what the next lines leave behind is swept at the next touch.
  (void)remove_tree(files_, erased);
  return {};
}

Result<void> SessionDirectory::adopt(const std::string& directory) {
  const std::string built = with_suffix(directory, kNewSuffix);
  TERTULIA_TRY_AS(const bool is_built, exists(files_, at(built)));
  if (!is_built) return {};
  TERTULIA_TRY_AS(const bool replaces, exists(files_, at(directory)));
  if (replaces) TERTULIA_TRY(remove(directory));
  Result<void> renamed = files_.rename(at(built), at(directory));
  if (!renamed) return judged(std::move(renamed).error());
  return sync_directory_of(directory);
}

Result<void> SessionDirectory::make_room_taking_changes(const FileSteps& steps, bool again) {
  for (const auto& step : steps.appends) TERTULIA_TRY(again ? append_again(step) : append(step));
  for (const auto& step : steps.replaces) TERTULIA_TRY(write_new(step.file, step.text));
  return {};
}

Result<void> SessionDirectory::make_final_changes(const FileSteps& steps) {
  for (const auto& step : steps.replaces) TERTULIA_TRY(rename_new(step.file));
  for (const std::string& directory : steps.adoptions) TERTULIA_TRY(adopt(directory));
  for (const std::string& name : steps.removals) TERTULIA_TRY(remove(name));
  return {};
}

Result<void> SessionDirectory::undo(const FileSteps& steps) {
  for (const auto& step : steps.appends) {
    TERTULIA_TRY_AS(File* const file, open_for_append(step.file));
    TERTULIA_TRY(file->truncate(step.at));
    TERTULIA_TRY(file->sync());
  }
  for (const auto& step : steps.replaces) {
    TERTULIA_TRY(remove_tree(files_, at(with_suffix(step.file, kNewSuffix))));
  }
  for (const std::string& directory : steps.adoptions) {
    TERTULIA_TRY(remove_tree(files_, at(with_suffix(directory, kNewSuffix))));
  }
  TERTULIA_TRY(files_.remove(at(kPendingFile)));
  return files_.sync_directory(path_);
}

Result<void> SessionDirectory::run_one(const FileSteps& steps) {
  if (!steps.appends.empty()) {
    const FileSteps::Append& step = steps.appends.front();
    if (replaced_unsettled_.contains(step.file)) TERTULIA_TRY(settle_removal());
    return append(step);
  }
  TERTULIA_TRY(settle_removal());
  if (!steps.replaces.empty()) {
    TERTULIA_TRY(write_new(steps.replaces.front().file, steps.replaces.front().text));
  }
  return make_final_changes(steps);
}

Result<void> SessionDirectory::run_through_pending(const FileSteps& steps) {
  TERTULIA_TRY(settle_removal());
  // What is adopted must be there when the steps are carried out again.
  for (const std::string& directory : steps.adoptions) TERTULIA_TRY(sync_directory_of(directory));
  const std::string pending(kPendingFile);
  TERTULIA_TRY(write_new(pending, sealed_document(place_, steps_json(steps))));
  TERTULIA_TRY(rename_new(pending));
  if (Result<void> done = make_room_taking_changes(steps, false); !done) {
    if (done.error().code() == ErrorCode::kStorageIo) return done;
    Result<void> undone = undo(steps);
    if (!undone) return health_.failed(std::move(undone).error());
    return done;
  }
  for (const auto& step : steps.replaces) replaced_unsettled_.insert(step.file);
  // Past this point it is committed: a failure here leaves pending.json to the next opening.
  Result<void> done = make_final_changes(steps);
  if (done) done = files_.remove(at(pending));
  if (!done) return health_.failed(std::move(done).error());
  removal_unsettled_ = true;
  return {};
}

Result<void> SessionDirectory::run(const FileSteps& steps) {
  TERTULIA_TRY(health_.check());
  if (steps.size() == 0) return {};
  if (steps.size() == 1) return run_one(steps);
  return run_through_pending(steps);
}

Result<bool> SessionDirectory::finish_pending() {
  Result<std::string> text = read_file(files_, at(kPendingFile));
  if (!text) {
    if (is_missing(text.error())) return false;
    return std::move(text).error();
  }
  TERTULIA_TRY_AS(Json json, open_document(place_, *text));
  TERTULIA_TRY_AS(FileSteps steps, read_steps(json));
  TERTULIA_TRY(health_.check());
  TERTULIA_TRY(make_room_taking_changes(steps, true));
  TERTULIA_TRY(make_final_changes(steps));
  Result<void> removed = files_.remove(at(kPendingFile));
  if (!removed) return judged(std::move(removed).error());
  removal_unsettled_ = true;
  TERTULIA_TRY(settle_removal());
  return true;
}

Result<void> SessionDirectory::build_tree(const std::string& directory,
                                          const std::vector<NewFile>& new_files) {
  TERTULIA_TRY(health_.check());
  TERTULIA_TRY(settle_removal());
  const std::string built = with_suffix(directory, kNewSuffix);
  std::set<std::string> directories = {built};
  auto build = [&]() -> Result<void> {
    TERTULIA_TRY(remove_tree(files_, at(built)));
    TERTULIA_TRY(files_.make_directory(at(built)));
    for (const auto& [name, text] : new_files) {
      std::string file = built;
      file += '/';
      file += name;
      for (std::string parent = parent_of(file); directories.insert(parent).second;
           parent = parent_of(parent)) {
        TERTULIA_TRY(files_.make_directory(at(parent)));
      }
      if (name.ends_with('/')) continue;
      TERTULIA_TRY_AS(std::unique_ptr<File> made, files_.open(at(file), OpenMode::kCreateNew));
      TERTULIA_TRY(made->write_at(0, text));
      Result<void> synced = made->sync();
      if (!synced) return health_.failed(std::move(synced).error());
    }
    return {};
  };
  if (Result<void> done = build(); !done) {
    (void)remove_tree(files_, at(built));
    return judged(std::move(done).error());
  }
  for (const std::string& made : directories) {
    Result<void> synced = files_.sync_directory(at(made));
    if (!synced) return health_.failed(std::move(synced).error());
  }
  return {};
}

Result<void> SessionDirectory::ensure_directory(const std::string& directory) {
  TERTULIA_TRY(health_.check());
  Result<void> made = files_.make_directory(at(directory));
  if (!made) return judged(std::move(made).error());
  return sync_directory_of(directory);
}

Result<void> SessionDirectory::write_beforehand(const std::string& file, std::string_view bytes) {
  TERTULIA_TRY(settle_removal());
  TERTULIA_TRY(ensure_directory(parent_of(file)));
  TERTULIA_TRY(write_new(file, bytes));
  return rename_new(file);
}

Result<void> SessionDirectory::mend(const std::string& file, std::uint64_t size, std::string_view added) {
  TERTULIA_TRY(health_.check());
  TERTULIA_TRY_AS(File* const opened, open_for_append(file));
  Result<void> changed = opened->truncate(size);
  if (changed && !added.empty()) changed = opened->write_at(size, added);
  if (!changed) return judged(std::move(changed).error());
  Result<void> synced = opened->sync();
  if (!synced) return health_.failed(std::move(synced).error());
  return {};
}

}  // namespace tertulia
