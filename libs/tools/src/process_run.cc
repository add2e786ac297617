#include "process_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"

#include "file_root.h"
#include "process_keeper.h"

namespace tertulia {
namespace {

// How long a keeper may take to kill what it keeps. A process in the middle of a disk access cannot die.
constexpr std::chrono::seconds kKillTime(10);
// The keeper's own two processes are counted with those of the program.
constexpr unsigned kKeepers = 2;

struct RunPipe {
  Fd read;
  Fd write;
};

Error cannot_start(const std::string& why) {
  return {ErrorCode::kToolFailed, "the program could not be started: " + why};
}

Result<RunPipe> make_run_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start(std::strerror(errno));
  RunPipe pipe{.read = Fd(ends[0]), .write = Fd(ends[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// The processes and threads that a user has. A limit on processes counts all of them where there are no
// namespaces.
unsigned tasks_of(uid_t user) {
  unsigned count = 0;
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = ::readdir(processes)) {
    const std::string name = entry->d_name;
    struct stat status{};
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Each thread is one link more of the directory "task", besides "." and "..".
    const std::string tasks = "/proc/" + name + "/task";
    if (::stat(tasks.c_str(), &status) == 0 && status.st_uid == user)
      count += static_cast<unsigned>(std::max<nlink_t>(status.st_nlink, 3) - 2);
  }
  ::closedir(processes);
  return count;
}

std::string stage_text(KeeperStage stage) {
  switch (stage) {
    case KeeperStage::kEnded:
      return "it ended";
    case KeeperStage::kUser:
      return "the user could not be changed";
    case KeeperStage::kNamespace:
      return "its namespaces could not be made";
    case KeeperStage::kStart:
      return "no process could be made for it";
    case KeeperStage::kDirectory:
      return "its user may not enter the working directory";
    case KeeperStage::kLimit:
      return "its limits could not be set";
    case KeeperStage::kConfine:
      return "it could not be confined";
    case KeeperStage::kProgram:
      return "the system would not run the file";
  }
  return "";
}

class Run {
 public:
  Run(const ProgramRun& what, const CancelToken& cancel, const Deadline& deadline)
      : what_(what),
        cancel_(cancel),
        deadline_(min(deadline, Deadline::after(what.limits.time, real_env().clock()))) {}

  Result<ProgramEnd> run() {
    TERTULIA_TRY_AS(output_, make_run_pipe());
    TERTULIA_TRY_AS(errors_, make_run_pipe());
    TERTULIA_TRY_AS(leash_, make_run_pipe());
    TERTULIA_TRY_AS(notes_, make_run_pipe());
    bell_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (what_.input < 0) input_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!bell_.is_open() || (what_.input < 0 && !input_.is_open())) return cannot_start(std::strerror(errno));
    TERTULIA_TRY(start());
    {
      const CancelRegistration registration = cancel_.on_cancel([this](CancelReason) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
      });
      watch();
    }
    bury();
    if (failure_)
      return cannot_start(stage_text(failure_->stage) + " (" + std::strerror(failure_->value) + ")");
    if (!ended_ && end_.why == ProgramEnd::Why::kEnded) end_.why = ProgramEnd::Why::kKeeperLost;
    return std::move(end_);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  }

  std::array<KeeperLimit, 7> limits(uid_t user) const {
    const ProcessLimits& limits = what_.limits;
    const unsigned others = what_.namespaces ? 0 : tasks_of(user);
    return {{{RLIMIT_CPU, static_cast<rlim_t>(std::max<std::int64_t>(1, limits.cpu.count()))},
             {RLIMIT_AS, limits.address_space},
             {RLIMIT_FSIZE, limits.file_size},
             {RLIMIT_NPROC, limits.processes + kKeepers + others},
             {RLIMIT_NOFILE, limits.open_files},
             {RLIMIT_CORE, 0},
             {RLIMIT_MEMLOCK, 64 * 1024}}};
  }

  Result<void> start() {
    std::vector<std::string> texts = what_.arguments;
    texts.insert(texts.begin(), what_.program);
    std::vector<std::string> variables = what_.environment;
    const std::vector<char*> arguments = pointers(texts);
    const std::vector<char*> environment = pointers(variables);
    std::vector<sock_filter> code = what_.filter;
    const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
    const bool root = ::geteuid() == 0;
    const uid_t user = root ? what_.user : ::geteuid();
    const gid_t group = root ? what_.group : ::getegid();
    const std::string user_map = std::to_string(user) + " " + std::to_string(user) + " 1";
    const std::string group_map = std::to_string(group) + " " + std::to_string(group) + " 1";
    const KeeperPlan plan{.program = what_.program.c_str(),
                          .arguments = arguments.data(),
                          .environment = environment.data(),
                          .directory = what_.directory,
                          .program_file = what_.program_file,
                          .input = what_.input < 0 ? input_.get() : what_.input,
                          .output = output_.write.get(),
                          .errors = errors_.write.get(),
                          .leash = leash_.read.get(),
                          .notes = notes_.write.get(),
                          .ruleset = what_.ruleset,
                          .filter = code.empty() ? nullptr : &filter,
                          .limits = limits(user),
                          .drop = root,
                          .user = user,
                          .group = group,
                          .namespaces = what_.namespaces,
                          .network = what_.network,
                          .user_map = user_map.c_str(),
                          .group_map = group_map.c_str()};
    // No handler of this process may run in the copy.
    sigset_t all;
    sigset_t old;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &old);
    keeper_ = ::fork();
    const int problem = errno;
    if (keeper_ == 0) keep(plan);
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (keeper_ < 0) return cannot_start(std::strerror(problem));
    output_.write.reset();
    errors_.write.reset();
    notes_.write.reset();
    return {};
  }

