// Whole runs of three agents whose models answer at once, durable in SQLite with synchronous FULL; what a
// superstep costs outside of storage, what a view costs, and what checkpoints weigh.
//
//   bench_workflow [--rates] [directory]      a directory on the disk to measure; the current one by default
//
// With --rates only the runs in a second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include "tertulia/store/memory_store.h"
#include "tertulia/store/session_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"
#include "tertulia/workflow/workflow_engine.h"

#include "figure.h"
#include "timing.h"

namespace tertulia {
namespace {

using bench::print_figure;
using bench::seconds_since;
using SteadyClock = std::chrono::steady_clock;

// What the processor has worked for this program: the machine is shared.
double worked_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

class InstantModel final : public LanguageModel {
 public:
  explicit InstantModel(std::size_t bytes) : answer_(bytes, 'a') {}
  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .context_tokens = 10'000'000, .tokenizer = tokenizer_};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    call.on_delta({.kind = ModelDelta::Kind::kText, .text = answer_});
    done(ModelResponse{.parts = {{.text = answer_}}, .model = call.request.model});
  }

 private:
  const std::string answer_;
  const std::shared_ptr<const Tokenizer> tokenizer_ = estimating_tokenizer();
};

AgentDefinitionPtr agent(const std::string& id, std::size_t bytes = 400) {
  auto made = std::make_shared<AgentDefinition>();
  made->spec.id = AgentId::parse(id).value();
  made->spec.name = id;
  made->spec.model = "instant";
  made->spec.memory.max_working_memory_tokens = Tokens{10'000'000};
  made->model = std::make_shared<InstantModel>(bytes);
  made->model_name = "instant";
  made->tools = std::make_shared<ToolRegistry>();
  return made;
}

Workflow sequential() {
  return SequentialBuilder().add(agent("a")).add(agent("b")).add(agent("c")).build().value();
}
Workflow concurrent() {
  return ConcurrentBuilder().add(agent("a")).add(agent("b")).add(agent("c")).build().value();
}

// A conversation in which so many runs of three agents have taken place.
void fill(Store& store, const std::string& session, std::size_t runs) {
  SessionStore sessions(store, real_env().clock());
  const SessionId id = SessionId::parse(session).value();
  Revision revision = sessions.load_session_and_branch(id).value().session.revision;
  UuidMaker uuids(real_env().clock(), real_env().random());
  for (std::size_t i = 0; i < runs; ++i) {
    std::vector<Message> said;
    const auto say = [&](Role role, const char* author, std::size_t bytes) {
      const std::string text(bytes, 'a');
      said.push_back(Message::make({.id = MessageId(uuids.make()),
                                    .role = role,
                                    .author = author,
                                    .tokens = Tokens{bytes / 4},
                                    .counted = Counted::kEstimate,
                                    .parts = {Part::text_of(text)}})
                         .value());
    };
    say(Role::kUser, "", 200);
    for (const char* author : {"a", "b", "c"}) say(Role::kAssistant, author, 400);
    Turn turn = Turn::from_messages(TurnId(uuids.make()), std::move(said)).value();
    revision = sessions.append_turn(id, revision, {.branch = main_branch(), .turn = std::move(turn)}).value();
  }
}

