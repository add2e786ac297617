// A directory, and what lies below it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

// A file descriptor, closed by its destructor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct DirectoryEntry {
  std::string name;
  enum class Kind { kFile, kDirectory, kLink, kOther } kind = Kind::kOther;
};

// Paths are relative, of at most 4,096 bytes, in UTF-8, without "..", empty or control characters; "" and "."
// are the root itself. kBadArguments otherwise.
// Errors: kNotFound; kNotPermitted for a link, for what is not of the wanted kind, and as the system says;
// kStorageFull, kStorageIo.
//
// Concurrency: any thread.
class FileRoot {
 public:
  static Result<std::shared_ptr<const FileRoot>> open(const Path& root);

  Result<Fd> open_file(std::string_view path) const;
  Result<Fd> open_directory(std::string_view path) const;
  // The same, made when absent, with its parents.
  Result<Fd> make_directory(std::string_view path) const;
  // Sorted by name, at most `limit`.
  Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit) const;
  // Up to `size` bytes from `offset`.
  Result<std::string> read(std::string_view path, std::uint64_t offset, std::size_t size) const;
  Result<struct stat> status(std::string_view path) const;
  // In one step and durable. kAlreadyExists if it is to be new and is not.
  Result<void> write(std::string_view path, std::string_view content, bool must_be_new) const;

 private:
  explicit FileRoot(Fd root) : root_(std::move(root)) {}
  Result<Fd> open_beneath(std::string_view path, int flags) const;

  Fd root_;
};

// What errno means for `path`.
Error file_error(int problem, std::string_view doing, std::string_view path);

}  // namespace tertulia
