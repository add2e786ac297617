#include "file_root.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

constexpr std::size_t kPathBytes = 4'096;
constexpr std::size_t kPathNameBytes = 255;

Error bad_path(std::string_view path, std::string_view why) {
  return {ErrorCode::kBadArguments, "path " + in_quotes(utf8_prefix(path, 100)) + " " + std::string(why)};
}

Result<void> check_path(std::string_view path) {
  if (path.size() > kPathBytes) return bad_path(path, "is longer than 4096 bytes");
  if (!is_utf8(path)) return bad_path(path, "is not UTF-8 text");
  const bool plain = std::ranges::none_of(path, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
  if (!plain) return bad_path(path, "holds a control character");
  if (path.starts_with('/'))
    return bad_path(path, "is absolute; paths are relative to the root of the files");
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name == "..") return bad_path(path, "holds \"..\"; paths may not lead upwards");
    if (name.size() > kPathNameBytes) return bad_path(path, "holds a name of more than 255 bytes");
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return {};
}

Result<void> write_all(int fd, std::string_view content, std::string_view path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return file_error(written == 0 ? ENOSPC : errno, "write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return file_error(errno, "sync", path);
  return {};
}

DirectoryEntry::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return DirectoryEntry::Kind::kFile;
  if (S_ISDIR(mode)) return DirectoryEntry::Kind::kDirectory;
  return S_ISLNK(mode) ? DirectoryEntry::Kind::kLink : DirectoryEntry::Kind::kOther;
}

std::pair<std::string_view, std::string_view> parted(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Error file_error(int problem, std::string_view doing, std::string_view path) {
  const std::string what = "cannot " + std::string(doing) + " " + in_quotes(utf8_prefix(path, 200)) + ": ";
  switch (problem) {
    case ENOENT:
      return {ErrorCode::kNotFound, what + "there is no such file or directory"};
    case ENOTDIR:
      return {ErrorCode::kNotPermitted, what + "it, or what stands before a '/' in it, is not a directory"};
    case EXDEV:
    case ELOOP:
      return {ErrorCode::kNotPermitted, what + "the path leads over a symbolic link or out of the root"};
    case EEXIST:
      return {ErrorCode::kAlreadyExists, what + "it exists already"};
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return {ErrorCode::kStorageFull, what + "there is no room for it"};
    case ENOSYS:
      return {ErrorCode::kNotPermitted, what + "this kernel cannot keep paths below a root; Linux 5.6 can"};
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
      return {ErrorCode::kNotPermitted, what + std::strerror(problem)};
    default:
      return {ErrorCode::kStorageIo, what + std::strerror(problem)};
  }
}

Result<std::shared_ptr<const FileRoot>> FileRoot::open(const Path& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return file_error(errno, "open", root.string());
  std::shared_ptr<const FileRoot> made(new FileRoot(std::move(fd)));
  // Refused here rather than weaker later.
  TERTULIA_TRY(made->open_directory("."));
  return made;
}

Result<Fd> FileRoot::open_beneath(std::string_view path, int flags) const {
  TERTULIA_TRY(check_path(path));
  const std::string terminated(path.empty() ? "." : path);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed meanwhile, and the kernel is not sure.
  for (int attempt = 0; attempt < 100; ++attempt) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, root_.get(), terminated.c_str(), &how, sizeof how)));
    if (fd.is_open()) return fd;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return file_error(errno, "open", path);
}

Result<struct stat> FileRoot::status(std::string_view path) const {
  TERTULIA_TRY_AS(const Fd fd, open_beneath(path, O_PATH | O_NOFOLLOW));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return file_error(errno, "look at", path);
  return status;
}

