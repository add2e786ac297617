#include "process_confinement.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/tools/process_tool.h"

#include "process_keeper.h"

namespace tertulia {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// Known to later kernels than the headers may be.
constexpr std::uint64_t kTruncate = 1ULL << 14;
constexpr std::uint64_t kDeviceControl = 1ULL << 15;
constexpr std::uint64_t kForFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kDeviceControl;
constexpr std::uint64_t kReading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// All rights that this version of Landlock can refuse.
std::uint64_t rights_of(int version) {
  std::uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

Result<void> add_rule(int ruleset, const Path& path, std::uint64_t rights) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.is_open() && errno == ENOENT) return {};
  struct stat status{};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return file_error(errno, "open", path.string());
  if (!S_ISDIR(status.st_mode)) rights &= kForFiles;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = fd.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0)
    return file_error(errno, "confine programs to", path.string());
  return {};
}

sock_filter load(std::size_t offset) {
  return {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = static_cast<std::uint32_t>(offset)};
}
sock_filter answer(std::uint32_t action) { return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = action}; }
// Skips `yes` or `no` instructions.
sock_filter jump_if(std::uint16_t test, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {.code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), .jt = yes, .jf = no, .k = value};
}

// Runs `work` in a copy of this process, with signals blocked; whether it said true.
template <class Work>
bool in_child(const Work& work) {
  sigset_t all;
  sigset_t old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return child > 0 && status == 0;
}

bool has_namespaces(bool root) {
  const ProcessOptions standard;
  const uid_t user = root ? standard.user : ::geteuid();
  const gid_t group = root ? standard.group : ::getegid();
  const std::string user_map = std::to_string(user) + " " + std::to_string(user) + " 1";
  const std::string group_map = std::to_string(group) + " " + std::to_string(group) + " 1";
  KeeperPlan plan;
  plan.drop = root;
  plan.user = user;
  plan.group = group;
  plan.user_map = user_map.c_str();
  plan.group_map = group_map.c_str();
  return in_child([&] { return try_namespaces(plan); });
}

bool has_filter() {
  if (kArchitecture == 0) return false;
  std::vector<sock_filter> code = make_filter(false);
  const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  return in_child([&] {
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &filter) == 0;
  });
}

}  // namespace

Result<Fd> make_ruleset(int version, const std::vector<Path>& writable, const std::vector<Path>& readable) {
  const std::uint64_t all = rights_of(version);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = all;
  Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U)));
  if (!ruleset.is_open()) return file_error(errno, "confine programs to", "the root");
  for (const Path& path : writable) TERTULIA_TRY(add_rule(ruleset.get(), path, all));
  for (const Path& path : readable) TERTULIA_TRY(add_rule(ruleset.get(), path, all & kReading));
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    TERTULIA_TRY(add_rule(ruleset.get(), device,
                          all & (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate)));
  }
  return ruleset;
}

std::vector<sock_filter> make_filter(bool network) {
  static constexpr std::array kRefused = {SYS_ptrace,
                                          SYS_process_vm_readv,
                                          SYS_process_vm_writev,
                                          SYS_pidfd_getfd,
                                          SYS_kcmp,
                                          SYS_bpf,
                                          SYS_perf_event_open,
                                          SYS_userfaultfd,
                                          SYS_io_uring_setup,
                                          SYS_init_module,
                                          SYS_finit_module,
                                          SYS_delete_module,
                                          SYS_kexec_load,
                                          SYS_mount,
                                          SYS_umount2,
                                          SYS_pivot_root,
                                          SYS_chroot,
                                          SYS_move_mount,
                                          SYS_open_tree,
                                          SYS_fsopen,
                                          SYS_fsmount,
                                          SYS_mount_setattr,
                                          SYS_unshare,
                                          SYS_setns,
                                          SYS_keyctl,
                                          SYS_add_key,
                                          SYS_request_key,
                                          SYS_open_by_handle_at,
                                          SYS_reboot,
                                          SYS_swapon,
                                          SYS_swapoff,
                                          SYS_syslog,
                                          SYS_acct,
                                          SYS_quotactl,
                                          SYS_settimeofday,
                                          SYS_clock_settime,
                                          SYS_personality,
                                          SYS_name_to_handle_at};
  const sock_filter refuse = answer(SECCOMP_RET_ERRNO | EPERM);
  std::vector<sock_filter> code = {load(offsetof(seccomp_data, arch)), jump_if(BPF_JEQ, kArchitecture, 1, 0),
                                   answer(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr)),
                                   // The calls of the x32 kind, which would pass by their other numbers.
                                   jump_if(BPF_JGE, 0x40000000, 0, 1), answer(SECCOMP_RET_ERRNO | ENOSYS)};
  const auto add = [&](long number, sock_filter action) {
    code.push_back(jump_if(BPF_JEQ, static_cast<std::uint32_t>(number), 0, 1));
    code.push_back(action);
  };
  for (const long number : kRefused) add(number, refuse);
  if (!network) add(SYS_socket, refuse);
  // Its flags lie in memory, where a filter cannot look; the C library then uses clone.
  add(SYS_clone3, answer(SECCOMP_RET_ERRNO | ENOSYS));
  code.push_back(jump_if(BPF_JEQ, SYS_clone, 0, 3));
  code.push_back(load(offsetof(seccomp_data, args)));
  code.push_back(jump_if(BPF_JSET, CLONE_NEWUSER, 0, 1));
  code.push_back(refuse);
  code.push_back(answer(SECCOMP_RET_ALLOW));
  return code;
}

std::string ConfinementReport::text() const {
  const auto line = [](bool there, const char* what, const char* without) {
    return std::string(there ? "yes  " : "no   ") + what + (there ? "" : std::string(": ") + without) + "\n";
  };
  return line(namespaces, "namespaces of users, processes and networks",
              "a program can outlive its call if it kills its keeper, and its processes are counted with "
              "those "
              "of its user") +
         line(landlock > 0, "files confined by Landlock", "a program reads and writes what its user may") +
         line(filter, "system calls filtered by seccomp",
              "a program may use the network and every system call") +
         (root ? "this process is root's: programs run as another user\n" : "");
}

const ConfinementReport& confinement_report() {
  static const ConfinementReport report = [] {
    const bool root = ::geteuid() == 0;
    const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0U, LANDLOCK_CREATE_RULESET_VERSION);
    return ConfinementReport{.namespaces = has_namespaces(root),
                             .landlock = version > 0 ? static_cast<int>(version) : 0,
                             .filter = has_filter(),
                             .root = root};
  }();
  return report;
}

}  // namespace tertulia
