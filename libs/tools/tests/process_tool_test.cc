#include "tertulia/tools/process_tool.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/tools/call_tool.h"
#include "tertulia/tools/toolkit.h"

#include "file_root.h"
#include "process_run.h"

namespace tertulia {
namespace process_tool_test {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Why = ProgramEnd::Why;

// A directory that the programs' user may use, beside a secret that it could read if nothing else forbade it.
class Ground {
 public:
  Ground() {
    std::string name = (fs::temp_directory_path() / "tertulia-process-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    top_ = name;
    fs::create_directories(root() / "sub");
    for (const fs::path& path : {top_, root(), root() / "sub"}) fs::permissions(path, fs::perms(0777));
    std::ofstream(top_ / "secret.txt") << "sesame\n";
  }
  ~Ground() { fs::remove_all(top_); }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  fs::path top() const { return top_; }
  fs::path root() const { return top_ / "root"; }

  // A pipe in the root. Programs that hold it open are alive.
  Fd pipe(const char* name, int flags) const {
    const std::string path = (root() / name).string();
    ::mkfifo(path.c_str(), 0666);
    ::chmod(path.c_str(), 0666);
    return Fd(::open(path.c_str(), flags | O_CLOEXEC));
  }

 private:
  fs::path top_;
};

// True if nobody has the other end open.
bool nobody_writes(const Fd& pipe) {
  char bytes[256];
  ssize_t got = 0;
  while ((got = ::read(pipe.get(), bytes, sizeof bytes)) > 0) {
  }
  return got == 0;
}

// With namespaces, and as it is done where there are none.
class ProcessKeeper : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !confinement_report().namespaces)
      GTEST_SKIP() << "this machine gives no namespaces to this process";
  }
  ProgramEnd run(const std::string& line, ProcessLimits limits = {}, const CancelToken& cancel = {}) {
    const Fd directory(::open(ground_.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const ProgramRun run{.program = "/bin/sh",
                         .arguments = {"-c", line},
                         .environment = {"PATH=/usr/bin:/bin"},
                         .directory = directory.get(),
                         .namespaces = GetParam(),
                         .limits = limits};
    return run_program(run, cancel, {}).value();
  }

  Ground ground_;
};
INSTANTIATE_TEST_SUITE_P(Namespaces, ProcessKeeper, testing::Bool(),
                         [](const auto& info) { return info.param ? "with" : "without"; });

TEST_P(ProcessKeeper, RunsAProgramAndTellsHowItEnded) {
  const ProgramEnd end = run("echo out; echo err >&2; cat; exit 3");
  EXPECT_EQ(end.why, Why::kEnded);
  EXPECT_EQ(WEXITSTATUS(end.status), 3);
  EXPECT_EQ(end.output, "out\n");
  EXPECT_EQ(end.errors, "err\n");
}

TEST_P(ProcessKeeper, StopsAProgramThatHangs) {
  const Fd alive = ground_.pipe("alive", O_RDONLY | O_NONBLOCK);
  const ProgramEnd end = run("exec 3> alive; trap '' TERM INT HUP; sleep 1000", {.time = milliseconds(300)});
  EXPECT_EQ(end.why, Why::kTime);
  EXPECT_TRUE(nobody_writes(alive));
}

TEST_P(ProcessKeeper, KillsGrandchildrenThatHaveDetachedThemselves) {
  const Fd alive = ground_.pipe("alive", O_RDONLY | O_NONBLOCK);
  const std::string detach = "exec 3> alive; (setsid sh -c '(setsid sleep 1000 &) ; sleep 1000' &) ; ";
  EXPECT_EQ(run(detach + "exit 0").why, Why::kEnded);
  EXPECT_TRUE(nobody_writes(alive)) << "after the program has ended";
  EXPECT_EQ(run(detach + "sleep 1000", {.time = milliseconds(300)}).why, Why::kTime);
  EXPECT_TRUE(nobody_writes(alive)) << "after it was killed";
}

TEST_P(ProcessKeeper, StopsAForkBomb) {
  const Fd alive = ground_.pipe("alive", O_RDONLY | O_NONBLOCK);
  // Each copy says that it lives, and lives on when it may have no more: a shell would end, and make room for
  // the next. The bomb is also bounded by its depth, should the limit not hold.
  const ProgramEnd end =
      run("exec 3> alive; exec perl -e 'sub bomb { syswrite STDOUT, qq(x); for (1, 2) { last if $_[0] > 9; "
          "my $child = fork; syswrite STDERR, qq(no fork\n) unless defined $child; "
          "bomb($_[0] + 1) if defined $child && !$child } sleep 1000 } bomb(0)'",
          {.time = seconds(2), .processes = 16});
  EXPECT_NE(end.why, Why::kKeeperLost);
  EXPECT_LE(std::ranges::count(end.output, 'x'), 16);
  EXPECT_GE(std::ranges::count(end.output, 'x'), 4);
  EXPECT_THAT(end.errors, HasSubstr("fork"));
  EXPECT_TRUE(nobody_writes(alive));
}

TEST_P(ProcessKeeper, StopsEndlessOutput) {
  const ProgramEnd end = run("yes", {.output_bytes = 100'000});
  EXPECT_EQ(end.why, Why::kOutput);
  EXPECT_EQ(end.output.size(), 100'000U);
  const ProgramEnd errors = run("yes >&2", {.output_bytes = 1'000});
  EXPECT_EQ(errors.why, Why::kOutput);
  EXPECT_EQ(errors.errors.size(), 1'000U);
}

TEST_P(ProcessKeeper, StopsWhatUsesTooMuch) {
  const ProgramEnd processor = run("while :; do :; done", {.cpu = seconds(1)});
  EXPECT_TRUE(WIFSIGNALED(processor.status));
  const ProgramEnd memory = run("head -c 500000000 /dev/zero | tail", {.address_space = 100 << 20});
  EXPECT_THAT(memory.errors, HasSubstr("memory"));
  const ProgramEnd file = run("head -c 100000 /dev/zero > big; echo done", {.file_size = 1'000});
  EXPECT_EQ(fs::file_size(ground_.root() / "big"), 1'000U);
  const ProgramEnd files = run("exec 3>a 4>b 5>c 6>d 7>e 8>f 9>g; echo opened", {.open_files = 8});
  EXPECT_EQ(files.output, "");
}

TEST_P(ProcessKeeper, CancellationKills) {
  const Fd alive = ground_.pipe("alive", O_RDONLY | O_NONBLOCK);
  ground_.pipe("begun", O_RDONLY | O_NONBLOCK);
  CancelSource source;
  std::thread canceller([&] {
    // Opening waits until the program has it open too.
    const Fd begun(::open((ground_.root() / "begun").c_str(), O_RDONLY | O_CLOEXEC));
    source.cancel(CancelReason::kUser);
  });
  const ProgramEnd end = run("exec 3> alive; echo x > begun; sleep 1000", {}, source.token());
  canceller.join();
  EXPECT_EQ(end.why, Why::kCancelled);
  EXPECT_TRUE(nobody_writes(alive));
}

TEST_P(ProcessKeeper, NothingOutlivesTheProcessThatStartedIt) {
  const Fd alive = ground_.pipe("alive", O_RDONLY | O_NONBLOCK);
  ground_.pipe("begun", O_RDONLY | O_NONBLOCK);
  const pid_t starter = ::fork();
  if (starter == 0) {
    run("exec 3> alive; (setsid sleep 1000 &); echo x > begun; sleep 1000");
    ::_exit(0);
  }
  {
    const Fd begun(::open((ground_.root() / "begun").c_str(), O_RDONLY | O_CLOEXEC));
  }
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  // Waits for the end of the last who holds it.
  ::fcntl(alive.get(), F_SETFL, 0);
  EXPECT_TRUE(nobody_writes(alive));
}

TEST_P(ProcessKeeper, AProgramDoesNotInheritWhatThisProcessHasOpen) {
  const int secret = ::open((ground_.top() / "secret.txt").c_str(), O_RDONLY);
  const std::string descriptors = run("ls /proc/self/fd").output;
  EXPECT_EQ(descriptors, "0\n1\n2\n3\n") << "3 is what ls reads";
  ::close(secret);
}

TEST_P(ProcessKeeper, RunsNothingAsRootAndGainsNothing) {
  EXPECT_THAT(run("id -u").output, Not("0\n"));
  EXPECT_THAT(run("cat /proc/self/status").output, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_THAT(run("cat /proc/self/status").output, HasSubstr("CapEff:\t0000000000000000\n"));
}

class ProcessTool : public testing::Test {
 protected:
  ProcessOptions options() const {
    return {.root = ground_.root(), .programs = {"/bin/echo", "/bin/cat"}, .require_confinement = false};
  }
  ToolAnswer call(ProcessOptions options, const JsonObject& arguments) {
    ToolRegistry registry;
    registry.add(process_tool(std::move(options)).value()).value();
    const ToolSetPtr set = registry.snapshot();
    const ToolEntry* entry = set->get("run_program").value();
    return wait<ToolAnswer>([&](Done<ToolAnswer> done) {
             call_tool(entry->tool, entry->schema, to_text(Json(arguments)), {}, {}, real_env().clock(),
                       std::move(done));
           })
        .value();
  }
  ToolAnswer shell(const std::string& line, bool network = false) {
    return call({.root = ground_.root(), .shell = true, .network = network}, {{"command", Json(line)}});
  }

  Ground ground_;
};

TEST_F(ProcessTool, RunsWhatIsListedWithArgumentsAsTheyAre) {
  const ToolAnswer answer =
      call(options(), {{"program", "echo"}, {"arguments", JsonArray{"$(id)", "*", ";", "a b"}}});
  EXPECT_EQ(answer.text, "exit code 0\n\n$(id) * ; a b\n");
  EXPECT_TRUE(answer.succeeded());
  EXPECT_EQ(process_tool(options()).value()->tool_class(), ToolClass::kUnsafe);
}

TEST_F(ProcessTool, RunsNothingElse) {
  for (const JsonObject& arguments : std::vector<JsonObject>{{{"program", "ls"}},
                                                             {{"program", "/bin/echo"}},
                                                             {{"program", "../bin/echo"}},
                                                             {{"command", "echo x"}},
                                                             {{"program", "echo"}, {"command", "echo x"}},
                                                             {{"program", "echo"}, {"directory", ".."}},
                                                             {{"program", "echo"}, {"directory", "/tmp"}},
                                                             {}}) {
    const ToolAnswer answer = call(options(), arguments);
    EXPECT_EQ(answer.code, ErrorCode::kBadArguments) << answer.text;
  }
  EXPECT_EQ(call(options(), {{"program", "echo"}, {"directory", "nowhere"}}).code, ErrorCode::kNotFound);
}

TEST_F(ProcessTool, TellsExitCodesAndErrors) {
  const ToolAnswer answer = call(options(), {{"program", "cat"}, {"arguments", JsonArray{"nothing"}}});
  EXPECT_THAT(answer.text, StartsWith("exit code 1\n\n[standard error]\n"));
  EXPECT_THAT(shell("kill -SEGV $$").text, StartsWith("killed by signal 11"));
  EXPECT_THAT(shell("printf 'a\\377\\000b'").text, HasSubstr("a\xef\xbf\xbd"
                                                             "b"));
}

TEST_F(ProcessTool, ShowsItsEnvironmentOnlyAsFarAsListed) {
  ::setenv("TERTULIA_TEST_SECRET", "sesame", 1);
  ::setenv("TERTULIA_TEST_OPEN", "open", 1);
  const ToolAnswer answer = call({.root = ground_.root(),
                                  .programs = {"/usr/bin/env"},
                                  .pass_environment = {"TERTULIA_TEST_OPEN"},
                                  .environment = {{"MORE", "1"}}},
                                 {{"program", "env"}});
  EXPECT_EQ(
      answer.text,
      "exit code 0\n\nHOME=" + ground_.root().string() +
          "\nLANG=C.UTF-8\nMORE=1\nPATH=/usr/local/bin:/usr/bin:/bin\nTERTULIA_TEST_OPEN=open\nTMPDIR=" +
          ground_.root().string() + "\n");
}

TEST_F(ProcessTool, RunsInTheDirectoryAskedFor) {
  const ToolAnswer answer =
      call({.root = ground_.root(), .programs = {"/bin/pwd"}}, {{"program", "pwd"}, {"directory", "sub"}});
  EXPECT_EQ(answer.text, "exit code 0\n\n" + (ground_.root() / "sub").string() + "\n");
}

TEST_F(ProcessTool, ConfinesFilesToTheRoot) {
  if (confinement_report().landlock == 0) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_THAT(shell("cat ../secret.txt").text, Not(HasSubstr("sesame")));
  EXPECT_THAT(shell("cat /proc/*/environ").text, Not(HasSubstr("=")));
  EXPECT_THAT(shell("echo x > ../made").text, HasSubstr("Permission denied"));
  EXPECT_FALSE(fs::exists(ground_.top() / "made"));
  EXPECT_THAT(shell("ln -s ../secret.txt link; cat link").text, Not(HasSubstr("sesame")));
  EXPECT_EQ(shell("echo x > made; cat made; rm made").text, "exit code 0\n\nx\n");
}

TEST_F(ProcessTool, ConfinesTheNetworkAndTheKernel) {
  if (!confinement_report().filter) GTEST_SKIP() << "this kernel has no seccomp filters";
  const std::string connect = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'";
  EXPECT_THAT(shell(connect).text, HasSubstr("Operation not permitted"));
  EXPECT_THAT(shell(connect, true).text, HasSubstr("Connection refused"));
  EXPECT_THAT(shell("unshare -r true").text, HasSubstr("Operation not permitted"));
}

TEST_F(ProcessTool, RefusesOptionsThatCannotBeMeant) {
  const auto code = [&](ProcessOptions given) { return process_tool(std::move(given)).error().code(); };
  EXPECT_EQ(code({.root = ground_.root()}), ErrorCode::kBadConfig);
  EXPECT_EQ(code({.root = ground_.root(), .programs = {"echo"}}), ErrorCode::kBadConfig);
  EXPECT_EQ(code({.root = ground_.root(), .programs = {"/nowhere"}}), ErrorCode::kBadConfig);
  EXPECT_EQ(code({.root = ground_.root(), .programs = {"/bin/echo", "/usr/bin/echo"}}),
            ErrorCode::kBadConfig);
  EXPECT_EQ(code({.root = ground_.root(), .shell = true, .user = 0}), ErrorCode::kBadConfig);
  EXPECT_EQ(code({.root = ground_.root() / "nowhere", .shell = true}), ErrorCode::kNotFound);
}

TEST_F(ProcessTool, FailsWithoutConfinementUnlessThatIsAllowed) {
  ProcessOptions required = options();
  required.require_confinement = ProcessOptions{}.require_confinement;
  EXPECT_TRUE(required.require_confinement);
  EXPECT_EQ(process_tool(required).ok(), confinement_report().complete());
  EXPECT_THAT(ConfinementReport().text(), HasSubstr("no   files confined by Landlock: a program reads"));
  EXPECT_THAT((ConfinementReport{.namespaces = true, .landlock = 1, .filter = true}.text()),
              Not(HasSubstr("no ")));
}

TEST_F(ProcessTool, RunsManyAtATime) {
  const ToolPtr tool = process_tool(options()).value();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 5; ++i) {
        const std::string word = std::to_string(thread * 100 + i);
        ToolCall call;
        call.arguments = Json(JsonObject{{"program", "echo"}, {"arguments", JsonArray{Json(word)}}});
        const auto output = wait<ToolOutput>([&](auto done) { tool->run(call, done); });
        if (output.ok() && output->text == "exit code 0\n\n" + word + "\n") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

}  // namespace process_tool_test
}  // namespace tertulia
