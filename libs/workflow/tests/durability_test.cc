// What a crash, a failure, a fork and a changed graph find: checkpoints.
#include <algorithm>
#include <map>
#include <numeric>

#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "fault_store.h"
#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace durability_test {

using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DurabilityTest : public WorkflowTest {
 protected:
  SessionKey key = local_key(SessionId::parse("s").value());
  // How often each node and tool really ran.
  std::map<std::string, int> ran;
  std::mutex mutex;

  void note_run(const std::string& name) {
    const std::lock_guard lock(mutex);
    ++ran[name];
  }
  Node counted(const std::string& id) {
    return make_node<std::string>(id, [this, id](const std::string& text) {
      note_run(id);
      return text + id;
    });
  }
  Node last(const std::string& id) {
    return make_node<Json>(id, [](const Json& value, NodeContext& context) { context.output(value); });
  }
  // Fails as long as `broken` is set.
  Node failing(const std::string& id, const bool& broken) {
    return make_node<std::string>(id, [this, id, &broken](const std::string& text) -> Result<std::string> {
      note_run(id);
      if (broken) return Error(ErrorCode::kModelUnavailable, "not now");
      return text + id;
    });
  }
  Workflow chain_of(std::vector<Node> nodes) {
    WorkflowBuilder builder("w");
    builder.start(nodes.front().id);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      builder.add(nodes[i]);
      if (i > 0) builder.edge(nodes[i - 1].id, nodes[i].id);
    }
    return builder.build().value();
  }
};

TEST_F(DurabilityTest, AResumedRunDoesNotRepeatWhatWasCommitted) {
  bool broken = true;
  const Workflow workflow = chain_of({counted("a"), counted("b"), failing("c", broken), last("out")});
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  EXPECT_EQ(workflows->show(key, run.id()).value().status, WorkflowStatus::kFailed);
  EXPECT_EQ(code_of(workflows->resume(workflow, key, run.id())), ErrorCode::kModelUnavailable);
  broken = false;
  EXPECT_EQ(workflows->resume(workflow, key, run.id()).result().value().text(), "xabc");
  EXPECT_EQ(ran["a"], 1);
  EXPECT_EQ(ran["b"], 1);
  EXPECT_EQ(ran["c"], 3);
  // A run that is over is not run again: its outcome is given.
  EXPECT_EQ(workflows->resume(workflow, key, run.id()).result().value().text(), "xabc");
  EXPECT_EQ(ran["c"], 3);
}

TEST_F(DurabilityTest, WhatTheOthersDidBeforeOneFailedIsNotDoneAgain) {
  bool broken = true;
  const Workflow workflow = WorkflowBuilder("w")
                                .add(counted("a"))
                                .add(counted("b"))
                                .add(failing("c", broken))
                                .add(last("join"))
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .fan_in({"b", "c"}, "join")
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  broken = false;
  auto resumed = workflows->resume(workflow, key, run.id());
  EXPECT_THAT(names_of(resumed), Contains("executor_bypassed b"));
  EXPECT_EQ(to_text(resumed.result().value().outputs.at(0).data), R"(["xab","xac"])");
  EXPECT_EQ(ran["b"], 1);
}

TEST_F(DurabilityTest, AFanInKeepsWhatItWaitsWithAcrossARestart) {
  bool broken = true;
  const Workflow workflow = WorkflowBuilder("w")
                                .add(counted("a"))
                                .add(counted("quick"))
                                .add(counted("slow"))
                                .add(failing("slower", broken))
                                .add(last("join"))
                                .start("a")
                                .fan_out("a", {"quick", "slow"})
                                .edge("slow", "slower")
                                .fan_in({"quick", "slower"}, "join")
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  broken = false;
  EXPECT_EQ(to_text(workflows->resume(workflow, key, run.id()).result().value().outputs.at(0).data),
            R"(["xaquick","xaslowslower"])");
  EXPECT_EQ(ran["quick"], 1);
}

TEST_F(DurabilityTest, CheckpointsAreOneAtTheEntryAndOneForEachSuperstepEachBehindTheLast) {
  const Workflow workflow = chain_of({counted("a"), counted("b"), last("out")});
  auto run = workflows->run(workflow, "x", {.session = "s"});
  run.result().value();
  const std::vector<CheckpointInfo> list = workflows->checkpoints(key, run.id()).value();
  ASSERT_THAT(list, SizeIs(4));
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].superstep, i);
    EXPECT_EQ(list[i].id, run.id() + "/" + std::to_string(i + 1));
    EXPECT_EQ(list[i].parent, i == 0 ? "" : list[i - 1].id);
    EXPECT_EQ(number(list[i].revision), i + 1);
  }
  EXPECT_EQ(list.back().status, WorkflowStatus::kCompleted);
}

