#include "host/host.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"

#include "host/host_settings.h"
#include "host/model_choices.h"
#include "host/reaper.h"
#include "host/workflow_agents.h"

namespace tertulia {
namespace host_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class HostTest : public testing::Test {
 protected:
  HostTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "tertulia-host-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    environment_ = {{"HOME", directory_.string()}, {"PATH", "/usr/bin:/bin"}};
  }
  ~HostTest() override { std::filesystem::remove_all(directory_); }

  Result<Config> load(const std::string& toml) {
    const Path file = directory_ / "config.toml";
    std::ofstream(file) << "data = \"data\"\n" << toml;
    ::chmod(file.c_str(), 0600);
    return load_config(host_settings(environment_), real_env().files(),
                       {.file = file, .environment = environment_, .flags = {}, .tables = host_tables()});
  }
  Result<HostPlan> plan(const std::string& toml) {
    TERTULIA_TRY_AS(const Config config, load(toml));
    return plan_host(config, environment_);
  }
  // What is wrong with this file, with places such as ":3:1".
  std::string problems(const std::string& toml) {
    const Result<HostPlan> planned = plan(toml);
    if (planned) return "none";
    EXPECT_EQ(planned.error().code(), ErrorCode::kBadConfig);
    return planned.error().message();
  }
  std::unique_ptr<Host> open(const std::string& toml, HostOptions options = {}) {
    options.environment = environment_;
    return Host::open(load(toml).value(), std::move(options)).value();
  }
  static std::vector<std::string> tools_of(const Host& host, std::string_view agent) {
    std::vector<std::string> names;
    const AgentDefinitionPtr definition = host.agent(agent).value();
    const ToolSetPtr tools = definition->tools->snapshot();
    for (const ToolEntry& entry : tools->entries()) names.push_back(entry.name());
    return names;
  }

  Path directory_;
  Environment environment_;
};

TEST_F(HostTest, WithoutAnyConfigurationThereIsADefaultAgentThatSpeaksOffline) {
  const auto host = open("");
  EXPECT_THAT(host->agents(), ElementsAre("default"));
  EXPECT_THAT(tools_of(*host, "default"), ElementsAre("calculator", "clock", "end_conversation"));
  tertulia::Run run = host->engine()->run(host->agent("default").value(), {.text = "Add 10 and 20"}, "s", {});
  EXPECT_THAT(run.result().value().text, HasSubstr("30"));
  EXPECT_THAT(host->warnings(), ElementsAre());
}

TEST_F(HostTest, ASessionWhoseTurnHasFailedEndsByAnErrorWhenNobodyComesBack) {
  const auto host = open(
      "[models.gone]\nprovider = \"openai-compatible\"\nmodel = \"m\"\n"
      "base_url = \"http://127.0.0.1:1/v1\"\n[agents.default]\nmodel = \"gone\"\n");
  const AgentDefinitionPtr agent = host->agent("default").value();
  std::vector<tertulia::Run> runs;
  for (const char* session : {"left", "asked"})
    runs.push_back(host->engine()->run(agent, {.text = "Book a table"}, session, {}));
  for (tertulia::Run& run : runs) EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  const SessionKey left = local_key(*SessionId::parse("left"));
  const SessionKey asked = local_key(*SessionId::parse("asked"));
  Note question{.key = asked, .conditions = {}, .changes = {}};
  question.changes.emplace_back(AddRecord{
      {.stream = {.kind = RecordKind::kQuestion, .branch = main_branch(), .scope = "q"}, .number = 1}});
  ASSERT_TRUE(note(host->store(), std::move(question)));
  RuleBook rules = host->memory()->rules();
  for (auto& [name, one] : rules.agents) one.idle_timeout = Duration::zero();
  rules.others.idle_timeout = Duration::zero();
  const auto report = reap_and_give_up(*host->memory(), rules, give_up_turns(host->engine(), agent));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(report->broken, ElementsAre(left));
  EXPECT_THAT(report->busy, ElementsAre(asked));
  EXPECT_EQ(report->episodes, 1U);
  const SessionState state = tertulia::load(host->store(), left).value();
  EXPECT_EQ(state.session.status, SessionStatus::kClosed);
  EXPECT_EQ(state.session.end_reason, EndReason::kError);
  EXPECT_EQ(state.branches.at(0).message_count, 1U);
}

