// Every two verbs of the library that touch a session, in both orders and at once, held to a naive model.
#include <functional>
#include <future>
#include <map>
#include <set>

#include "tertulia/memory/memory.h"
#include "tertulia/store/inner_sessions.h"
#include "tertulia/store/session_store.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace meeting_property_test {

using testing::IsEmpty;

class MeetingProperty : public WorkflowTest {
 protected:
  // What one session has gone through: words that were acknowledged, and branches that were taken away.
  struct World {
    SessionKey key;
    std::string run;
    std::string request;
    MessageId first;
    Mutex mutex;
    std::map<std::string, std::string> said TERTULIA_GUARDED_BY(mutex);
    std::set<std::string> gone TERTULIA_GUARDED_BY(mutex);

    void note(const std::string& text, const std::string& branch) {
      MutexLock lock(mutex);
      said[text] = branch;
    }
    void lose(const std::string& branch) {
      MutexLock lock(mutex);
      gone.insert(branch);
    }
  };
  using Verb = std::function<Result<void>(World&)>;

  void begin_anew() {
    EXPECT_THAT(verify(*store).value().problems, IsEmpty());
    store = open_memory_store();
    restart();
    memory = std::make_unique<Memory>(store, real_env());
    ASSERT_TRUE(engine->add(chat));
  }

  Workflow reviewed() {
    return SequentialBuilder("reviewed")
        .add(agent_with("writer", counting_model("writer")), {.review = true})
        .add(agent_with("editor", counting_model("editor")))
        .build()
        .value();
  }

  std::unique_ptr<World> prepare() {
    auto world = std::make_unique<World>();
    const std::string name = "s" + std::to_string(++worlds);
    for (const char* text : {"Zero.", "One."}) engine->run(chat, {.text = text}, name, {}).result().value();
    world->key = local_key(SessionId::parse(name).value());
    sessions().fork_branch(world->key.session, main_branch(), 1, side).value();
    engine->forget(world->key);
    engine->run(chat, {.text = "Aside."}, name, {.branch = side}).result().value();
    const WorkflowOutcome asked =
        workflows->run(reviewed(), "Write.", {.session = name, .branch = main_branch()}).result().value();
    world->run = asked.run;
    world->request = asked.requests.at(0).id;
    world->first = asked.snapshot.transcript[0].id();
    return world;
  }
  SessionStore sessions() { return {*store, engine->env().clock()}; }

  Result<void> say(World& world, const BranchId& branch) {
    const std::string text = "Words " + std::to_string(++words) + ".";
    const RunOptions options{.branch = branch, .on_busy = OnBusy::kQueue};
    TERTULIA_TRY(engine->run(chat, {.text = text}, world.key.session.text(), options).result());
    world.note(text, branch.text());
    return {};
  }

  std::map<std::string, Verb> verbs() {
    std::map<std::string, Verb> all;
    all["turn"] = [this](World& world) { return say(world, main_branch()); };
    all["aside"] = [this](World& world) { return say(world, side); };
    all["run"] = [this](World& world) -> Result<void> {
      const std::string text = "Words " + std::to_string(++words) + ".";
      TERTULIA_TRY(
          workflows->run(reviewed(), text, {.session = world.key.session.text(), .branch = main_branch()})
              .result());
      world.note(text, "main");
      return {};
    };
    all["fork"] = [this](World& world) -> Result<void> {
      const BranchId id = BranchId::parse("f" + std::to_string(++words)).value();
      TERTULIA_TRY(sessions().fork_branch(world.key.session, main_branch(), 1, id));
      engine->forget(world.key);
      return {};
    };
    all["delete branch"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY(sessions().delete_branch(world.key.session, side, true));
      engine->forget(world.key);
      world.lose("side");
      return {};
    };
    all["erase message"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY(memory->erase_messages(world.key, {&world.first, 1}));
      engine->forget(world.key);
      return {};
    };
    all["erase session"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY_AS(const EraseReport report, erase_with_inner(*store, world.key));
      engine->forget(world.key);
      if (report.sessions > 0) {
        world.lose("main");
        world.lose("side");
      }
      return {};
    };
    all["close"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY(memory->close(world.key, EndReason::kUserClosed, {}));
      engine->forget(world.key);
      return {};
    };
    all["answer"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY(workflows->answer(world.key, world.run, world.request, ""));
      TERTULIA_TRY(workflows->resume(reviewed(), world.key, world.run).result());
      return {};
    };
    all["fork run"] = [this](World& world) -> Result<void> {
      TERTULIA_TRY(workflows->fork(reviewed(), world.key, world.run + "/1").result());
      return {};
    };
    all["cancel"] = [this](World& world) -> Result<void> {
      for (const RunningTurn& turn : engine->running()) {
        if (turn.key == world.key) (void)engine->cancel(turn.turn);
      }
      return {};
    };
    return all;
  }