Result<Fd> FileRoot::open_file(std::string_view path) const {
  // Looked at first: opening a device can have effects, and opening a pipe can wait.
  TERTULIA_TRY_AS(struct stat status, this->status(path));
  const auto refuse = [&] {
    return Error(ErrorCode::kNotPermitted,
                 "cannot open " + in_quotes(utf8_prefix(path, 200)) + ": it is not a regular file");
  };
  if (!S_ISREG(status.st_mode)) return refuse();
  TERTULIA_TRY_AS(Fd fd, open_beneath(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (::fstat(fd.get(), &status) != 0) return file_error(errno, "look at", path);
  if (!S_ISREG(status.st_mode)) return refuse();
  return fd;
}

Result<Fd> FileRoot::open_directory(std::string_view path) const {
  return open_beneath(path, O_RDONLY | O_DIRECTORY);
}

Result<Fd> FileRoot::make_directory(std::string_view path) const {
  TERTULIA_TRY(check_path(path));
  TERTULIA_TRY_AS(Fd directory, open_directory(""));
  for (std::size_t end = 0; end < path.size();) {
    const std::size_t begin = end;
    end = std::min(path.find('/', begin + 1), path.size());
    const std::string_view upto = path.substr(0, end);
    const std::string name(parted(upto).second);
    if (!name.empty() && name != "." && ::mkdirat(directory.get(), name.c_str(), 0777) != 0 &&
        errno != EEXIST)
      return file_error(errno, "make", upto);
    TERTULIA_TRY_AS(directory, open_directory(upto));
  }
  return directory;
}

Result<std::vector<DirectoryEntry>> FileRoot::list(std::string_view path, std::size_t limit) const {
  TERTULIA_TRY_AS(const Fd fd, open_directory(path));
  DIR* const directory = ::fdopendir(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (directory == nullptr) return file_error(errno, "list", path);
  std::vector<DirectoryEntry> entries;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == limit) break;
    struct stat status{};
    if (::fstatat(fd.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries.push_back({.name = std::string(name), .kind = kind_of(status.st_mode)});
  }
  ::closedir(directory);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Result<std::string> FileRoot::read(std::string_view path, std::uint64_t offset, std::size_t size) const {
  TERTULIA_TRY_AS(const Fd fd, open_file(path));
  std::string content;
  while (content.size() < size) {
    const std::size_t old = content.size();
    const std::size_t step = std::min<std::size_t>(size - old, 256 * 1024);
    content.resize(old + step);
    const ssize_t got = ::pread(fd.get(), content.data() + old, step, static_cast<off_t>(offset + old));
    content.resize(old + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "read", path);
    if (got == 0) break;
  }
  return content;
}

Result<void> FileRoot::write(std::string_view path, std::string_view content, bool must_be_new) const {
  TERTULIA_TRY(check_path(path));
  const auto [parent, name] = parted(path);
  if (name.empty() || name == ".") return bad_path(path, "does not end in the name of a file");
  const Result<struct stat> old = status(path);
  if (old && !S_ISREG(old->st_mode))
    return Error(ErrorCode::kNotPermitted,
                 "cannot write " + in_quotes(utf8_prefix(path, 200)) + ": it is not a regular file");
  if (!old && old.error().code() != ErrorCode::kNotFound) return old.error();
  TERTULIA_TRY_AS(const Fd directory, make_directory(parent));

  const std::string beside = ".tertulia-" + std::to_string(real_env().random().next()) + ".new";
  Fd file(
      ::openat(directory.get(), beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.is_open()) return file_error(errno, "write", path);
  const auto give_up = [&](Error error) {
    ::unlinkat(directory.get(), beside.c_str(), 0);
    return error;
  };
  if (Result<void> written = write_all(file.get(), content, path); !written)
    return give_up(std::move(written).error());
  // A program stays one. The set-user bits are not taken over: the content is a stranger's.
  if (old && ::fchmod(file.get(), old->st_mode & 0777U) != 0)
    return give_up(file_error(errno, "write", path));
  const unsigned flags = must_be_new ? RENAME_NOREPLACE : 0;
  const std::string target(name);
  if (::renameat2(directory.get(), beside.c_str(), directory.get(), target.c_str(), flags) != 0)
    return give_up(file_error(errno, "write", path));
  if (::fsync(directory.get()) != 0) return file_error(errno, "sync the directory of", path);
  return {};
}

}  // namespace tertulia
