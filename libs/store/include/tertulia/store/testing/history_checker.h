// The history checker: whether what concurrent writers saw of the revisions can be explained by doing their
// calls one after the other (linearizability), each at some moment between its beginning and its end.
//
// The search is that of Wing and Gong with Lowe's memory of states that were seen; each session is checked by
// itself, which is allowed because linearizability is composed of that of its parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/revision.h"

namespace tertulia {

// A call on a session, and how it ended.
struct RevisionCall {
  enum class Kind : std::uint8_t {
    kAppended,  // a commit that saw `expected` made `result`
    kConflict,  // a commit that saw `expected` was refused: the session was at `result`
    kUnknown,   // a commit that saw `expected` got no answer: it took effect at some moment, or never
    kRead,      // a reader saw `result`
  };

  std::string session;
  Kind kind = Kind::kRead;
  Revision expected{};
  Revision result{};
  // Moments of one counter for the whole history: an end below a beginning means that the one was over before
  // the other began. The end of kUnknown does not count.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
};

// Ok if there is an order; kDamaged with a sentence that names a session and a call that no order explains.
// Every session is at revision `start` in the beginning.
Result<void> check_history(std::span<const RevisionCall> calls, Revision start = Revision{1});

// Gathers a history from several threads.
//
// Concurrency: any thread.
class HistoryRecorder {
 public:
  // The next moment: take one before a call and give it to add() after it.
  std::uint64_t now();
  // `call` without its times.
  void add(RevisionCall call, std::uint64_t began);

  std::vector<RevisionCall> calls() const;

 private:
  mutable Mutex mutex_;
  std::uint64_t moment_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::vector<RevisionCall> calls_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
