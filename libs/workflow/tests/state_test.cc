// The state of a run: who sees what of it, when, and what becomes of it.
#include <limits>

#include "workflow_fixture.h"

namespace tertulia {
namespace state_test {

using testing::ElementsAre;
using testing::HasSubstr;

class StateTest : public WorkflowTest {
 protected:
  using Work = std::function<Result<void>(NodeContext&)>;
  // Does its work, then hands on.
  static Node doing(const std::string& id, Work work) {
    return make_node<std::string>(
        id, [work = std::move(work)](const std::string& text, NodeContext& context) -> Result<std::string> {
          TERTULIA_TRY(work(context));
          return text;
        });
  }
  static Node giving_out(const std::string& id, const std::string& key) {
    return make_node<Json>(id, [key](const Json&, NodeContext& context) {
      const std::optional<Json> value = context.state(key);
      context.output(value ? *value : Json("nothing"));
    });
  }
  static Workflow chain_of(std::vector<Node> nodes) {
    WorkflowBuilder builder("w");
    builder.start(nodes.front().id);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      builder.add(nodes[i]);
      if (i > 0) builder.edge(nodes[i - 1].id, nodes[i].id);
    }
    return builder.build().value();
  }
  // `first`, then both side by side, then what has become of "k".
  static WorkflowBuilder side_by_side(Work first, Work left, Work right) {
    WorkflowBuilder builder("w");
    builder.add(doing("first", std::move(first)))
        .add(doing("left", std::move(left)))
        .add(doing("right", std::move(right)))
        .add(giving_out("out", "k"))
        .start("first")
        .fan_out("first", {"left", "right"})
        .fan_in({"left", "right"}, "out");
    return builder;
  }
  static Work nothing() {
    return [](NodeContext&) { return Result<void>(); };
  }
  static Work setting(Json value, std::string key = "k") {
    return [value = std::move(value), key = std::move(key)](NodeContext& context) -> Result<void> {
      context.set_state(key, value);
      return {};
    };
  }
  static Work erasing() {
    return [](NodeContext& context) { return context.erase_state("k"); };
  }
  std::vector<std::string> outputs_after(const Workflow& workflow) {
    return outputs_of(workflows->run(workflow, "x", {.session = "s"}).result().value());
  }
};

TEST_F(StateTest, AKeyThatWasNeverSetIsNotThere) {
  EXPECT_THAT(outputs_after(chain_of({doing("a", nothing()), giving_out("out", "k")})),
              ElementsAre("out: nothing"));
}

TEST_F(StateTest, TheLastOfSeveralValuesThatANodeGivesCounts) {
  EXPECT_THAT(outputs_after(chain_of({doing("a",
                                            [](NodeContext& context) -> Result<void> {
                                              for (int i = 0; i < 3; ++i) context.set_state("k", i);
                                              EXPECT_EQ(context.state("k"), Json(2));
                                              return {};
                                            }),
                                      giving_out("out", "k")})),
              ElementsAre("out: 2"));
}

TEST_F(StateTest, AnErasedKeyThatIsSetAgainIsThere) {
  EXPECT_THAT(outputs_after(chain_of({doing("a", setting(1)),
                                      doing("b",
                                            [](NodeContext& context) -> Result<void> {
                                              TERTULIA_TRY(context.erase_state("k"));
                                              EXPECT_FALSE(context.state("k"));
                                              context.set_state("k", 2);
                                              return {};
                                            }),
                                      giving_out("out", "k")})),
              ElementsAre("out: 2"));
}

TEST_F(StateTest, AnErasedKeyIsGoneForItsOwnNodeAtOnceAndForOthersWithTheCommit) {
  const auto looks = [](NodeContext& context) -> Result<void> {
    EXPECT_EQ(context.state("k"), Json(1));
    return {};
  };
  EXPECT_THAT(outputs_after(side_by_side(setting(1), erasing(), looks).build().value()),
              ElementsAre("out: nothing"));
}

TEST_F(StateTest, ErasingWhatIsNotThereFailsTheNode) {
  EXPECT_EQ(code_of(workflows->run(chain_of({doing("a", erasing())}), "x")), ErrorCode::kNotFound);
}

TEST_F(StateTest, ErasingAndSettingOneKeySideBySideIsAConflict) {
  const auto outcome =
      workflows->run(side_by_side(setting(1), erasing(), setting(2)).build().value(), "x").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code(), ErrorCode::kStateConflict);
  EXPECT_THAT(outcome.error().message(), HasSubstr("'left' and 'right'"));
}

TEST_F(StateTest, DifferentKeysSideBySideAreBothKept) {
  EXPECT_THAT(outputs_after(side_by_side(nothing(), setting("l"), setting("r", "other")).build().value()),
              ElementsAre("out: l"));
}

TEST_F(StateTest, AMergeIsGivenWhatWasThereBeforeAndNullForWhatWasErased) {
  auto builder = side_by_side(setting(10), erasing(), setting(2));
  builder.merge_state("k", [](const Json& before, const std::vector<Json>& values) {
    return Json(JsonArray{before, values.at(0), values.at(1)});
  });
  EXPECT_THAT(outputs_after(builder.build().value()), ElementsAre("out: [10,null,2]"));
}

