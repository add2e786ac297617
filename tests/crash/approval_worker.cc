// A process whose agent asks before it uses its tools, and that is killed at any point of it. What a tool
// does is a line in a ledger file, which no death takes back.
//
//   approval_worker turn   KIND DIRECTORY LEDGER DECISIONS   one turn in session "s", begun or gone on with;
//   a
//                                                            question whose decision is "leave" ends the
//                                                            process
//   approval_worker answer KIND DIRECTORY LEDGER DECISIONS   has no agent, and answers what is open
//   approval_worker mislead KIND DIRECTORY LEDGER -          allows what is open, as if its arguments were
//                                                            others
//   approval_worker list   KIND DIRECTORY LEDGER -           what is on record
//   approval_worker lives                                    many of those, each a process (lives.h)
//
// DECISIONS: for the calls 1, 2 and 3, with commas: once, deny, leave, …
//
//   "misled-" before a decision: somebody else allows other arguments first
//
//   call KEY TOOL OUTCOME APPROVAL · open N · answered CALL · refused CALL · asked CALL · misled CALL · done
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tertulia/agent/agent.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/tools/function_tool.h"

#include "kill_points.h"
#include "lives.h"

namespace tertulia {
namespace {

constexpr std::string_view kMisled = "misled-";

SessionKey key() { return local_key(SessionId::parse("s").value()); }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// One batch, of which the first call only reads, then an answer.
class BatchModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view /*model*/) const override {
    return {.name = "batch", .context_tokens = 100'000, .tokenizer = estimating_tokenizer()};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    ModelResponse response;
    if (call.request.view.to_vector().back().role() == Role::kUser) {
      for (const char* tool : {"look", "pay", "send", "pay"}) {
        response.parts.push_back({.kind = PartKind::kToolCall,
                                  .text = R"({"n":)" + std::to_string(response.parts.size()) + "}",
                                  .name = tool,
                                  .call_id = "same"});
      }
      response.finish = Finish::kToolCalls;
    } else {
      response.parts.push_back({.text = "All is done."});
    }
    done(std::move(response));
  }
};

Agent make_agent(const std::shared_ptr<Store>& store, int ledger) {
  AgentBuilder builder;
  PermissionPolicy policy;
  policy.timeout = std::chrono::minutes(5);
  builder.with_model(std::make_shared<BatchModel>(), "batch")
      .with_session_store(store)
      .with_permissions(policy);
  const auto tool = [ledger](const std::string& name, ToolClass tool_class) {
    return make_tool(name, "Writes a line.", {"n"},
                     [ledger, name](int /*n*/, const ToolCall& call) {
                       point();
                       write_line(ledger, call.key + " " + name);
                       point();
                       return std::string("written");
                     },
                     {.tool_class = tool_class});
  };
  builder.with_tool(tool("look", ToolClass::kReadOnly))
      .with_tool(tool("send", ToolClass::kIdempotent))
      .with_tool(tool("pay", ToolClass::kUnsafe));
  return must("agent", builder.build());
}

// Answers, and tries to say the opposite afterwards.
void answer(Engine& engine, const std::string& question, const std::string& call,
            const std::string& decision) {
  const Answer::Choice choice = must("choice", answer_choice_named(decision));
  const Result<void> answered = engine.answer(key(), question, {.choice = choice});
  if (!answered && answered.error().code() != ErrorCode::kNoQuestion) give_up("answer", answered.error());
  if (answered) say("answered " + call);
  const Answer::Choice other =
      choice == Answer::Choice::kDeny ? Answer::Choice::kOnce : Answer::Choice::kDeny;
  if (engine.answer(key(), question, {.choice = other})) say("fail a second answer to call " + call);
}

// An answer that is bound to other arguments, written by somebody who can write to the store.
void mislead(Store& store, const Question& question) {
  const RecordPage page = must("question", read_records(store, {.tenant = key().tenant,
                                                                .owner = key().owner,
                                                                .session = key().session,
                                                                .kind = RecordKind::kQuestion,
                                                                .key = question.id(),
                                                                .limit = 1'000}));
  Record answer = page.records.back().record;
  ++answer.number;
  answer.name = "answered";
  answer.payload = to_text(JsonObject{{"choice", "once"},
                                      {"arguments_hash", hash_of_arguments(R"({"n":99})")},
                                      {"output", ""},
                                      {"failed", false}});
  must("mislead", note(store, {.key = key(), .conditions = {}, .changes = {AddRecord{std::move(answer)}}}));
  say("misled " + std::to_string(question.call));
}

bool is_open(Engine& engine, const std::string& id) {
  const std::vector<Question> open = must("questions", engine.questions(key().tenant, key().owner));
  return std::ranges::any_of(open, [&](const Question& question) { return question.id() == id; });
}

int turn(const std::shared_ptr<Store>& store, int ledger, const std::vector<std::string>& decisions) {
  const Agent agent = make_agent(store, ledger);
  Run run = agent.run("Go", "s", {.idempotency_key = "k", .on_busy = OnBusy::kQueue});
  for (const Event& event : run) {
    if (event.kind != EventKind::kPermissionAsked) continue;
    // Those of an earlier life are told again, also if they have been answered.
    if (!is_open(*agent.engine(), event.call_id)) continue;
    say("asked " + std::to_string(event.index));
    std::string decision = decisions.at(event.index - 1);
    if (decision.starts_with(kMisled)) {
      decision.erase(0, kMisled.size());
      for (const Question& question :
           must("questions", agent.engine()->questions(key().tenant, key().owner))) {
        mislead(*store, question);
      }
      if (!is_open(*agent.engine(), event.call_id)) say("fail the question is gone");
    }
    if (decision == "leave") {
      // As a process that is stopped: nobody waits for anything.
      ::kill(::getpid(), SIGKILL);
    }
    answer(*agent.engine(), event.call_id, std::to_string(event.index), decision);
  }
  const TurnOutcome outcome = must("turn", run.result());
  if (outcome.status != TurnStatus::kCommitted)
    say("fail the turn is " + std::string(name_of(outcome.status)));
  say("done");
  return 0;
}

int answer_all(const std::shared_ptr<Store>& store, const std::vector<std::string>& decisions) {
  const auto engine = must("engine", Engine::open({.store = store}));
  for (const Question& question : must("questions", engine->questions(key().tenant, key().owner))) {
    answer(*engine, question.id(), std::to_string(question.call), decisions.at(question.call - 1));
  }
  say("done");
  return 0;
}

int mislead_all(const std::shared_ptr<Store>& store) {
  const auto engine = must("engine", Engine::open({.store = store}));
  for (const Question& question : must("questions", engine->questions(key().tenant, key().owner))) {
    mislead(*store, question);
    if (!is_open(*engine, question.id())) say("fail the question is gone");
  }
  say("done");
  return 0;
}

int list_calls(Store& store) {
  const RecordPage page = must("records", read_records(store, {.tenant = key().tenant,
                                                               .owner = key().owner,
                                                               .session = key().session,
                                                               .kind = RecordKind::kToolCall,
                                                               .limit = 1'000}));
  for (const StoredRecord& stored : page.records) {
    const auto call = must("record", parse_form<ToolCallRecord>(stored.record.payload));
    say("call " + idempotency_key(call.session, call.branch, call.turn, call.number) + " " + call.tool + " " +
        std::string(name_of(call.outcome)) + " " + std::string(name_of(call.approval)));
  }
  const RecordPage questions = must("questions", read_records(store, {.tenant = key().tenant,
                                                                      .owner = key().owner,
                                                                      .session = key().session,
                                                                      .kind = RecordKind::kQuestion,
                                                                      .limit = 1'000}));
  say("open " + std::to_string(questions.records.size()));
  for (const Problem& problem : must("verify", verify(store)).problems)
    say("fail verify " + problem.sentence);
  say("done");
  return 0;
}

int live(const std::vector<std::string>& words) {
  if (words.size() != 6) {
    std::fputs("usage: approval_worker turn|answer|mislead|list KIND DIRECTORY LEDGER DECISIONS | lives\n",
               stderr);
    return 2;
  }
  Log().set_level(LogLevel::kError);
  const int ledger = ::open(words[4].c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const std::shared_ptr<Store> store = open_pointed(words[2], words[3]);
  if (words[1] == "turn") return turn(store, ledger, split(words[5]));
  if (words[1] == "answer") return answer_all(store, split(words[5]));
  if (words[1] == "mislead") return mislead_all(store);
  return list_calls(*store);
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { return tertulia::live_one_or_many(argc, argv, tertulia::live); }