TEST_F(DurabilityTest, AChangedGraphIsRefusedWithWhatChanged) {
  bool broken = true;
  auto run = workflows->run(chain_of({counted("a"), failing("b", broken)}), "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  const Workflow changed = chain_of({counted("a"), failing("b", broken), counted("c")});
  const auto resumed = workflows->resume(changed, key, run.id()).result();
  ASSERT_FALSE(resumed.ok());
  EXPECT_EQ(resumed.error().code(), ErrorCode::kBadGraph);
  EXPECT_THAT(std::get<std::vector<std::string>>(*resumed.error().fact("changes")),
              ElementsAre("new: node c (function)", "new: edge single b -> c"));
  EXPECT_EQ(code_of(workflows->resume(changed, key, "nothing")), ErrorCode::kNoCheckpoint);
}

TEST_F(DurabilityTest, ARunForksFromACheckpointAndBothGoTheirWay) {
  auto writer = counting_model("writer");
  auto reader = counting_model("reader", "look");
  ToolPtr look = make_tool("look", "Looks.", [this](const ToolCall&) {
    note_run("look");
    return std::string("seen");
  });
  const Workflow workflow = SequentialBuilder()
                                .add(agent_with("writer", writer))
                                .add(agent_with("reader", reader, {look}))
                                .build()
                                .value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  const WorkflowOutcome first = run.result().value();
  const std::vector<CheckpointInfo> list = workflows->checkpoints(key, run.id()).value();
  // After the writer has spoken.
  const WorkflowOutcome forked =
      workflows->fork(workflow, key, list.at(1).id, {.branch = BranchId::parse("other").value()})
          .result()
          .value();
  EXPECT_EQ(forked.branch.text(), "other");
  EXPECT_EQ(transcript_hash(forked.snapshot.transcript), transcript_hash(first.snapshot.transcript));
  EXPECT_TRUE(forked.snapshot.transcript.size() > 2);
  EXPECT_EQ(writer->calls, 1);
  EXPECT_EQ(ran["look"], 2);
  EXPECT_EQ(workflows->show(key, forked.run).value().forked_from, list.at(1).id);
  EXPECT_EQ(workflows->checkpoints(key, forked.run).value().front().parent, list.at(1).id);
  EXPECT_EQ(code_of(workflows->fork(workflow, key, run.id() + "/99")), ErrorCode::kNoCheckpoint);
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(DurabilityTest, OldCheckpointsGoAndTheRunCanStillBeResumed) {
  workflows = WorkflowEngine::open(
                  {.engine = engine, .handle_key = HandleKey{1}, .threads = 4, .keep_checkpoints = 4})
                  .value();
  bool broken = true;
  Node loop = make_node<int>("loop", [&](int value, NodeContext& context) -> Result<int> {
    context.set_state("v" + std::to_string(value), value);
    if (value == 20 && broken) return Error(ErrorCode::kModelUnavailable, "not now");
    return value + 1;
  });
  Node out = make_node<int>("out", [](int, NodeContext& context) {
    for (int i = 0; i < 25; ++i) EXPECT_EQ(context.state("v" + std::to_string(i)), Json(i));
    context.output("done");
  });
  const auto more = [](const WorkflowMessage& message) { return *message.data.as_int() < 25; };
  const Workflow workflow = WorkflowBuilder("w")
                                .add(loop)
                                .add(out)
                                .start("loop")
                                .switch_case("loop", {{"more", more, "loop"}}, "out")
                                .build()
                                .value();
  auto run = workflows->run(workflow, message_of(0), {.session = "s"});
  EXPECT_FALSE(run.result());
  const std::size_t kept = workflows->checkpoints(key, run.id()).value().size();
  EXPECT_GE(kept, 4U);
  EXPECT_LE(kept, 8U);
  broken = false;
  EXPECT_EQ(workflows->resume(workflow, key, run.id()).result().value().text(), "done");
}

TEST_F(DurabilityTest, RequestsAreListedToldAgainUntilAnsweredAndAnsweredOnce) {
  Node ask = make_node<std::string>(
      "ask",
      [](const std::string&, NodeContext& context) {
        context.request_info("first?");
        context.request_info("second?");
      },
      [](const InfoAnswer& answer, NodeContext& context) -> Result<void> {
        context.output(*answer.request.data.as_string() + to_text(answer.answer));
        return {};
      });
  const Workflow workflow = WorkflowBuilder("w").add(ask).start("ask").build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  const WorkflowOutcome waiting = run.result().value();
  ASSERT_EQ(waiting.status, WorkflowStatus::kWaiting);
  ASSERT_THAT(waiting.requests, SizeIs(2));
  restart();
  const std::vector<StoredRun> runs = workflows->list(key.tenant, key.owner).value();
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].requests, waiting.requests);
  ASSERT_TRUE(workflows->answer(key, run.id(), waiting.requests[1].id, 2));
  EXPECT_EQ(workflows->answer(key, run.id(), waiting.requests[1].id, 3).error().code(),
            ErrorCode::kNoQuestion);
  EXPECT_EQ(workflows->answer(key, run.id(), "9.ask.0", 3).error().code(), ErrorCode::kNoQuestion);
  auto second = workflows->resume(workflow, key, run.id());
  const auto names = names_of(second);
  EXPECT_EQ(std::count(names.begin(), names.end(), "request_info ask"), 1);
  EXPECT_THAT(outputs_of(second.result().value()), ElementsAre("ask: second?2"));
  EXPECT_THAT(second.result().value().requests, SizeIs(1));
  EXPECT_EQ(workflows->answer(key, run.id(), waiting.requests[1].id, 3).error().code(),
            ErrorCode::kNoQuestion);
  ASSERT_TRUE(workflows->answer(key, run.id(), waiting.requests[0].id, 1));
  const WorkflowOutcome done = workflows->resume(workflow, key, run.id()).result().value();
  EXPECT_EQ(done.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(outputs_of(done), ElementsAre("ask: second?2", "ask: first?1"));
}

TEST_F(DurabilityTest, ARunThatGoesOnElsewhereStopsHere) {
  std::promise<void> inside;
  std::promise<void> go;
  auto gone = go.get_future().share();
  std::atomic<bool> wait_here = true;
  Node slow = make_node<std::string>("slow", [&](const std::string& text) {
    if (wait_here.exchange(false)) {
      inside.set_value();
      gone.wait();
    }
    return text;
  });
  const Workflow workflow = chain_of({slow, last("out")});
  auto run = workflows->run(workflow, "x", {.session = "s"});
  inside.get_future().wait();
  auto elsewhere = WorkflowEngine::open({.engine = engine, .threads = 4}).value();
  EXPECT_EQ(elsewhere->resume(workflow, key, run.id()).result().value().text(), "x");
  go.set_value();
  EXPECT_EQ(run.result().error().code(), ErrorCode::kLeaseLost);
}

TEST_F(DurabilityTest, ASessionThatSomebodyElseWritesToIsCaughtUpWithAndNothingIsLost) {
  const auto write_elsewhere = [this](const std::string& text) {
    const SessionState state = load(*store, key).value();
    const Message message = Message::text(MessageId(), Role::kUser, text, Time{}).value();
    Commit commit{.key = key,
                  .expected = state.session.revision,
                  .conditions = {},
                  .changes = {AppendTurn{.branch = state.branches.at(0).id,
                                         .turn = Turn::from_messages(TurnId(), {message}).value(),
                                         .tool_calls = {},
                                         .state = std::nullopt}},
                  .time = Time{}};
    ASSERT_TRUE(tertulia::commit(*store, std::move(commit)));
  };
  Node meddled = make_node<Json>("meddled", [&](const Json&, NodeContext& context) -> Result<void> {
    write_elsewhere("a word from outside");
    TERTULIA_TRY(context.say("said all the same"));
    context.send(ConversationUpdate{});
    return {};
  });
  auto model = scripted_model({ModelStep().say("Heard both.")});
  const Workflow workflow = WorkflowBuilder("w")
                                .add(meddled)
                                .add(agent_node(agent_with("a", model)))
                                .start("meddled")
                                .edge("meddled", "a")
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(
      lines_of(outcome.snapshot.transcript),
      ElementsAre("user: Go.", "user: a word from outside", "meddled: said all the same", "a: Heard both."));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

// Ten agents, some with tools. Dies at every write there is, before it and after it; another process goes on.
TEST_F(DurabilityTest, DyingAtAnyWriteChangesNothingOfTheResultAndNoToolRunsTwice) {
  const auto build = [&] {
    SequentialBuilder builder("ten");
    for (int i = 0; i < 10; ++i) {
      const std::string id = "a" + std::to_string(i);
      if (i % 3 != 1) {
        builder.add(agent_with(id, counting_model(id)));
        continue;
      }
      ToolPtr tool = make_tool("pay", "Pays.", [this, id](const ToolCall&) {
        note_run(id);
        return std::string("paid");
      });
      builder.add(agent_with(id, counting_model(id, "pay"), {tool}));
    }
    return builder.build().value();
  };
  const auto run_to_end = [&](WorkflowEngine& on) {
    return on.run(build(), "Go.", {.session = "s", .run = "the-run"}).result();
  };
  std::string expected;
  int writes = 0;
  {
    auto counting = std::make_shared<FaultStore>(open_memory_store(), 1'000'000, FaultStore::When::kBefore);
    auto turns = Engine::open({.store = counting}).value();
    expected = transcript_hash(run_to_end(*WorkflowEngine::open({.engine = turns, .threads = 2}).value())
                                   .value()
                                   .snapshot.transcript);
    writes = counting->writes();
  }
  ASSERT_THAT(writes, Ge(20));
  int same = 0;
  int hidden = 0;
  for (int fatal = 1; fatal <= writes; ++fatal) {
    for (const auto when : {FaultStore::When::kBefore, FaultStore::When::kAfter}) {
      ran.clear();
      auto disk = std::shared_ptr<Store>(open_memory_store());
      {
        auto dying = std::make_shared<FaultStore>(disk, fatal, when);
        auto turns = Engine::open({.store = dying}).value();
        auto on = WorkflowEngine::open({.engine = turns, .threads = 2}).value();
        (void)run_to_end(*on);
      }
      auto turns = Engine::open({.store = disk}).value();
      auto on = WorkflowEngine::open({.engine = turns, .threads = 2}).value();
      const WorkflowOutcome outcome = run_to_end(*on).value();
      EXPECT_EQ(outcome.status, WorkflowStatus::kCompleted);
      for (const auto& [tool, times] : ran) EXPECT_EQ(times, 1) << tool << " at write " << fatal;
      // A tool that ran when the process died has an outcome that nobody knows, and the transcript says so.
      const auto lines = lines_of(outcome.snapshot.transcript);
      const bool unknown = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find("unknown") != std::string::npos;
      });
      if (unknown)
        ++hidden;
      else
        EXPECT_EQ(transcript_hash(outcome.snapshot.transcript), expected) << "write " << fatal;
      if (!unknown) ++same;
      EXPECT_EQ(outcome.supersteps, 10U);
      EXPECT_THAT(verify(*disk).value().problems, IsEmpty());
    }
  }
  EXPECT_GT(same, hidden);
}

