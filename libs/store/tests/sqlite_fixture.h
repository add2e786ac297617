// SQLite stores for tests: on a simulated disk, and in a directory of their own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia {

// A directory that is gone at the end of the test.
class TempDirectory {
 public:
  TempDirectory() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("tertulia-sqlite-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const Path& path() const { return path_; }

 private:
  Path path_;
};

inline std::unique_ptr<SqliteStore> open_store(Env& env, const Path& path, SqliteOptions options = {}) {
  options.readers = 2;
  return open_sqlite_store(env, path, std::move(options)).value();
}

class SimSqlite final : public StoreFixture {
 public:
  SimSqlite() : env_(1), store_(open_store(env_, "/data")) {}
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_store(env_, "/data");
  }
  bool durable() const override { return true; }

 private:
  SimEnv env_;
  std::unique_ptr<SqliteStore> store_;
};

// A turn whose id can be found in the bytes of its row. Texts cannot, since they are packed.
inline constexpr std::string_view kCanaryId = "canary-in-turnid";
inline Turn canary_turn(std::uint64_t first, const std::string& question, const std::string& answer) {
  std::array<std::uint8_t, 16> id{};
  std::copy(kCanaryId.begin(), kCanaryId.end(), id.begin());
  const Turn turn = StoreTrial::turn(first, question, answer);
  return Turn::from_messages(TurnId(Uuid(id)), {turn.messages().begin(), turn.messages().end()}).value();
}

inline Secret test_key(char fill = 'k') { return Secret(std::string(32, fill)); }

class EncryptedSqlite final : public StoreFixture {
 public:
  EncryptedSqlite() : env_(1) { open(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    open();
  }
  bool durable() const override { return true; }

 private:
  void open() {
    SqliteOptions options;
    options.master_key = test_key();
    store_ = open_store(env_, "/data", std::move(options));
  }

  SimEnv env_;
  std::unique_ptr<SqliteStore> store_;
};

class RealSqlite final : public StoreFixture {
 public:
  RealSqlite() : store_(open_store(real_env(), directory_.path() / "data")) {}
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_store(real_env(), directory_.path() / "data");
  }
  bool durable() const override { return true; }

 private:
  TempDirectory directory_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace tertulia
