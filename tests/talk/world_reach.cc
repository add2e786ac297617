// Who may do what in a story, who is asked, and the middleware around it.
#include "tertulia/agent/builtin_middleware.h"

#include "world.h"

namespace tertulia {
namespace {

MiddlewarePtr limits_of(Words& words) {
  LimitOptions options;
  SpendingLimit& limit = words.take("session") ? options.session : options.turn;
  (void)words.take("turn");
  if (words.take("requests")) {
    limit.requests = words.required_number();
  } else if (words.take("tokens")) {
    limit.tokens = words.required_number();
  } else if (words.take("money")) {
    // In thousandths, at a price of one for a thousand tokens.
    limit.money = static_cast<double>(words.required_number()) / 1'000;
    options.input_price = options.output_price = 1'000;
  } else {
    words.fail("'limits turn|session requests|tokens|money N' is meant");
  }
  return limits_middleware(options);
}

MiddlewarePtr middleware_of(Words& words) {
  if (words.take("plan")) return plan_middleware();
  if (words.take("breaker")) {
    return breaker_middleware({.repeats = static_cast<std::uint32_t>(words.required_number())});
  }
  if (words.take("retry")) {
    return retry_middleware({.attempts = static_cast<std::uint32_t>(words.required_number()),
                             .first_pause = std::chrono::milliseconds(1)});
  }
  if (words.take("limits")) return limits_of(words);
  if (words.take("redaction")) {
    const bool stored = words.take("stored");
    const bool shown = !stored && words.take("shown");
    return redaction_middleware({.rules = common_redaction_rules(), .shown = shown, .stored = stored})
        .value();
  }
  words.fail("there is no such middleware");
}

}  // namespace

// asks · asks unattended · asks within 20ms · rule allow|deny|ask TOOL [JSON] · middleware …
bool World::reach_setting(Words& words) {
  if (words.take("middleware")) {
    middleware_.push_back(words.raw_rest());
    return true;
  }
  if (words.take("asks")) {
    if (!policy_) policy_.emplace();
    policy_->unattended = words.take("unattended");
    if (words.take("within")) policy_->timeout = read_duration(words);
    return true;
  }
  if (!words.take("rule")) return false;
  if (!policy_) policy_.emplace();
  PermissionRule rule;
  const std::string permission = words.word();
  for (const Permission one : {Permission::kAsk, Permission::kAllow, Permission::kDeny}) {
    if (name_of(one) == permission) rule.permission = one;
  }
  rule.tool = words.word();
  if (const std::string arguments = words.rest(); !arguments.empty()) {
    rule.arguments = hash_of_arguments(arguments);
  }
  policy_->rules.push_back(std::move(rule));
  return true;
}

void World::add_middleware(AgentBuilder& builder) const {
  for (const std::string& one : middleware_) {
    Words words(line_, one);
    builder.with_middleware(middleware_of(words));
  }
}

std::vector<Question> World::open_questions() {
  const SessionKey key = local_key({});
  // As somebody without an agent sees them: of the store, not of the process that asks.
  const auto engine = Engine::open({.store = home_.store(), .recover = false}).value();
  return engine->questions(key.tenant, key.owner).value();
}

// An answer that is bound to other arguments, by whoever can write to the store.
void World::answer_other_arguments(const Question& question) {
  const std::shared_ptr<Store> store = home_.store();
  const RecordPage page = read_records(*store, {.tenant = question.key.tenant,
                                                .owner = question.key.owner,
                                                .session = question.key.session,
                                                .kind = RecordKind::kQuestion,
                                                .key = question.id(),
                                                .limit = 1'000})
                              .value();
  Record record = page.records.back().record;
  ++record.number;
  record.name = "answered";
  record.payload = to_text(JsonObject{{"choice", "once"}, {"arguments_hash", hash_of_arguments("[]")}});
  note(*store, {.key = question.key, .conditions = {}, .changes = {AddRecord{std::move(record)}}}).value();
}

// answer TOOL with CHOICE · answer TOOL with output TEXT · answer again with CHOICE
// answer other arguments of TOOL: allows a call that nobody asks about
// from outside: by a process that has no agent
void World::answer(Words& words, const Line& /*line*/) {
  if (words.take("other arguments of")) {
    const std::string about = words.word();
    for (const Question& question : open_questions()) {
      if (question.tool == about) return answer_other_arguments(question);
    }
    fail("nothing is asked about " + about);
  }
  const bool outside = words.take("from outside");
  const std::string tool = words.word();
  if (!words.take("with")) words.fail("'answer TOOL with CHOICE' is meant");
  const Result<Answer::Choice> choice = answer_choice_named(words.word());
  if (!choice) words.fail(choice.error().message());
  Answer given{.choice = *choice, .output = words.rest()};
  SessionKey key = local_key(SessionId::parse("s").value());
  if (tool != "again") {
    last_question_.clear();
    for (const Question& question : open_questions()) {
      if (question.tool != tool || !last_question_.empty()) continue;
      last_question_ = question.id();
      key = question.key;
    }
    if (last_question_.empty()) fail("nothing is asked about " + tool);
  }
  Result<void> answered;
  if (outside) {
    const auto engine = Engine::open({.store = home_.store(), .recover = false}).value();
    answered = engine->answer(key, last_question_, given);
  } else {
    answered = process().agent->engine()->answer(key, last_question_, given);
  }
  if (!answered) open_error_ = answered.error();
}

// questions: none · questions + block of "TOOL ARGUMENTS"
void World::questions(Words& words, const Line& line) {
  (void)words.take(": none");
  std::vector<std::string> found;
  for (const Question& question : open_questions()) {
    found.push_back(question.tool + " " + question.arguments.text());
  }
  compare(line.block, found, "what is asked differs", false);
}

void World::until_asked(Told& run, const std::string& tool) {
  while (true) {
    Result<std::optional<Event>> event = run.run->next();
    if (!event || !*event) fail("the run ended and has not asked about " + tool);
    const bool asked = (*event)->kind == EventKind::kPermissionAsked && (*event)->name == tool;
    run.events.push_back(**std::move(event));
    if (asked) break;
  }
  run.turn = run.events.front().turn;
  last_ = &run;
}

// plan (OPTIONS) + block · plan (OPTIONS): none
void World::plan(Words& words, const Line& line) {
  const Asked how = asked(words);
  (void)words.take(": none");
  SessionStore sessions(*home_.store(), real_env().clock());
  const Result<Branch> branch =
      sessions.load_branch(SessionId::parse(how.session).value(),
                           BranchId::parse(how.branch.empty() ? "main" : how.branch).value());
  if (!branch) fail("the branch cannot be read: " + branch.error().message());
  const std::string text = text_of(plan_in(branch->state).value());
  compare(line.block, text.empty() ? std::vector<std::string>() : split(text, '\n'), "the plan differs",
          false);
}

// spent: 2 requests, 150 tokens
void World::spent(Words& words, const Line& /*line*/) {
  const Result<SessionState> state = tertulia::load(*home_.store(), local_key(SessionId::parse("s").value()));
  if (!state) fail("the session cannot be read: " + state.error().message());
  const Spending spent = spending_in(state->session.state).value();
  const std::string found = std::to_string(spent.requests) + " requests, " +
                            std::to_string(spent.input_tokens + spent.output_tokens) + " tokens";
  const std::string wanted = words.rest();
  if (wanted != found) fail("expected " + wanted + ", got " + found);
}

}  // namespace tertulia
