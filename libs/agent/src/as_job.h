// Work of a turn that blocks, done where it may.
#pragma once

#include "tertulia/base/done.h"

#include "engine_core.h"

namespace tertulia {

// What `work` gives, done as a job of the crew. It may call code that is not ours: what that throws must not
// reach the crew, and is the error of `who`.
template <class T, class Work>
Task<Result<T>> as_job(EngineCore& engine, std::string_view who, Work work) {
  const auto caught = [&]() -> Result<T> {
    try {
      return work();
    } catch (...) {
      return error_thrown(who);
    }
  };
  co_return co_await await<T>([&](Done<T> done) {
    const Result<void> posted = engine.crew->post([&caught, done] { done(caught()); });
    if (!posted) done(posted.error());
  });
}

}  // namespace tertulia
