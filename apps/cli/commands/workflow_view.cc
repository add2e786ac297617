#include "commands/workflow_view.h"

#include <csignal>
#include <iostream>
#include <set>
#include <thread>

#include <unistd.h>

#include "tertulia/base/printable.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/json_forms.h"

#include "words.h"

namespace tertulia::cli {
namespace {

// The words of a request, if it has some.
std::string question_in(const InfoRequest& request) {
  if (request.data.as_string() != nullptr) return *request.data.as_string();
  const JsonObject* object = request.data.as_object();
  for (const char* key : {"text", "plan"}) {
    const Json* words = object == nullptr ? nullptr : object->find(key);
    if (words != nullptr && words->as_string() != nullptr) return *words->as_string();
  }
  return to_text(request.data);
}

struct Wording {
  std::string_view asks;
  std::string_view without;
  std::string_view with;
};

// What an answer means depends on who asks.
Wording wording_of(const InfoRequest& request) {
  const JsonObject* object = request.data.as_object();
  const Json* kind = object == nullptr ? nullptr : object->find("kind");
  const std::string name = kind != nullptr && kind->as_string() != nullptr ? *kind->as_string() : "";
  if (name == "review") return {"wants this approved", "approve", "have it changed"};
  if (name == "plan_review") return {"wants this plan approved", "approve", "have it changed"};
  if (name == "user") return {"waits for you to answer", "end here", "answer"};
  return {"asks", "answer without words", "answer"};
}

class WorkflowInterrupts {
 public:
  WorkflowInterrupts() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([this, set] {
      int signal = 0;
      while (sigwait(&set, &signal) != 0) continue;
      leave();
    }).detach();
  }

  void watch(std::string hint) {
    MutexLock lock(mutex_);
    hint_ = std::move(hint);
  }

 private:
  [[noreturn]] void leave() {
    MutexLock lock(mutex_);
    if (!hint_.empty()) std::cerr << "\n" << hint_ << "\n" << std::flush;
    ::_exit(kExitInterrupted);
  }

  Mutex mutex_;
  std::string hint_ TERTULIA_GUARDED_BY(mutex_);
};

// One object for the program: its thread lives as long.
WorkflowInterrupts& workflow_interrupts() {
  static WorkflowInterrupts* const kWorkflowInterrupts = new WorkflowInterrupts;
  return *kWorkflowInterrupts;
}

class RunPrinter {
 public:
  explicit RunPrinter(const Context& context) : context_(context) {}

  void show(const Event& event) {
    const Output& out = context_.out;
    began_ = began_ || event.kind == EventKind::kSuperstepStarted;
    if (out.json) return out.line(to_json(event));
    if (event.kind == EventKind::kTextStarted) {
      name_speaker(event.name);
      said_.clear();
    }
    if (event.kind == EventKind::kTextDelta) {
      out.print(printable(event.text));
      said_ += event.text;
    }
    if (event.kind == EventKind::kTextEnded) out.line("");
    // What is inside of a workflow speaks when it is done.
    if (event.kind == EventKind::kWorkflowOutput && !heard_.contains(event.name)) say_output(event);
    if (event.kind == EventKind::kWarning)
      std::cerr << out.styled_err(Style::kDim, printable(event.text)) << "\n";
  }

  // There is something to go on with.
  bool began() const { return began_; }

 private:
  void say_output(const Event& event) {
    const Json data = event.data.value();
    // A manager gives out what somebody else has just said.
    if (data.as_string() == nullptr || *data.as_string() == said_) return;
    name_speaker(event.name);
    context_.out.line(printable(*data.as_string()));
  }

  void name_speaker(const std::string& name) {
    heard_.insert(name);
    if (speaker_ == name) return;
    speaker_ = name;
    context_.out.line(context_.out.styled(Style::kBold, speaker_));
  }

  const Context& context_;
  std::string speaker_;
  // Its last words.
  std::string said_;
  std::set<std::string> heard_;
  bool began_ = false;
};

}  // namespace

std::string_view status_word(WorkflowStatus status) {
  return status == WorkflowStatus::kRunning ? "interrupted" : name_of(status);
}

JsonObject json_of(const StoredRun& run) {
  JsonArray requests;
  for (const InfoRequest& request : run.requests) {
    requests.emplace_back(
        JsonObject{{"request", request.id}, {"from", request.node}, {"data", request.data}});
  }
  JsonArray nodes;
  for (const auto& [node, mark] : run.marks) {
    nodes.emplace_back(JsonObject{{"node", node},
                                  {"state", std::string(name_of(mark.state))},
                                  {"calls", std::int64_t{mark.calls}},
                                  {"time_us", std::int64_t{mark.time.count()}}});
  }
  return {{"run", run.run},
          {"workflow", run.workflow},
          {"session", run.key.session.text()},
          {"status", std::string(status_word(run.status))},
          {"supersteps", run.supersteps},
          {"started_at", iso_time(run.started_at)},
          {"last_activity", iso_time(run.last_activity)},
          {"requests", std::move(requests)},
          {"nodes", std::move(nodes)}};
}

void show_request(const Context& context, const std::string& run, const InfoRequest& request) {
  const Wording words = wording_of(request);
  const std::string command = "tertulia workflow approve " + run + " " + request.id;
  context.out.line(request.node + " " + std::string(words.asks) + ": " + printable(question_in(request)));
  context.out.line("  to " + std::string(words.without) + ": " + command);
  context.out.line("  to " + std::string(words.with) + ": " + command + " --text \"…\"");
}

void keep_interrupts() { workflow_interrupts(); }

Result<void> follow(const Context& context, const std::string& file, WorkflowRun run) {
  const std::string again = "tertulia workflow resume " + file + " " + run.id();
  workflow_interrupts().watch("Stopped. What was done is kept; go on with: " + again);
  RunPrinter printer(context);
  for (const Event& event : run) printer.show(event);
  Result<WorkflowOutcome> outcome = run.result();
  workflow_interrupts().watch("");
  if (!outcome) {
    if (printer.began() && !context.out.json)
      std::cerr << "What was done is kept; go on with: " << again << "\n";
    return std::move(outcome).error();
  }
  if (context.out.json) return {};
  for (const InfoRequest& request : outcome->requests) show_request(context, outcome->run, request);
  if (!outcome->requests.empty()) context.out.line("  then: " + again);
  std::cerr << context.out.styled_err(Style::kDim, "run " + outcome->run + " " +
                                                       std::string(name_of(outcome->status)) + ", session " +
                                                       outcome->key.session.text())
            << "\n";
  return {};
}

}  // namespace tertulia::cli
