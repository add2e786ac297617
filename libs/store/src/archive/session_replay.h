// Makes the commits of a session again, so that it comes out with the revision, the branches, the messages
// and the records that it had.
//
// What is known of a session that was exported is its revision, its fields and branches as they are now, the
// revision of each turn, and its records. The commits are made again one for each revision:
//
//   revision of turns   the turns, behind the forks that have become possible; the last turn of a branch
//   brings
//                       the branch's fields as well
//   any other revision  the session's fields
//   the first           the session, marked as incomplete
//   the last            the session as it is
//
// A branch is made as early as its fork point is there, in the order in which the branches were made: never
// later than in the original, so every turn finds its branch. Records are notes before the last commit,
// except for those of branches that come with it. So a session without the mark is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/commit.h"

#include "archive_forms.h"
#include "replay_sink.h"

namespace tertulia {

// Revisions without a turn, and numbers that a stream has dropped, have to be made again one by one: up to
// here.
inline constexpr std::uint64_t kMaxReplayGap = 1U << 20U;

class SessionReplay {
 public:
  // `branches` in the order in which they were made, with their message counts.
  SessionReplay(ReplaySink& sink, SessionKey key, Session session, std::vector<BranchHead> branches);

  // Branches are unique, their parents stand before them, and the revision is not out of all proportion.
  Result<void> begin();
  // By revision, then by branch.
  Result<void> add(ArchivedTurn turn);
  // After the last turn. The records of a stream by number.
  Result<void> add(Record record);
  // The last commit. Everything that was announced must have come.
  Result<void> finish();

 private:
  struct Progress {
    std::uint64_t messages = 0;
    bool made = false;
  };

  // Commits every revision before `revision`.
  Result<void> advance_to(std::uint64_t revision);
  Result<void> close_turns();
  Result<void> make_branches();
  bool can_make(const BranchHead& head) const;
  Result<void> send_commit();
  Result<void> send_note();
  Result<void> skip_numbers(const StreamId& stream, std::uint64_t from, std::uint64_t to);
  template <class Change>
  Result<void> add_change(const StreamId& stream, Change change, std::size_t size);

  std::uint64_t last_revision() const { return tertulia::number(session_.revision); }
  bool at_last() const { return revision_ == last_revision(); }

  ReplaySink& sink_;
  SessionKey key_;
  Session session_;
  std::vector<BranchHead> branches_;
  std::unordered_map<BranchId, std::size_t> index_;
  std::vector<Progress> progress_;
  std::size_t made_ = 0;  // how many branches there are so far
  std::size_t made_before_last_ = 0;

  std::uint64_t revision_ = 1;   // that of the commit under way
  std::size_t last_branch_ = 0;  // of the last turn in it
  Commit commit_;
  std::size_t commit_bytes_ = 0;
  bool has_turns_ = false;
  bool sent_last_ = false;
  Note note_;
  std::size_t note_bytes_ = 0;
  std::map<StreamId, std::uint64_t> newest_;
  bool in_records_ = false;
};

}  // namespace tertulia