// With runs `before`, in 64 conversations that so many have taken place in; else each run begins one.
double runs_per_second(const Path& directory, const Workflow& workflow, std::size_t at_once, std::size_t each,
                       std::size_t before) {
  std::filesystem::remove_all(directory);
  double rate = 0;
  {
    std::shared_ptr<Store> store = open_sqlite_store(real_env(), directory).value();
    auto engine = Engine::open({.store = store}).value();
    auto workflows = WorkflowEngine::open({.engine = engine}).value();
    const std::string message(200, 'm');
    std::vector<std::string> sessions(64);
    for (std::size_t i = 0; before > 0 && i < sessions.size(); ++i) {
      sessions[i] = "s" + std::to_string(i);
      fill(*store, sessions[i], before);
    }
    const auto start = SteadyClock::now();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < at_once; ++i) {
      threads.emplace_back([&, i] {
        for (std::size_t n = 0; n < each; ++n) {
          const std::string& session = sessions[(i + n * at_once) % sessions.size()];
          workflows->run(workflow, message, {.session = session}).result().value();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    rate = static_cast<double>(at_once * each) / seconds_since(start);
  }
  std::filesystem::remove_all(directory);
  return rate;
}

void superstep_overhead() {
  WorkflowBuilder builder("chain");
  constexpr std::size_t kNodes = 90;
  for (std::size_t i = 0; i < kNodes; ++i) {
    Node node = make_node<std::string>("n" + std::to_string(i), [](std::string text) { return text; });
    node.blocks = false;
    builder.add(node);
    if (i > 0) builder.edge("n" + std::to_string(i - 1), node.id);
  }
  const Workflow workflow = builder.start("n0").build().value();
  auto workflows = WorkflowEngine::open({.engine = Engine::open({}).value()}).value();
  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    const double start = worked_seconds();
    workflows->run(workflow, "text").result().value();
    times.push_back((worked_seconds() - start) * 1e6 / kNodes);
  }
  print_figure("workflow.superstep_overhead", median(times), "µs", "< 50",
               "work of the processor outside of storage");
}

ConversationManager manager_of(std::size_t messages) {
  Branch branch;
  branch.id = BranchId::parse("main").value();
  UuidMaker uuids(real_env().clock(), real_env().random());
  for (std::size_t i = 0; i < messages; ++i) {
    const Message message =
        Message::text(MessageId(uuids.make()), Role::kUser, std::string(200, 'x'), Time{}).value();
    branch.transcript.append(Turn::from_messages(TurnId(uuids.make()), {message}).value(), Revision{i + 1});
  }
  ConversationManager manager({}, branch, messages - 1, 1);
  ConversationPolicy policy;
  policy.max_turns = 50;
  manager.set_policy("a", policy);
  return manager;
}

// In turns, so that whatever else the machine does is the same for both.
void view_cost() {
  const ConversationManager long_one = manager_of(10'000);
  const ConversationManager short_one = manager_of(100);
  const auto cost = [](const ConversationManager& manager) {
    const double start = worked_seconds();
    for (int i = 0; i < 10; ++i) (void)manager.view_for("a").value();
    return worked_seconds() - start;
  };
  std::vector<double> times_long;
  std::vector<double> times_short;
  for (int i = 0; i < 100; ++i) {
    times_long.push_back(cost(long_one));
    times_short.push_back(cost(short_one));
  }
  print_figure("workflow.view_10000", median(times_long) / median(times_short), "times", "<= 1.3",
               "a view over 100 messages, both cut to 50 turns");
}

// A run of 200 turns with every checkpoint kept.
void checkpoint_bytes() {
  std::shared_ptr<Store> store = open_memory_store();
  auto engine = Engine::open({.store = store}).value();
  auto workflows = WorkflowEngine::open({.engine = engine, .keep_checkpoints = 0}).value();
  Node gate;
  gate.id = "gate";
  gate.internal = true;
  gate.body = [](NodeContext& context, const Done<void>& done) {
    if (context.conversation().transcript().size() <= 200) context.send(ConversationUpdate{});
    done({});
  };
  const Workflow workflow = WorkflowBuilder("long")
                                .add(gate)
                                .add(agent_node(agent("a")))
                                .start("gate")
                                .edge("gate", "a")
                                .edge("a", "gate")
                                .output_from({"gate"})
                                .max_supersteps(1'000)
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, std::string(200, 'm')).result().value();
  std::size_t raw = 0;
  for (const Message& message : View(outcome.snapshot.transcript)) raw += message.block().size();
  std::size_t stored = 0;
  RecordQuery query{.tenant = outcome.key.tenant,
                    .owner = outcome.key.owner,
                    .session = outcome.key.session,
                    .kind = RecordKind::kCheckpoint,
                    .limit = 1'000};
  for (const StoredRecord& one : read_records(*store, query).value().records)
    stored += one.record.payload.size();
  print_figure("workflow.checkpoint_bytes", static_cast<double>(stored) / static_cast<double>(raw), "times",
               "<= 2", "the raw messages of a run of 200 turns, every checkpoint kept");
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) {
  using namespace tertulia;
  const bool rates_only = argc > 1 && std::string_view(argv[1]) == "--rates";
  const int place = rates_only ? 2 : 1;
  const Path directory =
      Path(argc > place ? argv[place] : ".") / ("workflow-bench-" + std::to_string(::getpid()));
  for (const auto& [name, workflow] :
       {std::pair{"sequential", sequential()}, std::pair{"concurrent", concurrent()}}) {
    const std::string figure = std::string("workflow.runs_per_second_") + name;
    for (const std::size_t before : {std::size_t{0}, std::size_t{50}}) {
      const std::string where = before == 0 ? "" : "_in_a_conversation";
      print_figure(figure + where, runs_per_second(directory, workflow, 1, 320, before), "1/s", "",
                   "3 agents, one at a time");
      print_figure(figure + where + "_64", runs_per_second(directory, workflow, 64, 20, before), "1/s", "",
                   "3 agents, 64 at once");
    }
  }
  if (rates_only) return 0;
  superstep_overhead();
  view_cost();
  checkpoint_bytes();
}