// Every order in which five agents can end, without a fault and with one at each of them.
TEST_F(DurabilityTest, TheOrderOfCompletionIsNeverSeen) {
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  std::string expected;
  int runs = 0;
  do {
    for (int faulty = -1; faulty < 5; ++faulty) {
      std::vector<ModelGate> gates(5);
      std::vector<std::shared_ptr<ScriptedModel>> models;
      ConcurrentBuilder builder("five");
      for (int i = 0; i < 5; ++i) {
        const std::string id = "a" + std::to_string(i);
        auto model = scripted_model();
        ModelStep first;
        first.wait(gates[static_cast<std::size_t>(i)]);
        if (i == faulty) {
          model->add(first.fail(ErrorCode::kModelUnavailable, "not now"));
          model->add(ModelStep().say(id + " speaks"));
        } else {
          model->add(first.say(id + " speaks"));
        }
        models.push_back(model);
        builder.add(agent_with(id, model));
      }
      const Workflow workflow = builder.build().value();
      auto run = workflows->run(workflow, "Go.");
      for (const int next : order) {
        gates[static_cast<std::size_t>(next)].wait_for_arrivals(1);
        gates[static_cast<std::size_t>(next)].open();
      }
      Result<WorkflowOutcome> outcome = run.result();
      if (faulty >= 0) {
        ASSERT_FALSE(outcome.ok());
        const StoredRun stored = workflows->list(key.tenant, key.owner).value().front();
        ASSERT_EQ(stored.run, run.id());
        outcome = workflows->resume(workflow, stored.key, stored.run).result();
      }
      ASSERT_TRUE(outcome.ok()) << outcome.error().message();
      const std::string hash = transcript_hash(outcome->snapshot.transcript);
      if (expected.empty()) expected = hash;
      ASSERT_EQ(hash, expected);
      ASSERT_EQ(outcome->snapshot.transcript.size(), 6U);
      for (const auto& model : models) ASSERT_TRUE(model->check()) << model->check().error().message();
      ASSERT_TRUE(erase(*store, {.tenant = key.tenant, .owner = key.owner}));
      ++runs;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(runs, 720);
}

}  // namespace durability_test
}  // namespace tertulia
