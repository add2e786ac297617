// What happens in a story.
#include <thread>
#include <utility>

#include "world.h"

namespace tertulia {

const std::map<std::string, World::Statement, std::less<>>& World::statements() {
  static const std::map<std::string, Statement, std::less<>> kStatements{
      {"story", &World::story},
      {"agent", &World::agent},
      {"model", &World::model},
      {"second", &World::second},
      {"user", &World::user},
      {"resume", &World::resume},
      {"wait", &World::wait},
      {"until", &World::until},
      {"open", &World::open},
      {"release", &World::release},
      {"cancel", &World::cancel},
      {"leave", &World::leave},
      {"upload", &World::upload},
      {"discard", &World::discard},
      {"crash", &World::crash},
      {"refuse", &World::refuse},
      {"restart", &World::restart},
      {"fork", &World::fork},
      {"delete", &World::remove},
      {"load", &World::load},
      {"save", &World::save},
      {"watch", &World::watch},
      {"end", &World::end_session},
      {"reap", &World::reap},
      {"episodes", &World::episodes},
      {"pin", &World::pin},
      {"receipt", &World::receipt},
      {"prompts", &World::prompts},
      {"erase", &World::erase_memory},
      {"no", &World::no_trace},
      {"answer", &World::answer},
      {"questions", &World::questions},
      {"plan", &World::plan},
      {"spent", &World::spent},
      {"error", &World::error},
      {"interrupted", &World::interrupted},
      {"transcript", &World::transcript},
      {"events", &World::events},
      {"tool", &World::tools},
      {"keys", &World::keys},
      {"unknown", &World::unknown},
      {"request", &World::request},
      {"requests", &World::requests},
      {"branches", &World::branches},
      {"session", &World::session},
  };
  return kStatements;
}

Asked World::asked(Words& words) const {
  Asked asked;
  for (const std::string& one : split(words.parenthesised(), ',')) option(asked, Words(line_, one));
  if (!asked.branch.empty()) asked.options.branch = BranchId::parse(asked.branch).value();
  return asked;
}

void World::option(Asked& asked, Words words) const {
  RunOptions& options = asked.options;
  if (words.take("session")) {
    asked.session = words.word();
  } else if (words.take("branch")) {
    asked.branch = words.word();
  } else if (words.take("no session")) {
    asked.stateless = true;
  } else if (words.take("by hand")) {
    asked.by_hand = true;
  } else if (words.take("as")) {
    asked.name = words.word();
  } else if (words.take("engine")) {
    asked.engine = words.required_number();
  } else if (words.take("key")) {
    options.idempotency_key = words.word();
  } else if (words.take("on busy queue")) {
    options.on_busy = OnBusy::kQueue;
  } else if (words.take("on busy steer")) {
    options.on_busy = OnBusy::kSteer;
  } else if (words.take("on busy interrupt")) {
    options.on_busy = OnBusy::kInterrupt;
  } else if (words.take("abandon")) {
    options.on_interrupted = OnInterrupted::kAbandon;
  } else if (words.take("budget")) {
    options.budget = Tokens{words.required_number()};
  } else if (words.take("no tools")) {
    options.tools = false;
  } else if (words.take("timeout")) {
    options.timeout = read_duration(words);
  } else if (words.take("temperature")) {
    options.speech.temperature = std::stod(words.rest());
  } else if (words.take("model")) {
    options.model_name = words.word();
  } else if (words.take("instructions")) {
    options.instructions = words.rest();
  } else if (words.take("extra")) {
    options.extra_instructions = words.rest();
  } else if (words.take("shows")) {
    asked.shows.push_back(words.word());
  } else if (words.take("coalesce")) {
    options.coalesce = true;
  } else {
    words.fail("there is no option '" + words.raw_rest() + "'");
  }
  words.end();
}

void World::user(Words& words, const Line& /*line*/) {
  Asked how = asked(words);
  Input input = input_of(how, words.rest());
  begin(std::move(how), std::move(input));
}

void World::resume(Words& words, const Line& /*line*/) { begin(asked(words), {}); }

void World::begin(Asked asked, Input input) {
  const Agent& agent = *process(asked.engine).agent;
  if (asked.stateless) {
    keep(agent.run(std::move(input), asked.options), asked);
  } else if (asked.by_hand) {
    if (!hand_) fail("nothing was loaded by hand");
    keep(agent.run(std::move(input), hand_->branch, asked.options), asked);
  } else {
    keep(agent.run(std::move(input), asked.session, asked.options), asked);
  }
}

// A run with a name goes on beside the story; another one is waited for.
void World::keep(Run run, const Asked& asked) {
  auto kept = std::make_unique<Told>();
  kept->line = line_;
  kept->run = std::move(run);
  kept->coalesced = asked.options.coalesce;
  const std::string name = asked.name.empty() ? "run " + std::to_string(++unnamed_) : asked.name;
  Told& told = *(told_[name] = std::move(kept));
  last_ = &told;
  if (asked.name.empty()) settle(told);
}

Told& World::told(const std::string& name) {
  const auto found = told_.find(name);
  if (found == told_.end()) fail("there is no run '" + name + "'");
  return *found->second;
}

// Reads what is told to the end.
void World::drain(Told& told) {
  if (told.outcome) return;
  for (const Event& event : *told.run) told.events.push_back(event);
  told.outcome = told.run->result();
  if (!told.events.empty() && told.turn == TurnId()) told.turn = told.events.front().turn;
}

void World::settle(Told& told) {
  drain(told);
  told.waited = true;
  last_ = &told;
  if (told.died) return;
  for (const auto& [number, process] : processes_) told.died = told.died || process.store->dead();
  check_numbers(told);
  if (*told.outcome) check_text(told);
  if (!*told.outcome && !told.died) open_error_ = told.outcome->error();
}

void World::wait(Words& words, const Line& /*line*/) {
  if (words.take("for recovery")) {
    wait_for_recovery();
  } else {
    settle(told(words.word()));
  }
}

// until model at DOOR [N] · until tool NAME runs [N] · until RUN says TEXT · until RUN begins · until RUN
// asks about TOOL
void World::until(Words& words, const Line& /*line*/) {
  if (words.take("model at")) {
    const ModelGate gate = gates_[words.word()];
    gate.wait_for_arrivals(words.number().value_or(1));
  } else if (words.take("tool")) {
    const std::string tool = words.word();
    if (!words.take("runs")) words.fail("'until tool NAME runs' is meant");
    process().life->wait_for_runs(tool, words.number().value_or(1));
  } else {
    Told& run = told(words.word());
    if (words.take("asks about")) {
      until_asked(run, words.word());
      return;
    }
    const bool begins = words.take("begins");
    std::string wanted;
    if (!begins) {
      if (!words.take("says")) words.fail("'until RUN says TEXT' is meant");
      wanted = words.rest();
    }
    std::string said;
    while (begins ? run.events.empty() : said.find(wanted) == std::string::npos) {
      Result<std::optional<Event>> event = run.run->next();
      if (!event || !*event) fail("the run ended, and had said only \"" + said + "\"");
      if ((*event)->kind == EventKind::kTextDelta) said += (*event)->text;
      run.events.push_back(**std::move(event));
    }
    run.turn = run.events.front().turn;
    last_ = &run;
  }
}

void World::open(Words& words, const Line& /*line*/) { gates_[words.word()].open(); }

void World::release(Words& words, const Line& /*line*/) { process().life->release(words.word()); }

void World::cancel(Words& words, const Line& /*line*/) {
  const bool by_id = words.take("turn of");
  Told& run = told(words.word());
  if (!by_id) {
    run.run->cancel();
  } else if (auto cancelled = process().agent->engine()->cancel(run.run->turn()); !cancelled) {
    open_error_ = cancelled.error();
  }
}

// The reader goes away; the turn does not.
void World::leave(Words& words, const Line& /*line*/) {
  Told& run = told(words.word());
  run.turn = run.run->turn();
  run.run.reset();
  run.outcome = Error(ErrorCode::kStreamGone, "nobody reads it any more");
  run.waited = run.died = true;
  last_ = &run;
}

// crash · crash during tool NAME · crash before|after STEP [N]
void World::crash(Words& words, const Line& /*line*/) {
  Process& living = process();
  if (words.take("during tool")) {
    living.life->die_during(words.word());
  } else if (words.empty()) {
    living.store->die();
    living.life->end();
  } else {
    CrashPoint point;
    point.when = words.take("after") ? CrashPoint::When::kAfter : CrashPoint::When::kBefore;
    if (point.when == CrashPoint::When::kBefore && !words.take("before")) {
      words.fail("'crash before STEP' or 'crash after STEP' is meant");
    }
    point.step = words.word();
    point.count = words.number().value_or(1);
    living.store->arm(std::move(point));
  }
}

// refuse STEP [N] with CODE: the store does, once.
void World::refuse(Words& words, const Line& /*line*/) {
  CrashPoint point{.step = words.word()};
  point.count = words.number().value_or(1);
  if (!words.take("with")) words.fail("'refuse STEP with CODE' is meant");
  point.refusal = error_code_named(words.word());
  if (!point.refusal) words.fail("there is no such error");
  process().store->arm(std::move(point));
}

void World::bury_the_dead() {
  for (auto& [number, process] : processes_) {
    if (!process.store || !process.store->dead() || !process.agent) continue;
    end_process(process);
    for (auto& [name, run] : told_) {
      if (run->outcome) continue;
      drain(*run);
      run->died = run->waited = true;
    }
  }
  std::erase_if(processes_, [](const auto& one) { return !one.second.agent; });
}

// restart [and recover]: a new process on the same data.
void World::restart(Words& words, const Line& /*line*/) {
  const bool recover = words.take("and recover");
  const auto living = processes_.find(1);
  if (living != processes_.end()) {
    const bool awaited = !living->second.store->all_came() || !living->second.life->all_came();
    for (auto& [name, run] : told_) {
      if (!awaited || run->outcome) continue;
      drain(*run);
      run->died = run->waited = living->second.store->dead();
    }
    if (!living->second.store->all_came() || !living->second.life->all_came()) fail("the crash did not come");
    end_process(living->second);
    processes_.erase(1);
    for (auto& [name, run] : told_) {
      if (run->outcome) continue;
      drain(*run);
      run->died = run->waited = true;
    }
  }
  hand_.reset();
  if (processes_.empty()) home_.reopen();
  processes_.emplace(1, open_process(recover));
  if (recover) wait_for_recovery();
}

// Until nothing is left of what was interrupted.
void World::wait_for_recovery() {
  Engine& engine = *process().agent->engine();
  while (!engine.interrupted().value().empty() || !engine.running().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// fork NAME [from BRANCH] at INDEX
void World::fork(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  const std::string name = words.word();
  const std::string from = words.take("from") ? words.word() : "main";
  if (!words.take("at")) words.fail("'fork NAME from BRANCH at INDEX' is meant");
  const std::size_t index = words.required_number();
  const Agent& agent = *process().agent;
  const Result<SessionAndBranch> source = agent.load_session_and_branch(how.session, from);
  if (!source) fail("branch '" + from + "' cannot be loaded: " + source.error().message());
  const Result<Branch> made = agent.fork_branch(source->branch, name, static_cast<std::int64_t>(index));
  if (!made) open_error_ = made.error();
}

// delete branch NAME [with its children]
void World::remove(Words& words, const Line& /*line*/) {
  if (!words.take("branch")) words.fail("'delete branch NAME' is meant");
  const Asked how = asked(words);
  const std::string name = words.word();
  const bool recursive = words.take("with its children");
  const Agent& agent = *process().agent;
  const Result<SessionAndBranch> found = agent.load_session_and_branch(how.session, name);
  if (!found) fail("branch '" + name + "' cannot be loaded: " + found.error().message());
  if (const Result<void> gone = agent.delete_branch(found->branch, recursive); !gone)
    open_error_ = gone.error();
}

void World::load(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  Result<SessionAndBranch> loaded = process().agent->load_session_and_branch(how.session, how.branch);
  if (loaded) {
    hand_ = *std::move(loaded);
  } else {
    open_error_ = loaded.error();
  }
}

void World::save(Words& /*words*/, const Line& /*line*/) {
  if (!hand_) fail("nothing was loaded by hand");
  const Result<void> saved = process().agent->save_session_and_branch(hand_->session, hand_->branch);
  if (!saved) open_error_ = saved.error();
}

// watch RUN [from N]: a reader that comes later, or again. What it is told must be the end of what a reader
// is told that has been there from the start.
void World::watch(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  const std::string name = words.word();
  const std::optional<std::size_t> from = words.take("from") ? words.number() : std::nullopt;
  const TurnId turn = told(name).turn;
  Engine& engine = *process().agent->engine();
  const SessionKey key = local_key(SessionId::parse(how.session).value());
  const BranchId branch = BranchId::parse(how.branch.empty() ? "main" : how.branch).value();
  std::vector<Event> all;
  if (from) {
    Run whole = engine.watch(key, branch, turn);
    for (const Event& event : whole) all.push_back(event);
  }
  Asked later = how;
  later.name = "watch";
  keep(engine.watch(key, branch, turn,
                    from && *from > 0 ? std::optional<std::uint64_t>(*from - 1) : std::nullopt),
       later);
  settle(*last_);
  if (!from || open_error_) return;
  std::erase_if(all, [&](const Event& event) { return event.number < *from; });
  if (all != last_->events) fail("a reader that comes back is told something else than one that stayed");
}

}  // namespace tertulia
