// Files of the operating system, by POSIX calls.
#include "real_file_system.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tertulia {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
// One call moves at most this much (Linux stops a little below 2 GiB by itself).
constexpr std::size_t kLargestTransfer = 1U << 30U;
constexpr std::size_t kLockFileBytes = 4096;

ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    case EACCES:
    case EBADF:
    case EINVAL:
    case EPERM:
    case EROFS:
    case EISDIR:
    case ENOTEMPTY:
    case ELOOP:
    case ENAMETOOLONG:
    case EXDEV:
    case ETXTBSY:
      return ErrorCode::kNotPermitted;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::kStorageFull;
    default:
      return ErrorCode::kStorageIo;
  }
}

Error system_error(std::string_view verb, const Path& path, int number) {
  return Error(code_of(number),
               std::string(verb) + " '" + path.string() + "': " + std::generic_category().message(number))
      .with("errno", std::int64_t{number});
}

// Repeats a call that a signal interrupted.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  // Not repeated after EINTR: Linux has closed it by then, and the number may be somebody else's.
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

Descriptor open_descriptor(const Path& path, int flags) {
  return Descriptor(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, kFileMode); }));
}

class RealFile final : public File {
 public:
  RealFile(Descriptor descriptor, Path path) : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Result<std::string> read_at(std::uint64_t offset, std::size_t size) override {
    struct stat status{};
    if (::fstat(descriptor_.number(), &status) != 0) return system_error("read", path_, errno);
    // Bounds the memory by what is there. A generated file (/proc) says 0: then the caller's size counts.
    const auto length = static_cast<std::uint64_t>(status.st_size);
    if (length > 0) size = std::min<std::uint64_t>(size, length > offset ? length - offset : 0);
    std::string data(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const std::size_t part = std::min(size - done, kLargestTransfer);
      const ssize_t got = retried([&] {
        return ::pread(descriptor_.number(), data.data() + done, part, static_cast<off_t>(offset + done));
      });
      if (got < 0) return system_error("read", path_, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    data.resize(done);
    return data;
  }

  Result<void> write_at(std::uint64_t offset, std::string_view data) override {
    std::size_t done = 0;
    while (done < data.size()) {
      const std::size_t part = std::min(data.size() - done, kLargestTransfer);
      const ssize_t put = retried([&] {
        return ::pwrite(descriptor_.number(), data.data() + done, part, static_cast<off_t>(offset + done));
      });
      if (put < 0) return system_error("write", path_, errno);
      done += static_cast<std::size_t>(put);
      // A full disk, a quota or a file-size limit shows itself first as a short write without an error.
      if (static_cast<std::size_t>(put) < part) {
        return Error(ErrorCode::kStorageFull, "write '" + path_.string() + "': only " + std::to_string(done) +
                                                  " of " + std::to_string(data.size()) +
                                                  " bytes fitted; free some space or raise the limit")
            .with("written", static_cast<std::int64_t>(done));
      }
    }
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    if (retried([&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(size)); }) != 0) {
      return system_error("truncate", path_, errno);
    }
    return {};
  }

  // fdatasync also flushes the size when it has changed; what it leaves out are times and owners.
  // Not repeated after any failure: the kernel may have dropped the pages it could not write.
  Result<void> sync() override {
    if (::fdatasync(descriptor_.number()) != 0) return system_error("sync", path_, errno);
    return {};
  }

  Result<std::uint64_t> size() override {
    struct stat status{};
    if (::fstat(descriptor_.number(), &status) != 0) return system_error("inspect", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  Descriptor descriptor_;
  Path path_;
};

// Names this start of this machine, so that a pid in a lock can be told from one of another machine that
// shares the directory. Empty where the system does not say.
std::string boot_id() {
  Descriptor file = open_descriptor("/proc/sys/kernel/random/boot_id", O_RDONLY);
  std::string text(64, '\0');
  const ssize_t got = file.is_open() ? ::read(file.number(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// A lock file holds "<pid> <boot id>\n<note>". The kernel's flock decides who has the lock, and frees it when
// the holder dies; the text only tells whoever is refused.
class RealLock final : public FileLock {
 public:
  RealLock(Descriptor descriptor, Descriptor directory)
      : descriptor_(std::move(descriptor)), directory_(std::move(directory)) {}
  // The file stays: removing it would let two processes lock two files of one name.
  ~RealLock() override { (void)::ftruncate(descriptor_.number(), 0); }

 private:
  Descriptor descriptor_;
  Descriptor directory_;
};

Error locked_error(const Path& path, const Descriptor& descriptor) {
  std::string text(kLockFileBytes, '\0');
  const ssize_t got = ::pread(descriptor.number(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  const std::string head = text.substr(0, line_end);
  const std::string note = line_end < text.size() ? text.substr(line_end + 1) : "";
  long pid = 0;
  const auto [rest, problem] = std::from_chars(head.data(), head.data() + head.size(), pid);
  if (problem != std::errc()) {
    return Error(ErrorCode::kLocked, "'" + path.string() + "' is locked by another process")
        .with("note", note);
  }
  const std::string_view boot = std::string_view(rest, head.data() + head.size());
  const bool here = boot.empty() || boot.substr(1) == boot_id();
  return Error(ErrorCode::kLocked, "'" + path.string() + "' is locked by process " + std::to_string(pid) +
                                       (here ? "" : " of another machine") +
                                       (note.empty() ? "" : " (" + note + ")") + "; stop it first")
      .with("note", note)
      .with("pid", std::int64_t{pid});
}

// False if the file was removed or replaced between opening and locking it.
bool still_there(const Path& path, const Descriptor& descriptor) {
  struct stat named{};
  struct stat opened{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor.number(), &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

// Locks the directory that the lock file stands in: somebody may remove the file beside a process that lives,
// but what is locked in truth is where everything is written. Not open where directories cannot be locked
// (network file systems): the file alone has to do there.
Result<Descriptor> lock_directory(const Path& path) {
  const Path directory = path.has_parent_path() ? path.parent_path() : Path(".");
  while (true) {
    Descriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
    if (!descriptor.is_open()) return system_error("lock", directory, errno);
    if (retried([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return Descriptor();
      const Descriptor file = open_descriptor(path, O_RDONLY);
      return locked_error(path, file);
    }
    if (still_there(directory, descriptor)) return descriptor;
  }
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    int flags = O_NONBLOCK;  // without effect on a regular file; a pipe must not make us wait
    switch (mode) {
      case OpenMode::kRead:
        flags |= O_RDONLY;
        break;
      case OpenMode::kReadWrite:
        flags |= O_RDWR;
        break;
      case OpenMode::kCreate:
        flags |= O_RDWR | O_CREAT;
        break;
      case OpenMode::kCreateNew:
        flags |= O_RDWR | O_CREAT | O_EXCL;
        break;
    }
    Descriptor descriptor = open_descriptor(path, flags);
    if (!descriptor.is_open()) return system_error("open", path, errno);
    struct stat status{};
    if (::fstat(descriptor.number(), &status) != 0) return system_error("open", path, errno);
    if (!S_ISREG(status.st_mode)) {
      return Error(ErrorCode::kNotPermitted, "open '" + path.string() + "': it is not a regular file");
    }
    return std::unique_ptr<File>(std::make_unique<RealFile>(std::move(descriptor), path));
  }

  Result<FileInfo> info(const Path& path) override {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return system_error("inspect", path, errno);
    return FileInfo{.size = static_cast<std::uint64_t>(status.st_size),
                    .is_directory = S_ISDIR(status.st_mode),
                    .world_readable = (status.st_mode & S_IROTH) != 0};
  }

  Result<std::vector<std::string>> list(const Path& directory) override {
    std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
    if (!open) return system_error("list", directory, errno);
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = &entry->d_name[0];
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return system_error("list", directory, errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> make_directory(const Path& path) override {
    Path made;
    for (const Path& part : path) {
      made /= part;
      if (::mkdir(made.c_str(), kDirectoryMode) == 0) continue;
      const int number = errno;
      struct stat status{};
      const bool is_there = ::stat(made.c_str(), &status) == 0;
      if (is_there && S_ISDIR(status.st_mode)) continue;
      return system_error("make directory", made, is_there ? EEXIST : number);
    }
    return {};
  }

  Result<void> rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      return system_error("rename", from, errno).in("to '" + to.string() + "'");
    }
    return {};
  }

  Result<void> remove(const Path& path) override {
    if (std::remove(path.c_str()) != 0)
      return system_error("remove", path, errno == EEXIST ? ENOTEMPTY : errno);
    return {};
  }

  Result<void> sync_directory(const Path& directory) override {
    Descriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
    if (!descriptor.is_open()) return system_error("sync directory", directory, errno);
    if (::fsync(descriptor.number()) != 0) return system_error("sync directory", directory, errno);
    return {};
  }

  Result<std::unique_ptr<FileLock>> lock(const Path& path, std::string_view note, LockReach reach) override {
    while (true) {
      Descriptor directory;
      if (reach == LockReach::kDirectory) {
        TERTULIA_TRY_AS(directory, lock_directory(path));
      }
      Descriptor descriptor = open_descriptor(path, O_RDWR | O_CREAT);
      if (!descriptor.is_open()) return system_error("lock", path, errno);
      if (retried([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
        if (errno == EWOULDBLOCK) return locked_error(path, descriptor);
        return system_error("lock", path, errno);
      }
      if (!still_there(path, descriptor)) continue;
      std::string text = std::to_string(::getpid()) + " " + boot_id() + "\n" + std::string(note);
      text.resize(std::min(text.size(), kLockFileBytes));
      // A full disk must not keep anybody from opening their data, so a note that does not fit is no failure.
      if (::ftruncate(descriptor.number(), 0) == 0) {
        (void)!::pwrite(descriptor.number(), text.data(), text.size(), 0);
      }
      return std::unique_ptr<FileLock>(
          std::make_unique<RealLock>(std::move(descriptor), std::move(directory)));
    }
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_real_file_system() { return std::make_unique<RealFileSystem>(); }

}  // namespace tertulia