TEST_F(HostTest, AnAgentMayBeGivenAToolThatLooksIntoItsMemory) {
  const auto host = open("[agents.clerk]\ntools = [\"memory\", \"clock\"]\n");
  EXPECT_THAT(tools_of(*host, "clerk"), ElementsAre("search_memory", "clock"));
}

TEST_F(HostTest, TheUsualModelMayBeOneOfThoseThatHaveNames) {
  const std::string named =
      "[models.words]\nprovider = \"openai-compatible\"\nmodel = \"m\"\n"
      "base_url = \"http://127.0.0.1:1/v1\"\n[model]\nname = \"words\"\n";
  const HostPlan planned = plan(named).value();
  EXPECT_EQ(planned.models.at("").name, "openai-compatible/m");
  EXPECT_EQ(planned.models.at("").provider.base_url, "http://127.0.0.1:1/v1");
  // Agents of a workflow that name no model have it, too.
  const Path file = directory_ / "two.toml";
  std::ofstream(file) << "[workflow]\nname = \"two\"\nparticipants = [\"one\"]\n[agents.one]\n"
                         "instructions = \"Speak.\"\n";
  const auto host = open(named);
  const WorkflowFile flow = WorkflowFile::read({.file = file}, host->workflow_agents()).value();
  std::string model;
  flow.make([&](const AgentDefinitionPtr& agent) {
        model = agent->model_name;
        return agent;
      })
      .value();
  EXPECT_EQ(model, "m");
}

TEST_F(HostTest, AgentsOfAWorkflowFileHaveTheToolsAndPermissionsOfTheConfiguration) {
  std::filesystem::create_directories(directory_ / "work");
  const auto host = open("[tools.files]\nroot = \"" + (directory_ / "work").string() + "\"\n");
  const Path file = directory_ / "clerk.toml";
  const auto clerk = [&](const std::string& keys) -> Result<AgentDefinitionPtr> {
    std::ofstream(file) << "[workflow]\nname = \"one\"\nparticipants = [\"clerk\"]\n[agents.clerk]\n" << keys;
    TERTULIA_TRY_AS(const WorkflowFile flow, WorkflowFile::read({.file = file}, host->workflow_agents()));
    AgentDefinitionPtr made;
    TERTULIA_TRY(flow.make([&](const AgentDefinitionPtr& agent) { return made = agent; }));
    return made;
  };
  const AgentDefinitionPtr agent =
      clerk(
          "tools = [\"files\", \"end_conversation\"]\n[agents.clerk.permissions]\nread_only = \"ask\"\n"
          "timeout = \"1h\"\ntools = { write_file = \"allow\" }\n")
          .value();
  EXPECT_NE(agent->tools->snapshot()->find("write_file"), nullptr);
  EXPECT_EQ(agent->permissions->read_only, Permission::kAsk);
  EXPECT_EQ(agent->permissions->timeout, std::chrono::hours(1));
  const auto may = [&](const char* tool) {
    return permission_for(*agent->permissions, {}, tool, ToolClass::kUnsafe, "");
  };
  EXPECT_EQ(may("write_file"), Permission::kAllow);
  EXPECT_EQ(may("other"), Permission::kAsk);
  EXPECT_EQ(may("end_conversation"), Permission::kAllow) << "as for agents of the configuration";
  // Without a word about it, what may change something is asked about.
  EXPECT_EQ(clerk("tools = [\"files\"]\n").value()->permissions->unsafe, Permission::kAsk);

  const auto wrong = [&](const std::string& keys) { return clerk(keys).error().message(); };
  EXPECT_THAT(
      wrong("permissions = { unsave = \"ask\" }\n"),
      AllOf(HasSubstr("clerk.toml: agents.clerk.permissions.unsave"), HasSubstr("permissions.unsafe")));
  EXPECT_THAT(wrong("permissions = { unsafe = \"maybe\" }\n"), HasSubstr("permissions.unsafe"));
  EXPECT_THAT(wrong("permissions = { tools = { clock = 1 } }\n"),
              HasSubstr("permissions.tools.clock: must be one of ask, allow, deny"));
  EXPECT_THAT(wrong("permissions = \"ask\"\n"), HasSubstr("permissions: must be a table"));
  EXPECT_THAT(wrong("tools = [\"clok\"]\n"), HasSubstr("did you mean 'clock'?"));
  EXPECT_THAT(wrong("tools = [\"process\"]\n"), HasSubstr("tools.process.root"));
}

