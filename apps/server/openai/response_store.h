// Responses as they are kept: what was asked before its turn is told of, what came of it when it has ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/thread_annotations.h"

#include "core/call.h"
#include "openai/response_plan.h"
#include "openai/response_translator.h"

namespace tertulia::server {

struct KeptResponse {
  std::shared_ptr<const ResponsePlan> plan;
  // None while it runs.
  std::optional<EndedResponse> ended;
};

// kNotFound {param}: there is none of this id, or it is somebody else's. Blocks.
Result<KeptResponse> load_response(const Call& call, std::string_view id, std::string_view param);

void keep_plan(Services& services, const ResponsePlan& plan, Done<void> done);
// Forgets a response; with the session that was made for it, if nothing else was said there. Blocks.
Result<void> forget_response(const Call& call, const ResponsePlan& plan);

// The state of a response whose turn has ended like this.
EndedResponse ended_response(const ResponsePlan& plan, const Result<TurnOutcome>& outcome,
                             ResponseState state, Time now);

// The end of a response, for those who wait for it. Concurrency: any thread.
class ResponseEnd {
 public:
  void set(const EndedResponse& ended);
  void when_there(std::function<void(EndedResponse)> told);

 private:
  Mutex mutex_;
  std::optional<EndedResponse> ended_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::function<void(EndedResponse)>> waiting_ TERTULIA_GUARDED_BY(mutex_);
};

// Keeps what came of the turn, and what it handed back, before anybody is told. For a translator that reads
// the turn whether or not a client does.
ResponseTranslator::Settle settle_in_store(Services& services, std::shared_ptr<const ResponsePlan> plan);
// Waits until another one has settled it.
ResponseTranslator::Settle settle_after(std::shared_ptr<ResponseEnd> end);
// Keeps nothing.
ResponseTranslator::Settle settle_nowhere(Services& services, std::shared_ptr<const ResponsePlan> plan);

// The events of a turn that was begun before: one that runs, one that a crash left (it goes on), or one that
// is over. Blocks for what the store says.
Result<RunPtr> attach(const Call& call, const ResponsePlan& plan);

// Gives how it ended as soon as it has, reading the turn again if the server was killed before that was kept.
void wait_for_end(const CallPtr& call, KeptResponse kept, Done<EndedResponse> done);

bool is_running(const Call& call, const ResponsePlan& plan);

}  // namespace tertulia::server
