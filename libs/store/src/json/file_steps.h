// Changing several files of a session as one.
//
// One step alone is atomic by itself: an append (a line that a crash tears is cut off at the next touch), a
// file written beside and renamed, a directory built beside and renamed. Several steps are first written down
// in pending.json, in one piece; from then on they are committed. They are carried out, and pending.json is
// removed; a crash between has them carried out again at the next touch, which changes nothing that was done
// already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/file_system.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// Whether the store may still write. After a failed sync nobody knows what the disk holds, so it stops.
//
// Concurrency: any thread.
class WriteHealth {
 public:
  // Ok, or kStorageIo with what happened first.
  Result<void> check() const;
  // Notes the failure and gives it back.
  Error failed(Error error);

 private:
  mutable Mutex mutex_;
  std::optional<Error> first_ TERTULIA_GUARDED_BY(mutex_);
};

// Paths are relative to the session's directory.
struct FileSteps {
  struct Append {
    std::string file;
    std::uint64_t at = 0;
    std::string text;
  };
  struct Replace {
    std::string file;
    std::string text;
  };
  std::vector<Append> appends;
  std::vector<Replace> replaces;
  // "<directory>.new", built by build_tree, becomes "<directory>" in place of what is there.
  std::vector<std::string> adoptions;
  // Files, or directories with everything in them.
  std::vector<std::string> removals;

  std::size_t size() const { return appends.size() + replaces.size() + adoptions.size() + removals.size(); }
};

// A file to be, relative to its tree: name and content. A name that ends with a slash makes an empty
// directory.
using NewFile = std::pair<std::string, std::string>;

// Concurrency: one thread at a time.
class SessionDirectory {
 public:
  // Refers to `files` and `health`. `place` is what the checksum of pending.json covers.
  SessionDirectory(FileSystem& files, Path path, std::string place, WriteHealth& health);

  FileSystem& files() { return files_; }
  const Path& path() const { return path_; }
  Path at(std::string_view name) const { return path_ / name; }

  // Carries out what a crash left in pending.json. True if there was something. kDamaged if it is not whole.
  Result<bool> finish_pending();

  // All steps or none. kStorageFull and kNotPermitted: none. kStorageIo: the store is closed to writers.
  Result<void> run(const FileSteps& steps);

  // Builds "<directory>.new" with these files, synced.
  Result<void> build_tree(const std::string& directory, const std::vector<NewFile>& files);
  // Writes a file that nothing points to yet, synced with its name.
  Result<void> write_beforehand(const std::string& file, std::string_view bytes);
  // Makes a directory that is to last.
  Result<void> ensure_directory(const std::string& directory);
  // Cuts a file, or adds what its last line lacks, and syncs it.
  Result<void> mend(const std::string& file, std::uint64_t size, std::string_view added);

  // After the session was erased or a branch dropped, open files stand for nothing.
  void forget_open_file() { open_.reset(); }

 private:
  struct OpenFile {
    std::string name;
    std::unique_ptr<File> file;
  };

  Result<void> run_one(const FileSteps& steps);
  Result<void> run_through_pending(const FileSteps& steps);
  Result<void> write_new(const std::string& file, std::string_view text);
  Result<void> rename_new(const std::string& file);
  Result<File*> open_for_append(const std::string& name);
  Result<void> append(const FileSteps::Append& step);
  Result<void> append_again(const FileSteps::Append& step);
  Result<void> adopt(const std::string& directory);
  Result<void> remove(const std::string& name);
  // What takes room, and can be undone; then what does not.
  Result<void> make_room_taking_changes(const FileSteps& steps, bool again);
  Result<void> make_final_changes(const FileSteps& steps);
  Result<void> undo(const FileSteps& steps);
  // A pending.json whose removal was not synced could come back, and would be carried out again. That is
  // harmless only to appends, and not to one to a file that it replaces.
  Result<void> settle_removal();
  Result<void> sync_directory_of(const std::string& name);
  // As it is for a failure that changed nothing; otherwise the store is closed to writers.
  Error judged(Error error);

  FileSystem& files_;
  Path path_;
  std::string place_;
  WriteHealth& health_;
  std::optional<OpenFile> open_;
  bool removal_unsettled_ = false;
  // The files that the pending.json which could come back replaces.
  std::set<std::string> replaced_unsettled_;
};

// Removes a file or a directory with everything in it. Fine if it is not there.
Result<void> remove_tree(FileSystem& files, const Path& path);

}  // namespace tertulia