TEST_F(HostTest, WhatWasSaidInAnEndedConversationIsRecalledInAnother) {
  const auto host = open("");
  const AgentDefinitionPtr agent = host->agent("default").value();
  host->engine()->run(agent, {.text = "My dog Rex loves the beach."}, "first", {}).result().value();
  host->memory()->close(local_key(SessionId::parse("first").value()), EndReason::kUserClosed).value();
  bool recalled = false;
  for (const Event& event :
       host->engine()->run(agent, {.text = "What does my dog Rex love?"}, "second", {})) {
    if (event.kind == EventKind::kReceipt) {
      recalled = recalled || event.data.text().find("\"episode\"") != std::string_view::npos;
    }
  }
  EXPECT_TRUE(recalled);
}

// Whether the receipt of a turn says that knowledge was shown.
bool is_shown_knowledge(Host& host, const std::string& agent, const std::string& question) {
  const std::string session = agent + "-" + std::to_string(question.size());
  host.engine()->run(host.agent(agent).value(), {.text = question}, session, {}).result().value();
  const SessionKey key = local_key(SessionId::parse(session).value());
  const std::vector<Receipt> receipts = read_last_receipts(host.store(), key, main_branch()).value();
  return std::ranges::any_of(receipts.front().items, [](const ReceiptItem& item) {
    return item.tier == Tier::kKnowledge && item.fate == Fate::kKept;
  });
}

TEST_F(HostTest, AnAgentRecallsFromTheCollectionsThatItsTableNames) {
  const auto host = open(
      "[agents.desk.memory]\nshared = [\"handbook\"]\n"
      "[agents.guest.memory]\nrecall_user = false\nrecall_agent = false\n");
  const MemoryWriter writer{.kind = WriterKind::kOperator, .name = "test"};
  const SessionKey own = local_key(SessionId::parse("s").value());
  SemanticMemory written(host->store(), real_env(), static_embedder());
  written
      .remember(shared_collection(own.tenant, "handbook").value(), {.text = "The office closes at six"},
                writer)
      .value();
  written.remember(user_collection(own.tenant, own.owner).value(), {.text = "I live in Lisbon"}, writer)
      .value();
  host->memory()->prepare();
  EXPECT_TRUE(is_shown_knowledge(*host, "desk", "When does the office close?"));
  EXPECT_TRUE(is_shown_knowledge(*host, "desk", "Where do I live?"));
  EXPECT_FALSE(is_shown_knowledge(*host, "guest", "When does the office close?"));
  EXPECT_FALSE(is_shown_knowledge(*host, "guest", "Where do I live?"));
}

TEST_F(HostTest, ADocumentIsShownToQuestionsThatItAnswersAndToNoOthersWithoutAnySetting) {
  const auto host = open("");
  const SessionKey own = local_key(SessionId::parse("s").value());
  SemanticMemory written(host->store(), real_env(), static_embedder());
  written
      .ingest(user_collection(own.tenant, own.owner).value(),
              {.source = "shop.md",
               .format = DocumentFormat::kMarkdown,
               .bytes = "# Opening hours\n\nThe shop is open from Monday to Friday from 9:00 to 18:30 and on "
                        "Saturdays from 10:00 to 14:00.\n\n# Returns\n\nUnused goods can be returned "
                        "within 30 days with the receipt.\n"},
              {.kind = WriterKind::kOperator, .name = "test"})
      .value();
  host->memory()->prepare();
  for (const char* question :
       {"When does the shop open on Saturdays?", "Until when are you open on a Friday?",
        "How many days do I have to return something?"}) {
    EXPECT_TRUE(is_shown_knowledge(*host, "default", question)) << question;
  }
  for (const char* question :
       {"What is the capital of Mongolia?", "Tell me a joke about accountants.", "Why is the sky blue?"}) {
    EXPECT_FALSE(is_shown_knowledge(*host, "default", question)) << question;
  }
}

