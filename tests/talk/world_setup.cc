// What there is in a story: the store, the agent, its tools, and what the model will do.
#include <utility>

#include "tertulia/store/json_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"

#include "world.h"

namespace tertulia {

Home::Home(std::string kind, std::filesystem::path directory)
    : kind_(std::move(kind)), directory_(std::move(directory)) {
  reopen();
}

void Home::reopen() {
  if (kind_ == "memory") {
    if (!store_) store_ = open_memory_store();
    return;
  }
  store_.reset();
  if (kind_ == "json") {
    store_ = open_json_store(real_env(), directory_).value();
  } else {
    // What is simulated here is the death of the process, which needs no syncs.
    store_ = open_sqlite_store(real_env(), directory_, {.durability = Durability::kProcess}).value();
  }
}

World::World(const std::string& store_kind, const std::filesystem::path& directory)
    : home_(store_kind, directory), directory_(directory) {}

World::~World() {
  for (auto& [number, process] : processes_) end_process(process);
}

void World::run(const std::vector<Line>& script) {
  for (const Line& line : script) {
    line_ = line.number;
    Words words(line);
    const std::string verb = words.word();
    const auto statement = statements().find(verb);
    if (statement == statements().end()) fail("there is no statement '" + verb + "'");
    if (open_error_ && verb != "error") {
      fail("expected no error before this line, got " + std::string(name_of(open_error_->code())) + ": " +
           open_error_->message());
    }
    (this->*statement->second)(words, line);
    words.end();
    bury_the_dead();
  }
  close();
}

void World::story(Words& words, const Line& /*line*/) { (void)words.rest(); }

// Settings, or what the agent must have said.
void World::agent(Words& words, const Line& line) {
  if (line.block.empty()) {
    says(words.rest());
    return;
  }
  for (const Line& one : line.block) setting(Words(one));
}

void World::setting(Words words) {
  if (words.take("system")) {
    system_ = words.rest();
  } else if (memory_setting(words)) {
    // It was one of the memory's.
  } else if (words.take("saved by hand")) {
    persist_ = false;
  } else if (words.take("rejects closed sessions")) {
    on_return_ = OnReturn::kReject;
  } else if (words.take("tool")) {
    ToolPlan plan = read_tool(words);
    std::erase_if(tools_, [&](const ToolPlan& one) { return one.name == plan.name; });
    tools_.push_back(std::move(plan));
  } else if (words.take("probe")) {
    const std::string name = words.word();
    for (ToolPlan& plan : tools_) {
      if (plan.name != name) continue;
      for (const char* answer : {"done", "not done", "unknown", "throws"}) {
        if (!words.take(answer)) continue;
        plan.probe = answer;
        plan.probe_text = words.rest();
      }
    }
  } else if (words.take("limit")) {
    const std::string name = words.word();
    const std::map<std::string, std::uint32_t*> counts{
        {"max_iterations", &limits_.max_iterations},
        {"max_tool_rounds", &limits_.max_tool_rounds},
        {"max_tool_calls", &limits_.max_tool_calls},
        {"max_consecutive_errors", &limits_.max_consecutive_errors},
        {"parallel_tools", &limits_.parallel_tools},
        {"queue", &limits_.queue}};
    const std::map<std::string, Duration*> times{{"tool_timeout", &limits_.tool_timeout},
                                                 {"turn_timeout", &limits_.turn_timeout}};
    if (const auto count = counts.find(name); count != counts.end()) {
      *count->second = static_cast<std::uint32_t>(words.required_number());
    } else if (const auto time = times.find(name); time != times.end()) {
      *time->second = read_duration(words);
    } else if (name == "tool_result_bytes") {
      limits_.tool_result_bytes = words.required_number();
    } else {
      words.fail("there is no limit '" + name + "'");
    }
  } else {
    (void)reach_setting(words);
  }
  words.end();
}

void World::model(Words& words, const Line& line) {
  std::vector<Line> acts = line.block;
  const std::string on_this_line = words.raw_rest();
  if (acts.empty()) acts.push_back({line.number, on_this_line, {}});
  model_->add(step_of(acts));
}

ModelStep World::step_of(const std::vector<Line>& acts) {
  ModelStep step;
  for (const Line& line : acts) act(step, Words(line));
  return step;
}

void World::act(ModelStep& step, Words words) {
  if (words.take("say")) {
    for (std::string& piece : words.pieces()) step.say(std::move(piece));
  } else if (words.take("reason")) {
    step.reason(words.rest());
  } else if (words.take("call")) {
    const std::string tool = words.word();
    std::string arguments = words.rest();
    std::string id;
    if (const std::size_t as = arguments.rfind(" as "); as != std::string::npos) {
      id = arguments.substr(as + 4);
      arguments.resize(as);
    }
    step.call(tool, arguments, id);
  } else if (words.take("retry")) {
    step.retry(words.rest());
  } else if (words.take("fail")) {
    const std::string code = words.word();
    if (!error_code_named(code)) words.fail("there is no error '" + code + "'");
    step.fail(*error_code_named(code), "the model says so");
  } else if (words.take("hang")) {
    step.hang();
  } else if (words.take("wait at")) {
    step.wait(gates_[words.word()]);
  } else if (words.take("use")) {
    const std::uint64_t in = words.required_number();
    step.usage({.input_tokens = in, .output_tokens = words.required_number()});
  } else if (words.take("finish length")) {
    step.finish(Finish::kLength);
  } else if (words.take("finish refusal")) {
    step.finish(Finish::kRefusal);
  } else if (words.take("expect")) {
    expect(step, words);
  }
  words.end();
}

void World::expect(ModelStep& step, Words& words) {
  const auto mismatch = [](const std::string& what) { return Error(ErrorCode::kScriptMismatch, what); };
  if (expect_asset(step, words)) return;
  if (words.take("last user")) {
    step.expect_last_user(words.rest());
  } else if (words.take("no tools")) {
    step.expect_tools({});
  } else if (words.take("tools")) {
    step.expect_tools(split(words.rest(), ','));
  } else if (words.take("messages")) {
    step.expect_messages(words.required_number());
  } else if (words.take("no tool choice")) {
    step.expect([mismatch](const ModelRequest& request) -> Result<void> {
      if (request.options.tool_choice == ToolChoice::kNone || request.tools.empty()) return {};
      return mismatch("the model may still call tools");
    });
  } else if (words.take("tool choice")) {
    step.expect([mismatch](const ModelRequest& request) -> Result<void> {
      if (request.options.tool_choice == ToolChoice::kAuto && !request.tools.empty()) return {};
      return mismatch("the model may not call tools");
    });
  } else if (words.take("system")) {
    step.expect([mismatch, text = words.rest()](const ModelRequest& request) -> Result<void> {
      const std::vector<Message> seen = request.view.to_vector();
      if (!seen.empty() && seen[0].role() == Role::kSystem && seen[0].text_content() == text) return {};
      return mismatch("the system prompt is not \"" + text + "\"");
    });
  } else if (words.take("temperature")) {
    step.expect([mismatch, wanted = words.rest()](const ModelRequest& request) -> Result<void> {
      if (request.options.temperature && *request.options.temperature == std::stod(wanted)) return {};
      return mismatch("the temperature is not " + wanted);
    });
  } else if (words.take("model")) {
    step.expect([mismatch, wanted = words.rest()](const ModelRequest& request) -> Result<void> {
      if (request.model == wanted) return {};
      return mismatch("the model is " + request.model);
    });
  }
}

Process& World::process(std::size_t number) {
  auto found = processes_.find(number);
  if (found == processes_.end()) {
    if (number != 1) fail("there is no second engine");
    found = processes_.emplace(number, open_process(/*recover=*/false)).first;
  }
  return found->second;
}

void World::second(Words& words, const Line& /*line*/) {
  if (!words.take("engine")) words.fail("'second engine' is meant");
  processes_.emplace(2, open_process(/*recover=*/false));
}

Process World::open_process(bool recover) {
  Process process;
  process.store = std::make_shared<MortalStore>(home_.store());
  process.life = std::make_shared<Life>([store = process.store] { store->die(); });
  AgentBuilder builder;
  builder.with_engine(Engine::open({.store = process.store, .recover = recover}).value())
      .with_session_store(process.store, persist_)
      .with_model(model_, "script");
  AgentSpec spec;
  spec.id = AgentId::parse("agent").value();
  spec.name = "agent";
  spec.on_return = on_return_;
  spec.limits = limits_;
  spec.memory = memory_;
  spec.system_prompt = system_;
  builder.with_spec(std::move(spec));
  attach_memory(process, builder);
  for (const ToolPlan& plan : tools_) builder.with_tool(make_story_tool(plan, ledger_, process.life));
  if (policy_) builder.with_permissions(*policy_);
  add_middleware(builder);
  Result<Agent> made = builder.build();
  if (!made) fail("the agent cannot be made: " + made.error().message());
  process.agent = *std::move(made);
  return process;
}

// Lets go of the engine: if it is dead, its last writes go nowhere; else it parks what it was doing.
void World::end_process(Process& process) {
  if (process.store && process.store->dead()) process.life->end();
  process.agent.reset();
  process.memory.reset();
  if (process.life) process.life->end();
  process.store.reset();
}

}  // namespace tertulia