  // Whatever happened: no message twice, none lost that was acknowledged, and the session can be used.
  void look_at(World& world, const std::string& what) {
    const Result<SessionState> state = load(*store, world.key);
    MutexLock lock(world.mutex);
    if (!state) {
      EXPECT_EQ(state.error().code(), ErrorCode::kNoSession) << what;
      EXPECT_TRUE(world.gone.contains("main")) << what << ": the session is gone, and nobody erased it";
    } else {
      for (const BranchHead& head : state->branches) {
        const Branch branch = load_branch(*store, world.key, head).value();
        std::set<MessageId> ids;
        std::map<std::string, int> times;
        branch.transcript.for_each(0, branch.transcript.size(), [&](std::size_t, const Message& message) {
          EXPECT_TRUE(ids.insert(message.id()).second) << what << ": a message stands twice";
          ++times[message.text_content()];
        });
        for (const auto& [text, place] : world.said) {
          if (place != head.id.text() || world.gone.contains(place)) continue;
          EXPECT_EQ(times[text], 1) << what << ": '" << text << "' in " << place;
        }
      }
    }
    const auto next = engine
                          ->run(chat, {.text = "Still there?"}, world.key.session.text(),
                                {.branch = main_branch(), .on_busy = OnBusy::kQueue})
                          .result();
    EXPECT_TRUE(next.ok()) << what << ": " << next.error().message();
  }

  static void expect_clean(const Result<void>& result, const std::string& what) {
    if (result) return;
    // Refused, or too late: what a person can understand.
    const std::set<ErrorCode> fine{
        ErrorCode::kNoSession,        ErrorCode::kNoBranch,     ErrorCode::kNoQuestion,
        ErrorCode::kNoCheckpoint,     ErrorCode::kTurnRunning,  ErrorCode::kLeaseLost,
        ErrorCode::kRevisionConflict, ErrorCode::kNotFound,     ErrorCode::kHasChildren,
        ErrorCode::kSessionExists,    ErrorCode::kBadForkPoint, ErrorCode::kBranchExists,
        ErrorCode::kTurnInterrupted,  ErrorCode::kCancelled};
    EXPECT_TRUE(fine.contains(result.error().code())) << what << ": " << result.error().message();
  }

  const BranchId side = BranchId::parse("side").value();
  const AgentDefinitionPtr chat = agent_with("chat", counting_model("chat"));
  std::unique_ptr<Memory> memory;
  int worlds = 0;
  std::atomic<int> words = 0;
};

TEST_F(MeetingProperty, TwoVerbsInAnyOrderOrAtOnceLoseAndDoubleNothing) {
  const std::map<std::string, Verb> all = verbs();
  const int rounds = std::getenv("TERTULIA_LONG") != nullptr   ? 900
                     : std::getenv("TERTULIA_FULL") != nullptr ? 90
                                                               : 9;
  for (int round = 0; round < rounds; ++round) {
    // What erases and closes looks at all sessions of an owner.
    begin_anew();
    for (const auto& [one, first] : all) {
      for (const auto& [other, second] : all) {
        {
          const std::string what = one + ", then " + other;
          const auto world = prepare();
          expect_clean(first(*world), what);
          expect_clean(second(*world), what);
          look_at(*world, what);
        }
        const std::string what = one + " and " + other + " at once";
        const auto world = prepare();
        auto beside = std::async(std::launch::async, [&, run = &first] { return (*run)(*world); });
        expect_clean(second(*world), what);
        expect_clean(beside.get(), what);
        look_at(*world, what);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

}  // namespace meeting_property_test
}  // namespace tertulia
