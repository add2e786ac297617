// talk_runner [--store memory|json|sqlite|all] FILE…: runs stories, each in a world of its own. A folder
// stands for the stories in it.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "tertulia/base/log.h"

#include "world.h"

namespace tertulia {
namespace {

// A story that stands still has failed. Generous: sanitizers and busy machines are slow.
constexpr auto kLongest = std::chrono::seconds(20);

// Ends the program when a story does not.
class Watchdog {
 public:
  Watchdog(const std::string& file, const std::string& store, const World& world)
      : thread_([this, file, store, &world] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (ended_.wait_for(lock, kLongest, [this] { return done_; })) return;
          std::fprintf(stderr, "%s:%zu: [%s] stands still\n", file.c_str(), world.line(), store.c_str());
          std::_Exit(1);
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    ended_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

bool tell(const std::filesystem::path& file, const std::string& store,
          const std::filesystem::path& directory) {
  try {
    World world(store, directory);
    const Watchdog watchdog(file.string(), store, world);
    try {
      world.run(read_script(file));
      return true;
    } catch (const StoryFailure& failure) {
      const std::size_t line = failure.line == 0 ? world.line() : failure.line;
      std::fprintf(stderr, "%s:%zu: [%s] %s\n", file.c_str(), line, store.c_str(), failure.what());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s:%zu: [%s] %s\n", file.c_str(), world.line(), store.c_str(), error.what());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: [%s] %s\n", file.c_str(), store.c_str(), error.what());
  }
  return false;
}

std::vector<std::filesystem::path> stories_in(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    if (entry.path().extension() == ".talk") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> stores{"memory"};
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--store" && i + 1 < arguments.size()) {
      stores = {arguments[++i]};
      if (stores[0] == "all") stores = {"memory", "json", "sqlite"};
      continue;
    }
    for (std::filesystem::path& file : stories_in(arguments[i])) files.push_back(std::move(file));
  }
  if (files.empty()) {
    std::fputs("usage: talk_runner [--store memory|json|sqlite|all] FILE…\n", stderr);
    return 2;
  }
  // Those who die in stories complain.
  Log().set_level(LogLevel::kError);
  // Simulated deaths need no disk.
  const std::filesystem::path memory = "/dev/shm";
  const auto home = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
  std::string folder = (home / "tertulia-talk-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  std::size_t failed = 0;
  std::size_t told = 0;
  for (const std::filesystem::path& file : files) {
    for (const std::string& store : stores) {
      const std::filesystem::path directory = std::filesystem::path(folder) / std::to_string(++told);
      if (!tell(file, store, directory)) ++failed;
      std::filesystem::remove_all(directory);
    }
  }
  std::filesystem::remove_all(folder);
  std::printf("%zu stories, %zu of them failed\n", told, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { return tertulia::run({argv + 1, argv + argc}); }