TEST_F(StateTest, AMergeThatThrowsFailsTheRunAndNothingElse) {
  auto builder = side_by_side(setting(10), setting(1), setting(2));
  builder.merge_state("k", [](const Json&, const std::vector<Json>&) -> Json {
    throw std::runtime_error("no way to merge");
  });
  const auto outcome = workflows->run(builder.build().value(), "x").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("no way to merge"));
}

TEST_F(StateTest, WhatANodeSetBeforeItFailedIsGoneWhetherItIsTriedAgainOrPassedOver) {
  int tries = 0;
  Node flaky = doing("flaky", [&](NodeContext& context) -> Result<void> {
    EXPECT_FALSE(context.state("k"));
    if (++tries < 3) {
      context.set_state("k", "of a failed try");
      return Error(ErrorCode::kModelUnavailable, "not yet");
    }
    return {};
  });
  flaky.on_failure = {.retries = 2};
  EXPECT_THAT(outputs_after(chain_of({flaky, giving_out("out", "k")})), ElementsAre("out: nothing"));
  tries = -10;
  flaky.on_failure = {.retries = 0, .skip = true};
  EXPECT_THAT(outputs_after(chain_of({doing("a", nothing()), flaky, giving_out("out", "k")})),
              ElementsAre("out: nothing"));
}

// Also what a node did beside one that failed, which the checkpoint keeps.
TEST_F(StateTest, ValuesOfEveryKindComeBackFromACheckpoint) {
  const Json every = JsonObject{{"null", Json()},
                                {"no", false},
                                {"most", std::numeric_limits<std::int64_t>::max()},
                                {"least", std::numeric_limits<std::int64_t>::min()},
                                {"fraction", 0.1},
                                {"text", "ü \"quoted\" \n 日本 \xF0\x9F\x98\x80"},
                                {"list", JsonArray{1, JsonArray{}, JsonObject{}}}};
  bool broken = true;
  const auto fails = [&](NodeContext& context) -> Result<void> {
    EXPECT_EQ(context.state("before"), every);
    if (broken) return Error(ErrorCode::kModelUnavailable, "not now");
    return {};
  };
  const auto sets = [&](NodeContext& context) -> Result<void> {
    EXPECT_TRUE(broken) << "it has been done";
    context.set_state("k", every);
    context.set_state("void", Json());
    return context.erase_state("gone");
  };
  const auto first = [&](NodeContext& context) -> Result<void> {
    context.set_state("before", every);
    context.set_state("gone", 1);
    return {};
  };
  Node out = make_node<Json>("check", [&](const Json&, NodeContext& context) {
    EXPECT_EQ(context.state("k"), every);
    EXPECT_EQ(context.state("void"), Json()) << "null is a value";
    EXPECT_FALSE(context.state("gone"));
  });
  auto builder = side_by_side(first, sets, fails);
  builder.add(out).edge("left", "check");
  const Workflow workflow = builder.build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  broken = false;
  restart();
  EXPECT_TRUE(workflows->resume(workflow, local_key(SessionId::parse("s").value()), run.id()).result().ok());
}

TEST_F(StateTest, StateBelongsToItsRun) {
  const Workflow workflow = chain_of({doing("a",
                                            [](NodeContext& context) -> Result<void> {
                                              EXPECT_FALSE(context.state("k"));
                                              context.set_state("k", 1);
                                              return {};
                                            }),
                                      giving_out("out", "k")});
  EXPECT_THAT(outputs_after(workflow), ElementsAre("out: 1"));
  EXPECT_THAT(outputs_after(workflow), ElementsAre("out: 1"));
}

TEST_F(StateTest, AForkTakesTheStateAlongAndBothGoTheirWay) {
  int value = 1;
  const Workflow workflow = chain_of({doing("a", setting("kept", "first")),
                                      doing("b",
                                            [&](NodeContext& context) -> Result<void> {
                                              EXPECT_EQ(context.state("first"), Json("kept"));
                                              EXPECT_FALSE(context.state("k"));
                                              context.set_state("k", value++);
                                              return {};
                                            }),
                                      giving_out("out", "k")});
  auto run = workflows->run(workflow, "x", {.session = "s"});
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_THAT(outputs_of(outcome), ElementsAre("out: 1"));
  const auto forked = workflows->fork(workflow, outcome.key, run.id() + "/2").result();
  EXPECT_THAT(outputs_of(forked.value()), ElementsAre("out: 2"));
}

TEST_F(StateTest, AKeyOfAnyTextIsAKey) {
  const std::string odd = "a/b.c \"d\" ü";
  EXPECT_THAT(outputs_after(chain_of({doing("a", setting(1, odd)), giving_out("out", odd)})),
              ElementsAre("out: 1"));
}

}  // namespace state_test
}  // namespace tertulia