TEST_F(HostTest, SessionsEndAsTheTablesOfTheirAgentsSay) {
  const auto host = open(
      "[agents.slow]\nlimits = { idle_timeout = \"2h\" }\n"
      "memory = { semantic_learning = true, episodic_delete_days = 500 }\n");
  const RuleBook& book = host->memory()->rules();
  const SessionRules& slow = book.agents.at("slow");
  EXPECT_EQ(slow.idle_timeout, std::chrono::hours(2));
  EXPECT_TRUE(slow.learn_facts);
  EXPECT_EQ(slow.delete_days, 500U);
  EXPECT_EQ(book.others, SessionRules());
}

TEST_F(HostTest, EveryKeyOfAnAgentReachesItsSpec) {
  const HostPlan planned = plan(R"(
[models.local]
provider = "openai-compatible"
model = "llama"
base_url = "http://127.0.0.1:9"
key_env = "LOCAL_KEY"
[agents.helper]
name = "Helper"
persona = "A patient clerk."
system_prompt = "Be brief."
model = "local"
tools = ["clock"]
on_return = "fresh"
permissions = { unsafe = "deny", timeout = "10s", tools = { clock = "ask" } }
limits = { queue = 3, tool_timeout = "5s", message_bytes = "2KiB" }
[agents.helper.memory]
pruning = "sliding_window"
semantic_min_score = 0.5
episodic_enabled = false
)")
                               .value();
  const AgentPlan& helper = planned.agents.at("helper");
  EXPECT_EQ(helper.spec.name, "Helper");
  EXPECT_EQ(helper.spec.persona, "A patient clerk.");
  EXPECT_EQ(helper.spec.on_return, OnReturn::kFresh);
  EXPECT_EQ(helper.permissions.unsafe, Permission::kDeny);
  EXPECT_EQ(helper.permissions.timeout, std::chrono::seconds(10));
  EXPECT_THAT(helper.permissions.rules, testing::Contains(PermissionRule{"clock", "", Permission::kAsk}));
  EXPECT_EQ(helper.spec.limits.queue, 3U);
  EXPECT_EQ(helper.spec.limits.tool_timeout, std::chrono::seconds(5));
  EXPECT_EQ(helper.spec.limits.message_bytes, 2048U);
  EXPECT_EQ(helper.spec.memory.pruning, Pruning::kSlidingWindow);
  EXPECT_DOUBLE_EQ(helper.spec.memory.semantic_min_score, 0.5);
  EXPECT_FALSE(helper.spec.memory.episodic_enabled);
  EXPECT_EQ(planned.models.at("local").name, "openai-compatible/llama");
  EXPECT_EQ(planned.models.at("local").provider.base_url, "http://127.0.0.1:9");
}

TEST_F(HostTest, AnAgentGetsTheMiddlewareThatItsTableNames) {
  const auto host = open(R"(
[agents.plain]
[agents.careful]
middleware = { plan = true, retries = 2, repeats = 3, redact = "both", redact_patterns = ["secret-[0-9]+"] }
spending = { session_tokens = 1000, turn_cents = 50, input_cents = 300 }
)");
  EXPECT_TRUE(host->agent("plain").value()->middleware.empty());
  std::vector<std::string> names;
  for (const MiddlewarePtr& one : host->agent("careful").value()->middleware) names.emplace_back(one->name());
  EXPECT_THAT(names, ElementsAre("limits", "redaction", "plan", "breaker", "retry"));
  EXPECT_THAT(tools_of(*host, "careful"), testing::Contains("plan"));
}

TEST_F(HostTest, TheMiddlewareOfTheHostIsAroundThatOfTheTable) {
  const auto host =
      open("[agents.a]\nmiddleware = { plan = true }\n", {.middleware = {logging_middleware()}});
  std::vector<std::string> names;
  for (const MiddlewarePtr& one : host->agent("a").value()->middleware) names.emplace_back(one->name());
  EXPECT_THAT(names, ElementsAre("logging", "plan"));
}

