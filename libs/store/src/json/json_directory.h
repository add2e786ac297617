// The JSON store without its threads: what open_json_store puts on them, and what tests drive step by step.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/blocking_store.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/room_watch.h"

#include "session_files.h"
#include "session_index.h"

namespace tertulia {

// Concurrency: any thread.
class JsonDirectory final : public BlockingStore {
 public:
  static Result<std::unique_ptr<JsonDirectory>> open(Env& env, const Path& directory,
                                                     const JsonStoreOptions& options);

  Result<Revision> commit(Commit commit) override;
  Result<void> note(Note note) override;
  Result<SessionState> load(const SessionKey& key) override;
  Result<std::vector<StoredTurn>> read_turns(const SessionKey& key, const TurnRange& range) override;
  Result<RecordPage> read_records(const RecordQuery& query) override;
  Result<SessionPage> list(const SessionQuery& query) override;
  Result<EraseReport> erase(const EraseScope& scope) override;
  Result<VerifyReport> verify() override;
  Result<void> check_writable() override;

 private:
  // What became of a change, for whoever asks whether there is room.
  template <class T>
  Result<T> watched(Result<T> changed) {
    if (changed) {
      room_.succeeded();
    } else {
      room_.failed(changed.error());
    }
    return changed;
  }
  Result<SessionPage> list_unfinished(const SessionQuery& query);
  // The sessions that a query is about (record_page.cc).
  Result<std::vector<SessionKey>> keys_of(const RecordQuery& query);
  Result<RecordPage> read_page(const RecordQuery& query, const std::optional<RecordCursor>& behind,
                               bool& moved);
  using Recent = std::list<std::shared_ptr<SessionFiles>>;

  JsonDirectory(std::unique_ptr<FileSystem> owned, FileSystem& files, Path directory,
                const JsonStoreOptions& options);

  Result<void> prepare();
  std::shared_ptr<SessionFiles> files_of(const SessionKey& key);
  // Reads every session once, so that the index knows them all.
  Result<void> ensure_indexed();
  // Whose directory this is; none if that cannot be read.
  std::optional<SessionKey> owner_of(const std::string& name);
  // The same where session.json is damaged: the name of a directory is made from its key, so a key that leads
  // to the name is the right one, whatever happened to the rest of the file that tells it.
  std::optional<SessionKey> owner_of_damaged(const std::string& name);
  // Puts the damaged sessions that are this owner's into the index, if only their names tell it.
  void claim_damaged(const TenantId& tenant, const OwnerId& owner);
  Result<std::vector<std::string>> session_names();
  SessionFiles::Changed indexing();
  void distrust_index();
  void note_mended(Problem problem);

  std::unique_ptr<FileSystem> owned_;
  FileSystem& files_;
  const Path directory_;
  const Path sessions_;
  const std::size_t capacity_;
  Log log_;
  RoomWatch room_;
  std::unique_ptr<FileLock> lock_;
  WriteHealth health_;
  JsonStoreContext context_;
  SessionIndex index_;

  Mutex index_mutex_;
  bool is_indexed_ TERTULIA_GUARDED_BY(index_mutex_) = false;
  // Directories of damaged sessions whose owner is not known.
  std::vector<std::string> unclaimed_ TERTULIA_GUARDED_BY(index_mutex_);

  Mutex cache_mutex_;
  // The most recently used first.
  Recent recent_ TERTULIA_GUARDED_BY(cache_mutex_);
  std::map<SessionKey, Recent::iterator> cache_ TERTULIA_GUARDED_BY(cache_mutex_);

  Mutex mended_mutex_;
  std::vector<Problem> mended_ TERTULIA_GUARDED_BY(mended_mutex_);
};

}  // namespace tertulia
