// JSON stores for tests: on a simulated disk, and in a directory of their own.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/testing/store_trial.h"

#include "json/json_directory.h"

namespace tertulia::trial {

// A directory that is gone at the end of the test.
class JsonTempDirectory {
 public:
  JsonTempDirectory() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("tertulia-json-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~JsonTempDirectory() { std::filesystem::remove_all(path_); }
  JsonTempDirectory(const JsonTempDirectory&) = delete;
  JsonTempDirectory& operator=(const JsonTempDirectory&) = delete;

  const Path& path() const { return path_; }

 private:
  Path path_;
};

// Keeps what tests provoke out of their output.
inline Log silent_log() {
  Log log(make_log_sink(stderr, LogFormat::kHuman), real_env().clock(), LogLevel::kOff);
  return log;
}
inline JsonStoreOptions quiet_options() {
  JsonStoreOptions options;
  options.log = silent_log();
  return options;
}

class SimJson final : public StoreFixture {
 public:
  SimJson() : env_(1) { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_json_store(env_, "/data", quiet_options()).value();
  }
  bool durable() const override { return true; }

 private:
  SimEnv env_;
  std::unique_ptr<Store> store_;
};

// With room for one session in memory: every touch reads the files.
class ForgetfulJson final : public StoreFixture {
 public:
  ForgetfulJson() : env_(1) { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    JsonStoreOptions options = quiet_options();
    options.sessions_in_memory = 1;
    store_ = open_json_store(env_, "/data", options).value();
  }
  bool durable() const override { return true; }

 private:
  SimEnv env_;
  std::unique_ptr<Store> store_;
};

class RealJson final : public StoreFixture {
 public:
  RealJson() { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_json_store(real_env(), directory_.path() / "data", quiet_options()).value();
  }
  bool durable() const override { return true; }

 private:
  JsonTempDirectory directory_;
  std::unique_ptr<Store> store_;
};

// Every file below `path`, in order.
inline std::vector<Path> files_below(FileSystem& files, const Path& path) {
  std::vector<Path> found;
  for (const std::string& name : files.list(path).value()) {
    const Path inside = path / name;
    if (!files.info(inside).value().is_directory) {
      found.push_back(inside);
      continue;
    }
    for (Path& file : files_below(files, inside)) found.push_back(std::move(file));
  }
  return found;
}

// Puts these bytes into the file, whatever was there.
inline void overwrite(FileSystem& files, const Path& path, std::string_view bytes) {
  const std::unique_ptr<File> file = files.open(path, OpenMode::kCreate).value();
  file->truncate(0).value();
  file->write_at(0, bytes).value();
  file->sync().value();
  files.sync_directory(path.parent_path()).value();
}

}  // namespace tertulia::trial
