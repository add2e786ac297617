// A process that is killed in the middle of turns. Its agent uses five tools, two in a first round and three
// in a second; what a tool does is a line in a ledger file, which no death takes back. What was asked and
// what was acknowledged is said on standard output.
//
//   agent_worker once  KIND DIRECTORY LEDGER          one turn in session "s", begun or gone on with
//   agent_worker load  KIND DIRECTORY LEDGER ROUND    turns in several sessions until it is killed
//   agent_worker check KIND DIRECTORY LEDGER          lets every session answer once more, then lists it
//   agent_worker lives                                many of those, each a process (lives.h)
//
//   try SESSION MESSAGE, ack SESSION MESSAGE          as in worker.cc
//   said SESSION MESSAGE                              a message that is in a transcript
//   call KEY TOOL OUTCOME                             a call that is on record
//   usable SESSION MILLISECONDS                       how long a session took to answer after the start
//
// TERTULIA_KILL_AT=N: it kills itself at the N-th point at which a turn can be cut: before and after each
// write to the store, before and after the effect of each tool.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

constexpr int kSessions = 4;

// Two rounds of calls, then an answer; whoever asks again gets the same.
class FiveToolModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view /*model*/) const override {
    return {.name = "five", .context_tokens = 100'000, .tokenizer = estimating_tokenizer()};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    const std::vector<Message> seen = call.request.view.to_vector();
    std::size_t rounds = 0;
    for (auto message = seen.rbegin(); message != seen.rend() && message->role() != Role::kUser; ++message) {
      if (message->has_tool_calls()) ++rounds;
    }
    ModelResponse response;
    const bool work = seen.back().text_content() != "Are you there?";
    static constexpr std::array kFirst{"look", "book"};
    static constexpr std::array kSecond{"pay", "reserve", "slow"};
    if (rounds == 0 && work) {
      for (const char* tool : kFirst) response.parts.push_back(call_of(tool));
    } else if (rounds == 1) {
      for (const char* tool : kSecond) response.parts.push_back(call_of(tool));
    } else {
      response.parts.push_back({.text = "All is done."});
    }
    response.finish = rounds < 2 && work ? Finish::kToolCalls : Finish::kStop;
    done(std::move(response));
  }

 private:
  static AnswerPart call_of(const char* tool) {
    return {.kind = PartKind::kToolCall, .text = "{}", .name = tool, .call_id = "same"};
  }
};

class Tools {
 public:
  explicit Tools(std::string ledger)
      : path_(std::move(ledger)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644)) {}

  ToolPtr make(const std::string& name, ToolOptions options, int milliseconds = 0) {
    return make_tool(
        name, "Writes a line.",
        [this, name, milliseconds](const ToolCall& call) {
          point();
          if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
          write_line(file_, call.key + " " + name);
          point();
          return std::string("written");
        },
        std::move(options));
  }

  // What became of a call: whether its line is there.
  Result<std::optional<ToolOutput>> probe(const ToolCall& call, const std::string& name) const {
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      if (line == call.key + " " + name) return std::optional(ToolOutput{.text = "written"});
    }
    return std::optional<ToolOutput>();
  }

 private:
  const std::string path_;
  const int file_;
};

Agent make_agent(const std::shared_ptr<Store>& store, Tools& tools) {
  AgentBuilder builder;
  builder.with_model(std::make_shared<FiveToolModel>(), "five").with_session_store(store);
  builder.with_tool(tools.make("look", {.tool_class = ToolClass::kReadOnly}))
      .with_tool(tools.make("book", {.tool_class = ToolClass::kIdempotent}))
      .with_tool(tools.make("pay", {.tool_class = ToolClass::kUnsafe}))
      .with_tool(tools.make(
          "reserve", {.tool_class = ToolClass::kUnsafe,
                      .probe = [&tools](const ToolCall& call) { return tools.probe(call, "reserve"); }}))
      .with_tool(tools.make("slow", {.tool_class = ToolClass::kIdempotent}, 3));
  return must("agent", builder.build());
}

