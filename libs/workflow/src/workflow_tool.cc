// A workflow as a tool of an agent.
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "tertulia/tools/function_tool.h"
#include "tertulia/tools/mcp_types.h"
#include "tertulia/workflow/nested.h"

#include "nested_run.h"

namespace tertulia {
namespace {

// As long as the turn allows: people answer when they come.
constexpr auto kToolTime = std::chrono::hours(24 * 7);

// The words of a request, for a person.
std::string question_in(const Json& data) {
  if (data.as_string() != nullptr) return *data.as_string();
  const JsonObject* object = data.as_object();
  const Json* text = object == nullptr ? nullptr : object->find("text");
  return text == nullptr || text->as_string() == nullptr ? to_text(data) : *text->as_string();
}

// One call. Lives until it has answered.
class ToolRun : public std::enable_shared_from_this<ToolRun> {
 public:
  ToolRun(WorkflowEngine& workflows, Workflow workflow, ToolCall call, Done<ToolOutput> done)
      : workflows_(workflows),
        workflow_(std::move(workflow)),
        call_(std::move(call)),
        done_(std::move(done)),
        message_(*call_.arguments.as_object()->find("message")->as_string()) {}

  // Begins the run, or goes on with it. The same call is the same run, also after a crash.
  void go(std::map<std::string, Json> answers = {}) {
    WorkflowOptions options = options_for(call_.key, {call_.tenant, call_.owner, call_.session});
    options.answers = std::move(answers);
    auto run = std::make_shared<WorkflowRun>(workflows_.run(workflow_, message_, std::move(options)));
    auto stop = std::make_shared<CancelRegistration>(call_.cancel.on_cancel([run](CancelReason reason) {
      // A shutdown leaves the run as it is, for the next process.
      if (reason != CancelReason::kShutdown) run->cancel();
    }));
    run->result([self = shared_from_this(), run, stop](Result<WorkflowOutcome> outcome) {
      self->take(std::move(outcome));
    });
  }

 private:
  void take(Result<WorkflowOutcome> outcome) {
    if (!outcome) return done_(std::move(outcome).error());
    if (outcome->requests.empty()) return done_(ToolOutput{.text = outcome->text()});
    if (workflows_.engine().store() == nullptr) return done_(nobody(outcome->run));
    ask(outcome->run, outcome->requests.front());
  }

  // One after the other: each is a durable question of the turn that called the tool.
  void ask(const std::string& run, const InfoRequest& request) {
    // The name of the request makes two questions of the same words two.
    const Json schema = JsonObject{
        {"type", "object"},
        {"properties", JsonObject{{"answer", JsonObject{{"type", "string"},
                                                        {"title", request.node + " asks"},
                                                        {"description", "Request " + request.id}}}}}};
    McpQuestion question{.server = "workflow " + workflow_.name(), .message = question_in(request.data)};
    question.schema = schema;
    question.call_key = call_.key;
    question.cancel = call_.cancel;
    Engine::elicitations(workflows_.engine_ptr())
        ->ask(std::move(question),
              [self = shared_from_this(), run, id = request.id](Result<McpAnswer> answer) {
                if (!answer || answer->action != McpAnswer::Action::kAccept) return self->done_(nobody(run));
                const JsonObject* content = answer->content.as_object();
                const Json* text = content == nullptr ? nullptr : content->find("answer");
                self->go({{id, text == nullptr ? Json("") : *text}});
              });
  }

  static ToolOutput nobody(const std::string& run) {
    return {
        .text = "Nobody answered what the workflow asked, so it did not come to its end (run " + run + ").",
        .failed = true};
  }

  WorkflowEngine& workflows_;
  const Workflow workflow_;
  const ToolCall call_;
  const Done<ToolOutput> done_;
  const std::string message_;
};

}  // namespace

ToolPtr workflow_tool(WorkflowEngine& workflows, Workflow workflow, std::string name,
                      std::string description) {
  const Json parameters = JsonObject{
      {"type", "object"},
      {"properties",
       JsonObject{{"message", JsonObject{{"type", "string"}, {"description", "What is wanted."}}}}},
      {"required", JsonArray{"message"}}};
  return make_raw_async_tool(
      std::move(name), std::move(description), parameters,
      [&workflows, workflow = std::move(workflow)](const ToolCall& call, Done<ToolOutput> done) {
        std::make_shared<ToolRun>(workflows, workflow, call, std::move(done))->go();
      },
      {.tool_class = ToolClass::kIdempotent, .timeout = kToolTime});
}

}  // namespace tertulia
