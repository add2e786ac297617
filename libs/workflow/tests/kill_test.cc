// A real process is killed before and after every write of a workflow, and another one goes on.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/store/sqlite_store.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/sequential.h"
#include "tertulia/workflow/workflow_engine.h"

#include "kill_points.h"
#include "rule_model.h"

namespace tertulia {
namespace kill_test {

using testing::AnyOf;

AgentDefinitionPtr make_agent(const std::string& id, const std::filesystem::path& ledger, bool tool) {
  auto agent = std::make_shared<AgentDefinition>();
  agent->spec.id = AgentId::parse(id).value();
  agent->spec.name = id;
  agent->spec.model = "rule";
  agent->model = counting_model(id, tool ? "pay" : "");
  agent->model_name = "rule";
  agent->tools = std::make_shared<ToolRegistry>();
  if (tool) {
    agent->tools
        ->add(make_tool("pay", "Pays.",
                        [ledger, id](const ToolCall&) {
                          std::ofstream(ledger, std::ios::app) << id << std::endl;
                          return std::string("paid");
                        }))
        .value();
  }
  return agent;
}

bool has_unknown(const Transcript& transcript) {
  bool found = false;
  transcript.for_each(0, transcript.size(), [&](std::size_t, const Message& message) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      found = found || message.part(i).outcome == ToolOutcome::kUnknown;
    }
  });
  return found;
}

// In a process of its own: runs, or goes on with, the workflow, and writes down what came of it.
int work(const std::filesystem::path& data) {
  auto store = std::make_shared<PointedStore>(
      open_sqlite_store(real_env(), data / "store", {.durability = Durability::kProcess}).value());
  auto engine = Engine::open({.store = store}).value();
  auto workflows = WorkflowEngine::open({.engine = engine, .threads = 4}).value();
  SequentialBuilder builder("ten");
  for (int i = 0; i < 10; ++i) {
    const std::string id = "a" + std::to_string(i);
    builder.add(make_agent(id, data / "ledger", i == 3 || i == 8));
  }
  const auto outcome =
      workflows->run(builder.build().value(), "Go.", {.session = "s", .run = "the-run"}).result();
  if (!outcome) return 1;
  std::ofstream(data / "result") << outcome->supersteps << " " << outcome->snapshot.transcript.size() << " "
                                 << transcript_hash(outcome->snapshot.transcript) << " "
                                 << (has_unknown(outcome->snapshot.transcript) ? "hidden" : "known");
  return 0;
}

// How the process ended: 0 well, 9 killed.
int in_a_process(const std::filesystem::path& data, int fatal) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TERTULIA_KILL_AT", std::to_string(fatal).c_str(), 1);
    ::_exit(work(data));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(WorkflowKilled, BeforeOrAfterAnyWriteGoesOnToTheSameResultAndPaysOnce) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("tertulia-kill-" + std::to_string(::getpid()));
  std::string expected;
  int killed = 0;
  for (int fatal = 0;; ++fatal) {
    const std::filesystem::path data = root / std::to_string(fatal);
    std::filesystem::create_directories(data);
    const int ended = in_a_process(data, fatal);
    if (fatal > 0 && ended == 0) break;
    if (fatal > 0) {
      ASSERT_EQ(ended, SIGKILL);
      ++killed;
      ASSERT_EQ(in_a_process(data, 0), 0) << "point " << fatal;
    }
    const std::string result = content_of(data / "result");
    if (fatal == 0) expected = result;
    // A tool that was about to run, or ran, when the process died: it does not run again, and the transcript
    // says that its outcome is not known.
    const bool hidden = result.find("hidden") != std::string::npos;
    const std::string ledger = content_of(data / "ledger");
    if (hidden) {
      EXPECT_THAT(ledger, AnyOf("a3\na8\n", "a3\n", "a8\n")) << "point " << fatal;
    } else {
      EXPECT_EQ(result, expected) << "point " << fatal;
      EXPECT_EQ(ledger, "a3\na8\n") << "point " << fatal;
    }
    EXPECT_EQ(result.substr(0, 3), "10 ") << "point " << fatal;
    std::filesystem::remove_all(data);
  }
  // Ten supersteps and the entry are commits, each with a point before it and one after; the turns of the two
  // that pay have writes of their own.
  EXPECT_GE(killed, 30);
  std::filesystem::remove_all(root);
}

}  // namespace kill_test
}  // namespace tertulia