TEST_F(HostTest, AnAgentStopsAtTheSpendingOfItsTable) {
  const auto host = open("[agents.default]\nspending = { session_requests = 1 }\n");
  const AgentDefinitionPtr agent = host->agent("default").value();
  EXPECT_TRUE(host->engine()->run(agent, {.text = "Hello"}, "s", {}).result().ok());
  EXPECT_EQ(host->engine()->run(agent, {.text = "Hello"}, "s", {}).result().error().code(),
            ErrorCode::kLimitReached);
}

TEST_F(HostTest, MiddlewareThatCannotBeMadeIsAProblemWithItsPlace) {
  EXPECT_THAT(problems("[agents.a]\n[agents.a.middleware]\nredact = \"shown\"\nredact_patterns = [\"(\"]\n"),
              HasSubstr("config.toml:5:1: agents.a.middleware.redact_patterns: "));
  EXPECT_THAT(problems("[agents.a]\nspending = { turn_cents = 5 }\n"),
              HasSubstr("agents.a.spending: a limit of money needs input_cents or output_cents"));
}

TEST_F(HostTest, WhoSitsAtTheMachineMayChooseAnyModelAndOthersThoseOfTheConfiguration) {
  const std::string words =
      "[models.words]\nprovider = \"openai-compatible\"\nmodel = \"m\"\n"
      "base_url = \"http://127.0.0.1:1/v1\"\n[agents.default]\nmodel = \"words\"\n";
  const auto host = open(words);
  const ModelChoices& models = *host->models();
  const std::string offline = models.choose_any("offline").value();
  tertulia::Run run = host->engine()->run(host->agent("default").value(), {.text = "Add 10 and 20"}, "s",
                                          {.model_name = offline});
  EXPECT_THAT(run.result().value().text, HasSubstr("30"));
  EXPECT_EQ(ModelChoices::chosen_name(offline), "offline");
  EXPECT_EQ(ModelChoices::chosen_name("gpt-4o"), "");
  EXPECT_EQ(models.choose("offline").error().code(), ErrorCode::kModelNotFound);
  EXPECT_EQ(models.choose("words").value(), models.choose_any("words").value());
  EXPECT_EQ(models.choose_any("openai/gpt-4o").error().code(), ErrorCode::kModelKey);
  EXPECT_THAT(
      models.choose_any("wrods").error().message(),
      AllOf(HasSubstr("did you mean 'words'?"), HasSubstr("write 'offline' or '<provider>/<model>'")));
  // For a turn that was begun with another one.
  const std::shared_ptr<LanguageModel> always =
      ModelChoices::always(host->agent("default").value()->model, offline);
  EXPECT_EQ(always->info("m").name, "offline");
}

TEST_F(HostTest, WhatAModelTakesCanBeSaid) {
  const HostPlan planned = plan(R"(
[models.sighted]
provider = "openai-compatible"
model = "llava"
base_url = "http://127.0.0.1:9"
takes = "images"
)")
                               .value();
  EXPECT_EQ(planned.models.at("sighted").provider.images, true);
  EXPECT_EQ(planned.models.at("sighted").provider.files, false);
  EXPECT_FALSE(planned.models.at("").provider.images.has_value());
}

