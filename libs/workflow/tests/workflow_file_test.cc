// Workflows as TOML: every kind and every key, and what is wrong with a file.
#include "tertulia/workflow/workflow_file.h"

#include "workflow_fixture.h"

namespace tertulia {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class WorkflowFileTest : public WorkflowTest {
 protected:
  std::map<std::string, std::shared_ptr<ScriptedModel>> models;
  std::map<std::string, std::string> files;

  // What an agent of this name says, in order.
  void script(const std::string& id, const std::vector<std::string>& answers) {
    auto& model = models[id];
    if (!model) model = scripted_model();
    for (const std::string& answer : answers) model->add(ModelStep().say(answer));
  }
  Result<Workflow> read(const std::string& toml) {
    WorkflowParts parts;
    parts.agents = [this](const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
      auto& model = models[declared.id];
      if (!model) model = scripted_model();
      return agent_with(declared.id, model);
    };
    parts.known = [this](const std::string& id) -> Result<AgentDefinitionPtr> {
      if (id != "support") return Error(ErrorCode::kNotFound, "there is no agent '" + id + "'");
      script("support", {"Support."});
      return agent_with(id, models.at(id));
    };
    parts.workflows = [this](const std::string& file) -> Result<Workflow> { return read(files.at(file)); };
    return read_workflow(toml, "w.toml", parts);
  }
  std::vector<std::string> said(const std::string& toml, const std::string& text = "Go.") {
    const Result<Workflow> workflow = read(toml);
    if (!workflow) return {workflow.error().message()};
    const auto outcome = workflows->run(*workflow, text).result();
    if (!outcome) return {outcome.error().message()};
    return lines_of(outcome->snapshot.transcript);
  }
  std::string problem(const std::string& toml) {
    const Result<Workflow> workflow = read(toml);
    return workflow ? "none" : workflow.error().message();
  }
};

constexpr const char* kTwo = R"(
participants = ["a", "b"]
[agents.a]
[agents.b]
)";

TEST_F(WorkflowFileTest, EachKindIsWhatItsBuilderMakes) {
  script("a", {"A.", "A.", "A.", "A.", "A."});
  script("b", {"B.", "B.", "B.", "B.", "B."});
  const std::string two = kTwo;
  EXPECT_THAT(said("[workflow]\nkind = \"sequential\"" + two), ElementsAre("user: Go.", "a: A.", "b: B."));
  EXPECT_THAT(said("[workflow]\nkind = \"concurrent\"" + two), ElementsAre("user: Go.", "a: A.", "b: B."));
  EXPECT_THAT(said("[workflow]\nkind = \"group_chat\"\nmax_rounds = 2" + two),
              ElementsAre("user: Go.", "a: A.", "b: B."));
  EXPECT_THAT(
      said("[workflow]\nkind = \"handoff\"\nstart = \"b\"\nterminate_when = { ends_with = \".\" }" + two,
           "Go"),
      ElementsAre("user: Go", "b: B."));
  EXPECT_THAT(
      said("[workflow]\nkind = \"graph\"\nstart = \"b\"\nedges = [{ from = \"b\", to = \"a\" }]" + two),
      ElementsAre("user: Go.", "b: B.", "a: A."));
}

TEST_F(WorkflowFileTest, AGraphBranchesByWhatWasSaidAndLoopsUntilItIsGood) {
  script("writer", {"A draft.", "A better one."});
  script("critic", {"Too short.", "Good."});
  script("publisher", {"Published."});
  EXPECT_THAT(said(R"(
[workflow]
kind = "graph"
participants = ["writer", "critic", "publisher"]
start = "writer"
outputs = ["publisher"]
intermediate = ["writer"]
[[workflow.edges]]
from = "writer"
to = "critic"
[[workflow.edges]]
from = "critic"
cases = [{ when = { all = [{ contains = "Good" }, { not = { contains = "short" } }] }, to = "publisher" }]
otherwise = "writer"
[agents.writer]
[agents.critic]
[agents.publisher]
)"),
              ElementsAre("user: Go.", "writer: A draft.", "critic: Too short.", "writer: A better one.",
                          "critic: Good.", "publisher: Published."));
}

TEST_F(WorkflowFileTest, AGraphFansOutAndInAndTakesEdgesThatHold) {
  for (const char* id : {"a", "b", "c", "d"}) script(id, {std::string(id) + " speaks."});
  EXPECT_THAT(said(R"(
[workflow]
kind = "graph"
participants = ["a", "b", "c", "d", "e"]
[[workflow.edges]]
from = "a"
to = ["b", "c"]
[[workflow.edges]]
from = ["b", "c"]
to = "d"
[[workflow.edges]]
from = "d"
to = "e"
when = { any = [{ equals = "nothing" }, { starts_with = "never" }] }
[agents.a]
[agents.b]
[agents.c]
[agents.d]
[agents.e]
)"),
              ElementsAre("user: Go.", "a: a speaks.", "b: b speaks.", "c: c speaks.", "d: d speaks."));
}

TEST_F(WorkflowFileTest, WhoSummarisesMayBeAnAgent) {
  script("a", {"A."});
  script("b", {"B."});
  script("sum", {"Both."});
  EXPECT_THAT(said(R"(
[workflow]
kind = "concurrent"
participants = ["a", "b"]
aggregator = "sum"
[agents.a]
[agents.b]
[agents.sum]
)"),
              ElementsAre("user: Go.", "a: A.", "b: B.", "sum: Both."));
  EXPECT_THAT(seen_by(models["sum"]->requests().at(0)),
              ElementsAre("user: Go.", "user: a: A.", "user: b: B."));
}

