#include "tertulia/conversation/thread_binding.h"

#include <algorithm>

namespace tertulia {

ThreadBinding forked(const ThreadBinding& binding, const BranchId& branch, std::uint64_t kept) {
  ThreadBinding copy = binding;
  copy.branch = branch;
  // A thread the provider keeps has gone on with the parent, so the fork cannot continue it: a new thread,
  // which has seen nothing, takes its place.
  copy.applied = binding.is_local() ? std::min(binding.applied, kept) : 0;
  copy.service_thread.clear();
  return copy;
}

}  // namespace tertulia