TEST_F(HostTest, AProblemNamesItsPlaceItsKeyAndTheNearestKnownWord) {
  EXPECT_THAT(problems("[agents.helper]\nmodle = \"offline\"\n"),
              AllOf(HasSubstr("config.toml:3:1: agents.helper.modle: is not known (did you mean 'model'?)")));
  EXPECT_THAT(problems("[agents.helper]\nlimits = { queu = 1 }\n"),
              HasSubstr("agents.helper.limits.queu: is not known (did you mean 'limits.queue'?)"));
  EXPECT_THAT(
      problems("[agents.helper]\ninstructions = \"x\"\n"),
      HasSubstr(
          "agents.helper.instructions: is not known; there are permissions, name, persona, system_prompt, "));
  EXPECT_THAT(
      problems("[agents.helper]\ntools = [\"clok\"]\n"),
      HasSubstr("config.toml:3:1: agents.helper.tools: there is no tool 'clok' (did you mean 'clock'?)"));
  EXPECT_THAT(problems("[agents.helper]\nlimits = { tool_timeout = 5 }\n"), HasSubstr("must be a duration"));
  EXPECT_THAT(problems("[agents.helper]\nmemory = { semantic_min_score = 2 }\n"),
              HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(problems("[agents.helper]\nmemory = { shared = [\"a/b\"] }\n"),
              HasSubstr("agents.helper.memory.shared: "));
  EXPECT_THAT(
      problems("[agents.helper]\ntools = [\"files\"]\npermissions = { tools = { write_fil = \"deny\" } }\n"),
      HasSubstr("agents.helper.permissions.tools.write_fil: there is no tool of this name (did you mean "
                "'write_file'?)"));
  EXPECT_THAT(problems("[agents.helper]\npermissions = { tools = { pay = \"maybe\" } }\n"),
              HasSubstr("agents.helper.permissions.tools.pay: must be one of ask, allow, deny"));
  EXPECT_THAT(problems("[agents.\"no good\"]\n"), HasSubstr("agents.no good"));
  EXPECT_THAT(problems("[agents]\nhelper = 3\n"), HasSubstr("must be a table"));
  EXPECT_THAT(problems("agents = 3\n"), HasSubstr("config.toml:2:1: agents: must be a table"));
  EXPECT_THAT(problems("[mcp.files]\ncomand = \"x\"\n"),
              AllOf(HasSubstr("config.toml:3:1: mcp.files.comand"), HasSubstr("did you mean 'command'?")));
  EXPECT_THAT(problems("[mcp.files]\n"),
              HasSubstr("config.toml:2:6: mcp.files needs either a command or a url"));
  EXPECT_THAT(problems("[models.fast]\n"), HasSubstr("models.fast: needs a provider or a model"));
}

TEST_F(HostTest, AllProblemsAreToldAtOnce) {
  EXPECT_THAT(
      problems("[agents.a]\nx = 1\n[agents.b]\ny = 2\n[mcp.m]\nz = 3\n"),
      AllOf(HasSubstr("agents.a.x"), HasSubstr("agents.b.y"), HasSubstr("mcp.m"), HasSubstr("3 problems")));
}

TEST_F(HostTest, ASecretIsNeverShown) {
  const Config config = load(
                            "[models.m]\nprovider = \"openai\"\nkey = \"sk-very-secret\"\n"
                            "[mcp.s]\ncommand = \"x\"\nenv = { TOKEN = \"also-secret\" }\n")
                            .value();
  std::string all;
  for (const ExplainedSetting& row : explain_tables(config)) all += row.key + "=" + row.value + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("models.m.key=set"), HasSubstr("mcp.s.env.TOKEN=set")));
  EXPECT_THAT(all, Not(HasSubstr("secret")));
  EXPECT_THAT(problems("[models.m]\nkey = [\"sk-very-secret\"]\n"), Not(HasSubstr("sk-very-secret")));
}

TEST_F(HostTest, ToolsOfFilesNeedARootAndStayBelowIt) {
  EXPECT_THAT(problems("[agents.a]\ntools = [\"files\"]\n"), HasSubstr("need tools.files.root"));
  std::filesystem::create_directory(directory_ / "work");
  const auto host =
      open("[tools.files]\nroot = \"work\"\nread_only = true\n[agents.a]\ntools = [\"files\"]\n");
  EXPECT_THAT(tools_of(*host, "a"), ElementsAre("read_file", "list_files", "search_files"));
}

TEST_F(HostTest, AnAgentThatCannotBeMadeStopsNobodyElse) {
  const auto host = open("[agents.paid]\nmodel = \"openai/gpt-4o\"\n");
  EXPECT_EQ(host->agent("paid").error().code(), ErrorCode::kModelKey);
  EXPECT_TRUE(host->agent("default").ok());
  EXPECT_THAT(host->warnings(), ElementsAre(HasSubstr("agent 'paid'")));
}

TEST_F(HostTest, AnAgentThatIsNotThereIsAnsweredWithTheNearest) {
  const auto host = open("[agents.helper]\n");
  const auto missing = host->agent("helpr");
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr("did you mean 'helper'?"));
}

