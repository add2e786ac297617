// Asking a model that may be somebody else's code.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "tertulia/model/language_model.h"

namespace tertulia {

// Inside of a catch block: what a model or an embedder has thrown instead of answering.
inline Error model_threw() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::kModelUnavailable, std::string("the model threw an exception: ") + thrown.what());
  } catch (...) {
    return Error(ErrorCode::kModelUnavailable, "the model threw something that is no exception");
  }
}

// Has the model answer. What it throws is its answer, also if it has given one already: first_answer() is for
// those who must not be told twice.
inline void ask_model(LanguageModel& model, ModelCall call, const Done<ModelResponse>& done) {
  try {
    model.respond(std::move(call), done);
  } catch (...) {
    done(model_threw());
  }
}

// Hands on what it is called with first, from whichever thread.
template <class T>
Done<T> first_answer(Done<T> done) {
  return [called = std::make_shared<std::atomic<bool>>(false), done = std::move(done)](Result<T> result) {
    if (!called->exchange(true)) done(std::move(result));
  };
}

}  // namespace tertulia