// The turn of this message: run, joined, or the one that was committed.
void send(const Agent& agent, const std::string& session, const std::string& message, OnBusy on_busy) {
  say("try " + session + " " + message);
  RunOptions options{.idempotency_key = message, .on_busy = on_busy};
  must("turn", agent.run(message, session, std::move(options)).result());
  say("ack " + session + " " + message);
}

int once(const std::string& kind, const Path& directory, const std::string& ledger) {
  Tools tools(ledger);
  const std::shared_ptr<Store> store = open_pointed(kind, directory);
  const Agent agent = make_agent(store, tools);
  send(agent, "s", "five-things", OnBusy::kQueue);
  return 0;
}

int load_until_killed(const std::string& kind, const Path& directory, const std::string& ledger,
                      const std::string& round) {
  Tools tools(ledger);
  const std::shared_ptr<Store> store = open_pointed(kind, directory);
  const Agent agent = make_agent(store, tools);
  std::vector<std::thread> threads;
  for (int i = 0; i < kSessions; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0;; ++n) {
        send(agent, "s" + std::to_string(i), "m" + round + "-" + std::to_string(n), OnBusy::kQueue);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

void list_session(Store& store, const SessionKey& key) {
  const std::string name = key.session.text();
  for (const StoredTurn& turn :
       must("read", read_turns(store, key, {.branch = BranchId::parse("main").value()}))) {
    for (const Message& message : turn.turn.messages()) {
      if (message.role() == Role::kUser) say("said " + name + " " + message.text_content());
    }
  }
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = RecordKind::kToolCall,
                    .limit = 1'000};
  do {
    RecordPage page = must("records", read_records(store, query));
    for (const StoredRecord& stored : page.records) {
      const auto call = must("record", parse_form<ToolCallRecord>(stored.record.payload));
      say("call " + idempotency_key(call.session, call.branch, call.turn, call.number) + " " + call.tool +
          " " + std::string(name_of(call.outcome)));
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
}

int check(const std::string& kind, const Path& directory, const std::string& ledger) {
  const auto start = std::chrono::steady_clock::now();
  Tools tools(ledger);
  const std::shared_ptr<Store> store = open_pointed(kind, directory);
  const Agent agent = make_agent(store, tools);
  const SessionPage page = must("list", list(*store, {.tenant = local_key({}).tenant, .limit = 1'000}));
  for (const SessionSummary& session : page.sessions) {
    const std::string name = session.key.session.text();
    must("answer in " + name, agent.run("Are you there?", name, {.on_busy = OnBusy::kQueue}).result());
    const auto taken = std::chrono::steady_clock::now() - start;
    say("usable " + name + " " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count()));
  }
  const auto left = must("interrupted", agent.engine()->interrupted());
  if (!left.empty()) say("fail turn " + left[0].turn.text() + " is still interrupted");
  for (const SessionSummary& session : page.sessions) list_session(*store, session.key);
  const VerifyReport report = must("verify", verify(*store));
  for (const Problem& problem : report.problems) {
    say("fail verify " + problem.session + " " + problem.record + ": " + problem.sentence);
  }
  say("checked");
  return 0;
}

int live(const std::vector<std::string>& words) {
  if (words.size() == 5 && words[1] == "once") return once(words[2], words[3], words[4]);
  if (words.size() == 6 && words[1] == "load") {
    return load_until_killed(words[2], words[3], words[4], words[5]);
  }
  if (words.size() == 5 && words[1] == "check") return check(words[2], words[3], words[4]);
  std::fputs(
      "usage: agent_worker once|check KIND DIRECTORY LEDGER | load KIND DIRECTORY LEDGER ROUND | lives\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { return tertulia::live_one_or_many(argc, argv, tertulia::live); }
