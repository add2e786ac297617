// A ServiceThread: a model that goes on in the thread its service keeps, and remembers where that is.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// For one turn. Every request of the turn goes on from the thread as it was before the turn, and holds what
// the turn has brought so far: services whose threads have an id for each state, as the Responses endpoint
// has, are so given each message once, however many rounds of tools there are and wherever the process dies.
// Where the thread keeps its id as it grows, the model sends only what follows the last calls of the turn.
//
// Concurrency: any thread.
class ServiceThread final : public LanguageModel, public std::enable_shared_from_this<ServiceThread> {
 public:
  // `thread` is empty if there is none yet: then the service is given the whole view.
  ServiceThread(std::shared_ptr<LanguageModel> model, std::string thread)
      : model_(std::move(model)), before_(std::move(thread)) {}

  ModelInfo info(std::string_view model) const override { return model_->info(model); }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    if (!before_.empty()) {
      call.request.view = call.request.view.last_turns(0);
      call.request.service_thread = before_;
    }
    model_->respond(std::move(call),
                    [self = shared_from_this(), done = std::move(done)](Result<ModelResponse> response) {
                      if (response) self->saw(response->service_thread);
                      done(std::move(response));
                    });
  }

  // Where the conversation is kept after the turn. Empty if that is not known: the turn was had without
  // asking the service, because an earlier process has asked it.
  std::string thread() const {
    MutexLock lock(mutex_);
    return after_;
  }

 private:
  void saw(const std::string& thread) {
    MutexLock lock(mutex_);
    after_ = thread;
  }

  const std::shared_ptr<LanguageModel> model_;
  const std::string before_;
  mutable Mutex mutex_;
  std::string after_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