TEST_F(WorkflowFileTest, AParticipantTakesPartAsItsTableSays) {
  script("a", {"A."});
  script("c", {"C."});
  models["b"] = scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "not now")});
  const Workflow workflow = read(R"(
[workflow]
participants = ["a", "b", "c"]
[participants.a]
thread = "fork"
review = true
[participants.b]
skip = true
[participants.c]
context = "last_agent"
retention = "latest_only"
max_turns = 5
max_tokens = 1000
roles = ["user", "assistant"]
retries = 1
silent = true
[agents.a]
[agents.b]
[agents.c]
)")
                                .value();
  const Workflow::Graph& graph = workflow.graph();
  EXPECT_EQ(graph.find("a")->speaker->thread, ThreadKind::kFork);
  const ConversationPolicy& policy = graph.find("c")->speaker->policy;
  EXPECT_EQ(policy.context, ContextMode::kLastAgent);
  EXPECT_EQ(policy.retention, Retention::kLatestOnly);
  EXPECT_EQ(policy.max_turns, 5U);
  EXPECT_EQ(policy.max_tokens, Tokens{1000});
  EXPECT_THAT(policy.roles, ElementsAre(Role::kUser, Role::kAssistant));
  EXPECT_EQ(graph.find("c")->on_failure, OnFailure{.retries = 1});
  const WorkflowOutcome asked = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  ASSERT_THAT(asked.requests, SizeIs(1));
  const WorkflowOutcome done =
      workflows->resume(workflow, asked.key, asked.run, {.answers = {{asked.requests[0].id, ""}}})
          .result()
          .value();
  EXPECT_THAT(lines_of(done.snapshot.transcript), ElementsAre("user: Go.", "a: A."));
  EXPECT_EQ(done.text(), "C.");
}

TEST_F(WorkflowFileTest, AFileNamesAgentsOfTheConfigurationAndOtherWorkflows) {
  script("x", {"Inside."});
  files["team.toml"] = "[workflow]\nname = \"team\"\nparticipants = [\"x\"]\n[agents.x]\n";
  EXPECT_THAT(said(R"(
[workflow]
participants = ["support", "team"]
[workflows.team]
file = "team.toml"
share_session = true
)"),
              ElementsAre("user: Go.", "support: Support.", "team: Inside."));
}

TEST_F(WorkflowFileTest, APlannerAndItsLimitsAreKeys) {
  script("boss", {"Facts.", "Plan."});
  const Workflow workflow = read(R"(
[workflow]
kind = "magentic"
participants = ["a"]
manager = "boss"
max_rounds = 3
max_stalls = 1
max_resets = 1
ledger_tries = 1
plan_review = true
[agents.a]
[agents.boss]
)")
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "A task.").result().value();
  ASSERT_THAT(outcome.requests, SizeIs(1));
  EXPECT_EQ(*outcome.requests[0].data.as_object()->find("kind"), Json("plan_review"));
}

TEST_F(WorkflowFileTest, WhatIsWrongIsSaidWithItsPlaceAndTheNearestName) {
  const std::string two = kTwo;
  const auto graph = [&](const std::string& edges) {
    return problem("[workflow]\nkind = \"graph\"\nedges = [" + edges + "]" + two);
  };
  EXPECT_THAT(problem("[workflow]\nkind = \"squential\""), HasSubstr("did you mean 'sequential'"));
  EXPECT_THAT(problem("[workflow]\nparticipants = [\"writr\"]\n[agents.writer]\n"),
              HasSubstr("no agent 'writr' (did you mean 'writer'?)"));
  EXPECT_THAT(problem("[workflow]\nkind = \"concurrent\"\ncontext = \"full\"" + two), HasSubstr("'context'"));
  EXPECT_THAT(problem("[workflow]" + two + "[participants.a]\nthred = \"own\"\n"), HasSubstr("'thred'"));
  EXPECT_THAT(problem("[workflow]" + two + "[participants.a]\nthread = \"owm\"\n"),
              HasSubstr("participants.a: the thread 'owm' is not known (did you mean 'own'?)"));
  EXPECT_THAT(problem("[workflow]" + two + "[participants.c]\nreview = true\n"),
              HasSubstr("'c' is not known"));
  EXPECT_THAT(graph(R"({ from = "a", to = "b", when = { contians = "x" } })"),
              HasSubstr("did you mean 'contains'"));
  EXPECT_THAT(graph(R"({ from = "a", to = "b", when = {} })"), HasSubstr("a table of one key"));
  EXPECT_THAT(graph(R"({ from = ["a", "b"], to = ["a", "b"] })"), HasSubstr("not both"));
  EXPECT_THAT(graph(R"({ from = "a" })"), HasSubstr("'to'"));
  EXPECT_THAT(graph(R"({ from = "a", to = "ghost" })"), HasSubstr("no node 'ghost'"));
  files["team.toml"] = "[workflow]\nparticipants = [\"x\"]\n[agents.x]\n";
  EXPECT_THAT(problem("[workflow]\nkind = \"handoff\"\nparticipants = [\"team\"]\n[workflows.team]\nfile = "
                      "\"team.toml\"\n"),
              HasSubstr("'team' is a workflow"));
}

TEST_F(WorkflowFileTest, AChangedConditionIsAnotherGraph) {
  const auto with = [&](const std::string& word) {
    return read("[workflow]\nkind = \"graph\"\nedges = [{ from = \"a\", to = \"b\", when = { contains = \"" +
                word + "\" } }]" + std::string(kTwo))
        .value();
  };
  EXPECT_EQ(with("x").signature(), with("x").signature());
  EXPECT_NE(with("x").signature(), with("y").signature());
  EXPECT_THAT(with("x").signature(), Contains(HasSubstr("contains \"x\"")));
}

}  // namespace
}  // namespace tertulia
