// The World of a story: a store, the processes that live on it one after the other, their agent and its
// tools, a scripted model, and everything that was asked for and told. Runs a story, statement by statement.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/agent.h"
#include "tertulia/memory/memory.h"
#include "tertulia/model/scripted_model.h"

#include "mortal_store.h"
#include "script.h"
#include "story_tools.h"

namespace tertulia {

// Where a story is kept between two lives.
class Home {
 public:
  // "memory", "json" or "sqlite".
  Home(std::string kind, std::filesystem::path directory);
  const std::shared_ptr<Store>& store() const { return store_; }
  // As a new process finds it; nobody may hold the store any more. Memory keeps what it holds.
  void reopen();

 private:
  const std::string kind_;
  const std::filesystem::path directory_;
  std::shared_ptr<Store> store_;
};

// One engine on the store.
struct Process {
  std::shared_ptr<MortalStore> store;
  std::shared_ptr<Life> life;
  std::shared_ptr<Memory> memory;
  std::optional<Agent> agent;
};

// What the story says is remembered.
struct StoryNotes {
  std::map<std::string, std::string> notes;
  // "hangs", "fails", or empty.
  std::string mode;
};

// A run that was begun, and what was told of it.
struct Told {
  std::size_t line = 0;
  std::optional<Run> run;
  std::vector<Event> events;
  std::optional<Result<TurnOutcome>> outcome;
  TurnId turn;
  // Its life ended before it did.
  bool died = false;
  bool waited = false;
  bool coalesced = false;
  bool by_hand = false;
};

// How a statement that concerns a run is meant.
struct Asked {
  std::string session = "s";
  std::string branch;
  std::string name;
  std::size_t engine = 1;
  bool stateless = false;
  bool by_hand = false;
  // Ids of assets.
  std::vector<std::string> shows{};
  RunOptions options;
};

class World {
 public:
  World(const std::string& store_kind, const std::filesystem::path& directory);
  ~World();

  // Throws StoryFailure.
  void run(const std::vector<Line>& script);
  // Where it stands, for whoever watches the time.
  std::size_t line() const { return line_; }

 private:
  using Statement = void (World::*)(Words&, const Line&);
  static const std::map<std::string, Statement, std::less<>>& statements();
  [[noreturn]] void fail(const std::string& sentence) const { throw StoryFailure(line_, sentence); }

  // world_setup.cc: what there is.
  void story(Words& words, const Line& line);
  void agent(Words& words, const Line& line);
  void model(Words& words, const Line& line);
  void second(Words& words, const Line& line);
  void setting(Words words);
  ModelStep step_of(const std::vector<Line>& acts);
  void act(ModelStep& step, Words words);
  void expect(ModelStep& step, Words& words);
  Process& process(std::size_t number = 1);
  Process open_process(bool recover);
  void end_process(Process& process);

  // world_reach.cc: who may do what, and the middleware around it.
  bool reach_setting(Words& words);
  void answer(Words& words, const Line& line);
  void answer_other_arguments(const Question& question);
  void questions(Words& words, const Line& line);
  void plan(Words& words, const Line& line);
  void spent(Words& words, const Line& line);
  void until_asked(Told& run, const std::string& tool);
  std::vector<Question> open_questions();
  void add_middleware(AgentBuilder& builder) const;

  // world_acts.cc: what happens.
  void user(Words& words, const Line& line);
  void resume(Words& words, const Line& line);
  void wait(Words& words, const Line& line);
  void until(Words& words, const Line& line);
  void open(Words& words, const Line& line);
  void release(Words& words, const Line& line);
  void cancel(Words& words, const Line& line);
  void leave(Words& words, const Line& line);
  void crash(Words& words, const Line& line);
  void refuse(Words& words, const Line& line);
  void restart(Words& words, const Line& line);
  void fork(Words& words, const Line& line);
  void remove(Words& words, const Line& line);
  void load(Words& words, const Line& line);
  void save(Words& words, const Line& line);
  void watch(Words& words, const Line& line);
  Asked asked(Words& words) const;
  void option(Asked& asked, Words words) const;
  void begin(Asked asked, Input input);
  void keep(Run run, const Asked& asked);
  void drain(Told& told);
  void settle(Told& told);
  Told& told(const std::string& name);
  void bury_the_dead();
  void wait_for_recovery();

  // world_assets.cc: what is shown.
  void upload(Words& words, const Line& line);
  void discard(Words& words, const Line& line);
  Input input_of(const Asked& asked, std::string text);
  static bool expect_asset(ModelStep& step, Words& words);

  // world_memory.cc: what is remembered.
  void attach_memory(Process& process, AgentBuilder& builder);
  bool memory_setting(Words& words);
  Memory& memory();
  SessionKey key_of(const std::string& session) const;
  void end_session(Words& words, const Line& line);
  void reap(Words& words, const Line& line);
  void episodes(Words& words, const Line& line);
  std::vector<std::string> episode_lines(const std::string& session);
  void pin(Words& words, const Line& line);
  void receipt(Words& words, const Line& line);
  void prompts(Words& words, const Line& line);
  void erase_memory(Words& words, const Line& line);
  void no_trace(Words& words, const Line& line);

  // world_checks.cc: what must be.
  void says(const std::string& text);
  void error(Words& words, const Line& line);
  void interrupted(Words& words, const Line& line);
  void transcript(Words& words, const Line& line);
  void events(Words& words, const Line& line);
  void tools(Words& words, const Line& line);
  void keys(Words& words, const Line& line);
  void unknown(Words& words, const Line& line);
  void request(Words& words, const Line& line);
  void requests(Words& words, const Line& line);
  void branches(Words& words, const Line& line);
  void session(Words& words, const Line& line);
  void check_numbers(const Told& told) const;
  void check_text(const Told& told) const;
  void compare(const std::vector<Line>& wanted, const std::vector<std::string>& found,
               const std::string& what, bool contains) const;
  void check_store();
  void close();

  std::atomic<std::size_t> line_{0};
  Home home_;
  const std::shared_ptr<ScriptedModel> model_ = scripted_model();
  const std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
  std::string system_;
  AgentLimits limits_;
  const std::filesystem::path directory_;
  bool remembers_ = false;
  MemoryConfig memory_;
  StoryNotes story_notes_;
  std::vector<Procedure> procedures_;
  OnReturn on_return_ = OnReturn::kResume;
  bool persist_ = true;
  std::vector<ToolPlan> tools_;
  std::optional<PermissionPolicy> policy_;
  // "breaker 2", "limits session tokens 100", …: made anew for each process.
  std::vector<std::string> middleware_;
  std::string last_question_;
  std::map<std::string, ModelGate> gates_;
  std::map<std::string, std::string> asset_types_;
  std::map<std::size_t, Process> processes_;
  std::map<std::string, std::unique_ptr<Told>> told_;
  Told* last_ = nullptr;
  std::size_t unnamed_ = 0;
  std::optional<SessionAndBranch> hand_;
  // An error that the next statement must name.
  std::optional<Error> open_error_;
};

// A message as a line: "assistant (interrupted): text | call add {…}".
std::string line_of(const Message& message);

}  // namespace tertulia