  // Until the keeper has nothing more to say: then everything is gone.
  void watch() {
    while (notes_.read.is_open()) {
      std::array<pollfd, 4> watched = {{{output_.read.get(), POLLIN, 0},
                                        {errors_.read.get(), POLLIN, 0},
                                        {notes_.read.get(), POLLIN, 0},
                                        {killed_ ? -1 : bell_.get(), POLLIN, 0}}};
      ::poll(watched.data(), watched.size(), milliseconds_left());
      take_output(output_.read, end_.output);
      take_output(errors_.read, end_.errors);
      if (watched[2].revents != 0) take_notes();
      if (watched[3].revents != 0) kill_for(ProgramEnd::Why::kCancelled);
      if (deadline_.expired(real_env().clock())) {
        // The second time the keeper itself has failed to end.
        if (killed_) return;
        kill_for(ProgramEnd::Why::kTime);
      }
    }
    take_output(output_.read, end_.output);
    take_output(errors_.read, end_.errors);
  }

  int milliseconds_left() const {
    const Duration left = deadline_.remaining(real_env().clock());
    if (left > std::chrono::minutes(1)) return 60'000;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  void kill_for(ProgramEnd::Why why) {
    if (killed_) return;
    killed_ = true;
    end_.why = why;
    deadline_ = Deadline::after(kKillTime, real_env().clock());
    // A byte, because other processes may hold copies of this end for a moment. It is never refused: the
    // other end is open here too. When this process dies, both ends here are closed, and the keeper hears
    // that.
    [[maybe_unused]] const ssize_t written = ::write(leash_.write.get(), "k", 1);
  }

  // At most as much as was there when it began, so that one that never stops does not hold up the others.
  void take_output(Fd& from, std::string& to) {
    std::array<char, 65536> buffer;  // NOLINT: filled by read
    if (!from.is_open()) return;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return from.reset();
    if (got < 0) return;
    const std::size_t room = what_.limits.output_bytes - end_.output.size() - end_.errors.size();
    to.append(buffer.data(), std::min(static_cast<std::size_t>(got), room));
    if (static_cast<std::size_t>(got) > room) kill_for(ProgramEnd::Why::kOutput);
  }

  void take_notes() {
    KeeperNote note;
    const ssize_t got = ::read(notes_.read.get(), &note, sizeof note);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != static_cast<ssize_t>(sizeof note)) return notes_.read.reset();
    if (note.stage != KeeperStage::kEnded) {
      failure_ = note;
    } else {
      ended_ = true;
      end_.status = note.value;
    }
  }

  // The keeper ends by itself, unless it hangs with what it keeps.
  void bury() {
    leash_.write.reset();
    const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, keeper_, 0U)));
    pollfd watched{.fd = handle.get(), .events = POLLIN, .revents = 0};
    if (handle.is_open() && ::poll(&watched, 1, 1'000) == 0) ::kill(keeper_, SIGKILL);
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  const ProgramRun& what_;
  const CancelToken& cancel_;
  Deadline deadline_;
  RunPipe output_;
  RunPipe errors_;
  RunPipe leash_;
  RunPipe notes_;
  Fd bell_;
  Fd input_;
  pid_t keeper_ = -1;
  bool killed_ = false;
  bool ended_ = false;
  std::optional<KeeperNote> failure_;
  ProgramEnd end_;
};

}  // namespace

Result<ProgramEnd> run_program(const ProgramRun& run, const CancelToken& cancel, const Deadline& deadline) {
  return Run(run, cancel, deadline).run();
}

}  // namespace tertulia
