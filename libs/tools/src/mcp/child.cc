#include "mcp/child.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/printable.h"

namespace tertulia {
namespace {

struct Pipe {
  Descriptor reader;
  Descriptor writer;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error(ErrorCode::kQueueFull, "no descriptors left for the pipes of a child process");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

bool can_run(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program(const ChildCommand& command) {
  const std::string& name = command.program;
  if (name.find('/') != std::string::npos) return name;
  const auto found = command.environment.find("PATH");
  std::string_view path = "/usr/bin:/bin";
  if (found != command.environment.end()) path = found->second;
  while (!path.empty() && !name.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::filesystem::path candidate = std::filesystem::path(path.substr(0, end)) / name;
    if (candidate.is_absolute() && can_run(candidate)) return candidate.string();
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return Error(ErrorCode::kNotFound, "there is no program " + in_quotes(name) + " in the PATH");
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Everything the child needs, made before the fork: after it only system calls are allowed.
struct Launch {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;
  std::array<int, 3> standard{};
  int report = -1;
  pid_t parent = 0;
};

[[noreturn]] void give_up(const Launch& launch) {
  const int problem = errno;
  [[maybe_unused]] const ssize_t written = write(launch.report, &problem, sizeof problem);
  _exit(127);
}

[[noreturn]] void become(const Launch& launch) {
  setpgid(0, 0);
  // SIGKILL, because nobody would be left to send it to one that does not heed a gentler signal.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.directory != nullptr && chdir(launch.directory) != 0) give_up(launch);
  // Above the standard ones first: a program without them may have been given their numbers for its pipes.
  std::array<int, 3> standard{};
  for (std::size_t i = 0; i < standard.size(); ++i) {
    standard[i] = fcntl(launch.standard[i], F_DUPFD_CLOEXEC, 3);
    if (standard[i] < 0) give_up(launch);
  }
  for (std::size_t i = 0; i < standard.size(); ++i) {
    if (dup2(standard[i], static_cast<int>(i)) < 0) give_up(launch);
  }
  // Those that somebody opened without O_CLOEXEC are no business of the child's.
  if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up(launch);
  execve(launch.program, launch.arguments, launch.environment);
  give_up(launch);
}

Error start_error(int problem, const ChildCommand& command) {
  const ErrorCode code = problem == ENOENT || problem == ENOTDIR  ? ErrorCode::kNotFound
                         : problem == EAGAIN || problem == ENOMEM ? ErrorCode::kQueueFull
                                                                  : ErrorCode::kNotPermitted;
  std::string where = in_quotes(command.program) + " cannot be started";
  if (!command.directory.empty()) where += " in " + in_quotes(command.directory);
  return {code, where + ": " + std::generic_category().message(problem)};
}

Result<void> fork_into(Launch& launch, Descriptor report, Child& child, const ChildCommand& command,
                       Pipe& reports) {
  launch.parent = getpid();
  child.pid = fork();
  if (child.pid == 0) become(launch);
  report.reset();
  if (child.pid < 0) return start_error(errno, command);
  setpgid(child.pid, child.pid);
  int problem = 0;
  ssize_t got = 0;
  // The end comes with the exec, which closes the other side.
  while ((got = read(reports.reader.get(), &problem, sizeof problem)) < 0 && errno == EINTR) continue;
  if (got == static_cast<ssize_t>(sizeof problem)) {
    waitpid(child.pid, nullptr, 0);
    return start_error(problem, command);
  }
  // The header of glibc 2.36 declares pidfd_open for C only.
  child.exited = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0)));
  if (child.exited.open()) return {};
  const int why = errno;
  signal_group(child, SIGKILL);
  waitpid(child.pid, nullptr, 0);
  return start_error(why, command);
}

}  // namespace

Result<Child> start_child(const ChildCommand& command) {
  TERTULIA_TRY_AS(const std::string program, find_program(command));
  TERTULIA_TRY_AS(Pipe input, make_pipe());
  TERTULIA_TRY_AS(Pipe output, make_pipe());
  TERTULIA_TRY_AS(Pipe errors, make_pipe());
  TERTULIA_TRY_AS(Pipe reports, make_pipe());
  std::vector<std::string> arguments{command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  Launch launch{.program = program.c_str(),
                .arguments = argument_pointers.data(),
                .environment = environment_pointers.data(),
                .directory = command.directory.empty() ? nullptr : command.directory.c_str(),
                .standard = {input.reader.get(), output.writer.get(), errors.writer.get()},
                .report = reports.writer.get()};
  Child child{.input = std::move(input.writer),
              .output = std::move(output.reader),
              .errors = std::move(errors.reader)};
  TERTULIA_TRY(fork_into(launch, std::move(reports.writer), child, command, reports));
  for (const int fd : {child.input.get(), child.output.get(), child.errors.get()})
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return child;
}

void signal_group(const Child& child, int signal) {
  if (child.pid > 0) kill(-child.pid, signal);
}

std::string reap(Child& child) {
  // While the leader is not reaped, its number is nobody else's.
  signal_group(child, SIGKILL);
  int status = 0;
  pid_t got = -1;
  do {
    got = waitpid(child.pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  child.pid = -1;
  if (got < 0) return "an unknown status";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace tertulia