TEST_F(HostTest, AServerThatDoesNotStartIsAWarningAndItsToolsAreMissing) {
  const auto host =
      open("[mcp.none]\ncommand = \"/nowhere/at-all\"\n[agents.a]\ntools = [\"clock\", \"mcp.none\"]\n");
  EXPECT_THAT(tools_of(*host, "a"), ElementsAre("clock"));
  EXPECT_THAT(host->warnings(), ElementsAre(HasSubstr("the MCP server 'none' is not there")));
}

// The smallest server: two tools, over pipes.
constexpr const char* kServer = R"(
const lines = require('readline').createInterface({ input: process.stdin });
const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } }),
  'tools/list': () => ({ tools: [tool('one'), tool('two')] }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `${name} by ${process.pid}` }] }),
};
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]?.(params) ?? {} }));
});
)";

TEST_F(HostTest, AServerThatTwoAgentsUseRunsOnce) {
  std::ofstream(directory_ / "server.cjs") << kServer;
  const auto host =
      open("[mcp.small]\ncommand = \"node\"\nargs = [\"" + (directory_ / "server.cjs").string() +
           "\"]\n[agents.a]\ntools = [\"mcp.small\"]\n[agents.b]\ntools = [\"clock\", \"mcp.small\"]\n");
  EXPECT_THAT(host->warnings(), ElementsAre());
  EXPECT_THAT(tools_of(*host, "a"), ElementsAre("small__one", "small__two"));
  EXPECT_THAT(tools_of(*host, "b"), ElementsAre("clock", "small__one", "small__two"));
  EXPECT_EQ(host->mcp().at("small").tools, 2U);
  EXPECT_EQ(host->agent("a").value()->tools->snapshot()->find("small__one")->tool,
            host->agent("b").value()->tools->snapshot()->find("small__one")->tool);
}

TEST_F(HostTest, ARuleForAToolThatAServerDoesNotOfferIsToldOf) {
  std::ofstream(directory_ / "server.cjs") << kServer;
  const auto host =
      open("[mcp.small]\ncommand = \"node\"\nargs = [\"" + (directory_ / "server.cjs").string() +
           "\"]\n[agents.a]\ntools = [\"mcp.small\"]\n"
           "permissions = { tools = { small__on = \"deny\", small__two = \"allow\" } }\n");
  EXPECT_THAT(host->warnings(),
              ElementsAre("agent 'a' has no tool 'small__on' (did you mean 'small__one'?): its rule in "
                          "permissions.tools never holds"));
}

TEST_F(HostTest, TheNamesOfBuiltInToolsAreThoseThatAgentsHave) {
  std::filesystem::create_directory(directory_ / "root");
  const std::string root = (directory_ / "root").string();
  const auto host = open("tools.files.root = \"" + root + "\"\ntools.process.root = \"" + root +
                         "\"\ntools.process.shell = true\ntools.process.require_confinement = false\n"
                         "[agents.all]\nmiddleware = { plan = true }\n"
                         "tools = [\"calculator\", \"clock\", \"end_conversation\", \"memory\", \"fetch\", "
                         "\"post\", \"files\", \"process\"]\n");
  EXPECT_THAT(tools_of(*host, "all"), testing::UnorderedElementsAreArray(builtin_tool_names()));
}

TEST_F(HostTest, OnlyTheNamedAgentIsMade) {
  const auto host =
      open("[mcp.none]\ncommand = \"/nowhere\"\n[agents.a]\ntools = [\"mcp.none\"]\n", {.only = "default"});
  EXPECT_THAT(host->agents(), ElementsAre("default"));
  EXPECT_THAT(host->mcp(), testing::IsEmpty());
}

TEST_F(HostTest, NobodyThereToAnswerMeansDenied) {
  EXPECT_FALSE(open("")->agent("default").value()->permissions->unattended);
  EXPECT_TRUE(open("", {.unattended = true})->agent("default").value()->permissions->unattended);
}

TEST(ConfigurationGuide, ListsEveryKeyAsTheCodeHasIt) {
  const char* root = std::getenv("TERTULIA_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  std::ifstream file(Path(root) / "docs/guides/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ConfigKey& key : config_reference(host_settings({}))) {
    EXPECT_THAT(text.str(), HasSubstr(reference_row(key) + "\n"));
  }
}

}  // namespace host_test
}  // namespace tertulia
