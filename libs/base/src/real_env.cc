#include <cerrno>
#include <chrono>

#include <sys/random.h>

#include "tertulia/base/check.h"
#include "tertulia/base/env.h"

#include "real_file_system.h"

namespace tertulia {
namespace {

class RealClock final : public Clock {
 public:
  Time now() override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  Instant instant() override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now());
  }
};

class RealRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override {
    while (!out.empty()) {
      const ssize_t got = getrandom(out.data(), out.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      // There is nothing to fall back on: an id or a key that can be guessed is worse than no program.
      TERTULIA_CHECK(got > 0, "the operating system gave no random bytes");
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }
};

class RealEnv final : public Env {
 public:
  FileSystem& files() override { return *files_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }

 private:
  std::unique_ptr<FileSystem> files_ = make_real_file_system();
  RealClock clock_;
  RealRandom random_;
};

}  // namespace

Env& real_env() {
  // Never destroyed, so that it may be used while other static objects end.
  static Env& env = *new RealEnv;
  return env;
}

}  // namespace tertulia
