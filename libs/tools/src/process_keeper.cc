#include "process_keeper.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tertulia {
namespace {

void note(const KeeperPlan& plan, KeeperStage stage, int value) {
  const KeeperNote text{.stage = stage, .value = value};
  // Smaller than a pipe takes in one piece. Nobody is left to hear of a failure.
  [[maybe_unused]] const ssize_t written = ::write(plan.notes, &text, sizeof text);
}

[[noreturn]] void give_up(const KeeperPlan& plan, KeeperStage stage) {
  note(plan, stage, errno);
  ::_exit(1);
}

// Others of this process may have been open when it was copied: the leash of another keeper, for one, which
// must not be held open from here.
void close_all_but(std::array<int, 8> kept) {
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::syscall(SYS_close_range, next, number - 1, 0U);
    next = number + 1;
  }
  ::syscall(SYS_close_range, next, UINT_MAX, 0U);
}

bool put(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  const bool done = ::write(fd, text, size) == static_cast<ssize_t>(size);
  ::close(fd);
  return done;
}

bool drop_to_user(const KeeperPlan& plan) {
  if (!plan.drop) return true;
  // System calls, because the C library's own functions would look for the threads of the original.
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return false;
  if (::syscall(SYS_setresgid, plan.group, plan.group, plan.group) != 0) return false;
  if (::syscall(SYS_setresuid, plan.user, plan.user, plan.user) != 0) return false;
  // Otherwise the files below /proc/self would still be root's.
  return ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

bool make_namespaces(const KeeperPlan& plan) {
  const int network = plan.network ? 0 : CLONE_NEWNET;
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | network) != 0) return false;
  // A user may map itself once it has given up changing groups.
  return put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", plan.user_map) &&
         put("/proc/self/gid_map", plan.group_map);
}

[[noreturn]] void start_program(const KeeperPlan& plan) {
  if (::fchdir(plan.directory) != 0) give_up(plan, KeeperStage::kDirectory);
  if (::dup2(plan.input, 0) < 0 || ::dup2(plan.output, 1) < 0 || ::dup2(plan.errors, 2) < 0)
    give_up(plan, KeeperStage::kStart);
  ::setpgid(0, 0);
  for (const KeeperLimit& limit : plan.limits) {
    const rlimit both{.rlim_cur = limit.value, .rlim_max = limit.value};
    if (::setrlimit(limit.resource, &both) != 0) give_up(plan, KeeperStage::kLimit);
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(plan, KeeperStage::kConfine);
  if (plan.ruleset >= 0 && ::syscall(SYS_landlock_restrict_self, plan.ruleset, 0U) != 0)
    give_up(plan, KeeperStage::kConfine);
  // Closed when the program begins, not before: the note on why it does not goes through one of them.
  ::syscall(SYS_close_range, 3U, UINT_MAX, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC));
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.filter != nullptr && ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, plan.filter) != 0)
    give_up(plan, KeeperStage::kConfine);
  if (plan.program_file >= 0) {
    ::syscall(SYS_execveat, plan.program_file, "", plan.arguments, plan.environment, AT_EMPTY_PATH);
    give_up(plan, KeeperStage::kProgram);
  }
  ::execve(plan.program, plan.arguments, plan.environment);
  give_up(plan, KeeperStage::kProgram);
}

// Kills the children of this process, among them those whose own parents have died: it is their reaper.
void kill_children() {
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 4096> text;  // NOLINT: filled by read
  pid_t pid = 0;
  for (ssize_t got = 0; (got = ::read(fd, text.data(), text.size())) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      const char c = text[static_cast<std::size_t>(i)];
      if (c >= '0' && c <= '9') {
        pid = pid * 10 + (c - '0');
      } else if (pid > 0) {
        ::kill(std::exchange(pid, 0), SIGKILL);
      }
    }
  }
  if (pid > 0) ::kill(pid, SIGKILL);
  ::close(fd);
}

void kill_all(const KeeperPlan& plan, pid_t program, int& status) {
  while (true) {
    // The first process of a namespace reaches all others of it in one step, and no one else.
    if (plan.namespaces) {
      ::kill(-1, SIGKILL);
    } else {
      ::kill(-program, SIGKILL);
      kill_children();
    }
    int one = 0;
    const pid_t gone = ::waitpid(-1, &one, 0);
    if (gone == program) status = one;
    if (gone < 0 && errno != EINTR) return;
  }
}

// The first process of its namespace, where there is one; else the reaper of what the program leaves behind.
[[noreturn]] void guard(const KeeperPlan& plan) {
  if (!plan.namespaces) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t program = ::fork();
  if (program < 0) give_up(plan, KeeperStage::kStart);
  if (program == 0) start_program(plan);
  close_all_but({plan.leash, plan.notes, -1, -1, -1, -1, -1, -1});
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, program, 0U));
  if (handle < 0) {
    ::kill(program, SIGKILL);
    give_up(plan, KeeperStage::kStart);
  }
  int status = 0;
  bool ended = false;
  while (!ended) {
    std::array<pollfd, 2> watched = {
        {{.fd = handle, .events = POLLIN, .revents = 0}, {.fd = plan.leash, .events = POLLIN, .revents = 0}}};
    // Wakes up now and then to bury orphans, which count as processes until somebody does.
    ::poll(watched.data(), watched.size(), 500);
    int one = 0;
    for (pid_t gone = 0; (gone = ::waitpid(-1, &one, WNOHANG)) > 0;) {
      if (gone != program) continue;
      status = one;
      ended = true;
    }
    if (watched[1].revents != 0) break;
  }
  kill_all(plan, program, status);
  note(plan, KeeperStage::kEnded, status);
  ::_exit(0);
}

}  // namespace

void keep(const KeeperPlan& plan) {
  close_all_but({plan.directory, plan.program_file, plan.input, plan.output, plan.errors, plan.leash,
                 plan.notes, plan.ruleset});
  ::setsid();
  if (!drop_to_user(plan)) give_up(plan, KeeperStage::kUser);
  if (plan.namespaces && !make_namespaces(plan)) give_up(plan, KeeperStage::kNamespace);
  const pid_t guardian = ::fork();
  if (guardian < 0) give_up(plan, KeeperStage::kStart);
  if (guardian == 0) guard(plan);
  close_all_but({-1, -1, -1, -1, -1, -1, -1, -1});
  int status = 0;
  while (::waitpid(guardian, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

bool try_namespaces(const KeeperPlan& plan) {
  if (!drop_to_user(plan) || !make_namespaces(plan)) return false;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::getpid() == 1 ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace tertulia
