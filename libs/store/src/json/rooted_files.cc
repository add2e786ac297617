// Every path is resolved by openat2, which refuses links and ways out; what it gives is then used through
// /proc/self/fd, so that nobody can exchange a directory between the check and the use.
#include "rooted_files.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tertulia {
namespace {

class Handle {
 public:
  explicit Handle(int number) : number_(number) {}
  Handle(Handle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Handle() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  Path path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

Error resolve_error(const Path& path, int number) {
  const std::string where = "'" + path.string() + "'";
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Error(ErrorCode::kNotFound, where + ": " + std::generic_category().message(number));
    case ELOOP:
    case EXDEV:
      return Error(ErrorCode::kNotPermitted, where + " is a link or leads out of the store; remove it");
    case EACCES:
    case EPERM:
      return Error(ErrorCode::kNotPermitted, where + ": " + std::generic_category().message(number));
    default:
      return Error(ErrorCode::kStorageIo, where + ": " + std::generic_category().message(number));
  }
}

// The same error, naming the path that was asked for.
Error named(Error error, const Path& path) {
  Error renamed(error.code(), "'" + path.string() + "': " + error.message());
  for (const ErrorFact& fact : error.facts()) renamed = std::move(renamed).with(fact.name, fact.value);
  return renamed;
}

class RootedFiles final : public FileSystem {
 public:
  RootedFiles(FileSystem& files, Path root, Handle handle)
      : files_(files), root_(std::move(root)), handle_(std::move(handle)) {}

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    while (true) {
      if (mode != OpenMode::kCreateNew) {
        Result<Handle> there = resolve(path, 0);
        if (there) {
          return or_named(files_.open(there->path(), mode == OpenMode::kCreate ? OpenMode::kReadWrite : mode),
                          path);
        }
        if (mode != OpenMode::kCreate || there.error().code() != ErrorCode::kNotFound) {
          return std::move(there).error();
        }
      }
      TERTULIA_TRY_AS(const Handle parent, resolve(path.parent_path(), O_DIRECTORY));
      Result<std::unique_ptr<File>> made = files_.open(parent.path() / path.filename(), OpenMode::kCreateNew);
      // Somebody else was faster.
      if (!made && mode == OpenMode::kCreate && made.error().code() == ErrorCode::kAlreadyExists) continue;
      return or_named(std::move(made), path);
    }
  }

  Result<FileInfo> info(const Path& path) override {
    TERTULIA_TRY_AS(const Handle there, resolve(path, 0));
    return or_named(files_.info(there.path()), path);
  }

  Result<std::vector<std::string>> list(const Path& directory) override {
    TERTULIA_TRY_AS(const Handle there, resolve(directory, O_DIRECTORY));
    return or_named(files_.list(there.path()), directory);
  }

  Result<void> make_directory(const Path& path) override {
    Result<Handle> there = resolve(path, O_DIRECTORY);
    if (there) return {};
    if (there.error().code() != ErrorCode::kNotFound || path == root_) return std::move(there).error();
    TERTULIA_TRY(make_directory(path.parent_path()));
    TERTULIA_TRY_AS(const Handle parent, resolve(path.parent_path(), O_DIRECTORY));
    return or_named(files_.make_directory(parent.path() / path.filename()), path);
  }

  Result<void> rename(const Path& from, const Path& to) override {
    TERTULIA_TRY_AS(const Handle source, resolve(from.parent_path(), O_DIRECTORY));
    TERTULIA_TRY_AS(const Handle target, resolve(to.parent_path(), O_DIRECTORY));
    return or_named(files_.rename(source.path() / from.filename(), target.path() / to.filename()), from);
  }

  Result<void> remove(const Path& path) override {
    TERTULIA_TRY_AS(const Handle parent, resolve(path.parent_path(), O_DIRECTORY));
    return or_named(files_.remove(parent.path() / path.filename()), path);
  }

  Result<void> sync_directory(const Path& directory) override {
    TERTULIA_TRY_AS(const Handle there, resolve(directory, O_DIRECTORY));
    return or_named(files_.sync_directory(there.path()), directory);
  }

  Result<std::unique_ptr<FileLock>> lock(const Path& path, std::string_view note, LockReach reach) override {
    Result<Handle> there = resolve(path, 0);
    if (!there && there.error().code() != ErrorCode::kNotFound) return std::move(there).error();
    // By its own name, which stands in the message to whoever is refused.
    return files_.lock(path, note, reach);
  }

 private:
  template <class T>
  static Result<T> or_named(Result<T> result, const Path& path) {
    if (!result) return named(std::move(result).error(), path);
    return result;
  }

  Result<Handle> resolve(const Path& path, std::uint64_t flags) const {
    // By text: lexically_relative would accept "..", which the kernel is to refuse.
    const std::string& text = path.native();
    const std::string& root = root_.native();
    if (!text.starts_with(root) || (text.size() > root.size() && text[root.size()] != '/')) {
      return Error(ErrorCode::kNotPermitted, "'" + text + "' does not stand in the store");
    }
    std::string_view below = std::string_view(text).substr(root.size());
    while (below.starts_with('/')) below.remove_prefix(1);
    const std::string name = below.empty() ? "." : std::string(below);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC | flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    long number = -1;
    do {
      number = ::syscall(SYS_openat2, handle_.number(), name.c_str(), &how, sizeof(how));
    } while (number < 0 && (errno == EINTR || errno == EAGAIN));
    if (number < 0) return resolve_error(path, errno);
    return Handle(static_cast<int>(number));
  }

  FileSystem& files_;
  Path root_;
  Handle handle_;
};

}  // namespace

Result<std::unique_ptr<FileSystem>> make_rooted_files(FileSystem& files, const Path& root) {
  Handle handle(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (handle.number() < 0) return resolve_error(root, errno);
  return std::unique_ptr<FileSystem>(std::make_unique<RootedFiles>(files, root, std::move(handle)));
}

}  // namespace tertulia
