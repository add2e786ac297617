// A Node: one step of a workflow, as a value with a function in it.
//
//   Node upper = make_node<std::string>("upper", [](std::string text, NodeContext& context) {
//     context.set_state("seen", text);
//     return to_upper(text);                       // what is returned is sent along the edges
//   });
//
// What a node does is staged: messages, state, words and outputs take effect when the superstep is committed,
// all of it or, when a node fails, nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/cancellation.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/workflow/workflow_message.h"

namespace tertulia {

class ConversationManager;
class Workflow;

// Chooses what a participant is shown, from what it would be.
using ViewSelection = std::function<std::vector<Message>(const std::vector<Message>& all)>;

// Something a workflow asks of a person, and waits for.
struct InfoRequest {
  // superstep.node.number: unique within the run.
  std::string id;
  // Who asked, and gets the answer.
  std::string node;
  Json data;
  Time asked_at{};
  // The run of a nested workflow that asked, and its id there; empty if the node asked itself.
  std::string inner{};

  bool operator==(const InfoRequest&) const = default;
};

struct InfoAnswer {
  InfoRequest request;
  Json answer;
};

// What a node sees and may do in one call. It outlives the call's completion, not more.
//
// Concurrency: one thread at a time. Nodes of one superstep do not see what the others stage.
class NodeContext {
 public:
  virtual ~NodeContext() = default;

  virtual const std::string& node() const = 0;
  virtual const std::string& run() const = 0;
  virtual std::uint64_t superstep() const = 0;
  // The same for every attempt of the same call, also after a crash: run/superstep/node/call.
  virtual std::string key() const = 0;
  virtual const CancelToken& cancel() const = 0;

  // What it was called for. A fan-in gives an array, in the order of the edge's sources.
  virtual const WorkflowMessage& message() const = 0;
  // Set if it was called because a request of its own was answered.
  virtual const InfoAnswer* answer() const = 0;

  virtual void send(WorkflowMessage message) = 0;
  template <class T>
    requires(!std::is_same_v<T, WorkflowMessage>)
  void send(const T& value, std::string target = {}) {
    WorkflowMessage message = message_of(value);
    message.target = std::move(target);
    send(std::move(message));
  }
  // What comes out of the workflow.
  virtual void output(Json value) = 0;

  // The state of the run. What this superstep has set is seen by its own node only.
  virtual std::optional<Json> state(std::string_view key) const = 0;
  virtual void set_state(std::string key, Json value) = 0;
  // kNotFound if it is not there.
  virtual Result<void> erase_state(std::string_view key) = 0;

  // Asks a person. The node is called again with the answer, in this process or a later one; the id.
  virtual std::string request_info(Json what) = 0;

  // Words for the shared transcript, in the name of this node.
  virtual Result<void> say(std::string_view text) = 0;
  virtual void say(std::vector<Message> messages) = 0;
  // The conversation as it was when the superstep began.
  virtual ConversationManager& conversation() = 0;

  // Told at once, to whoever watches.
  virtual void tell(Event event) = 0;
  virtual void warn(std::string sentence) = 0;
};

// What becomes of a run whose node fails.
struct OnFailure {
  // How often it is tried again, at once.   Default: 0.
  std::uint32_t retries = 0;
  // Then: pass over the node instead of failing: what it was sent goes on along its edge, if it has only one,
  // and a fan-in does not wait for it.   Default: false.
  bool skip = false;

  bool operator==(const OnFailure&) const = default;
};

// Where a participant's thread is kept.
enum class ThreadKind : std::uint8_t {
  kShared,   // nowhere: it is made from the shared branch each time
  kOwn,      // in a branch of its own, from run to run
  kFork,     // in a fork of the shared branch, a new one for each run; what it says is merged back
  kService,  // at the provider, which is given each message once; a branch has the journal of its turns
};
std::string_view name_of(ThreadKind kind);

// How a node takes part in the conversation.
struct Speaker {
  AgentDefinitionPtr agent{};
  std::string description{};
  ThreadKind thread = ThreadKind::kShared;
  ConversationPolicy policy{};
  // What it is shown of what is new, chosen by a function.
  ViewSelection selection{};
};

struct Node {
  // Answers through `done`, once, from any thread. The context lives until then.
  using Body = std::function<void(NodeContext&, Done<void>)>;

  std::string id{};
  // The types of messages it takes and sends; none named: anything.
  std::vector<std::string> accepts{};
  std::vector<std::string> sends{};
  Body body{};
  OnFailure on_failure{};
  // Its body may take its time before it returns: it runs on a thread of the pool.
  bool blocks = false;
  // Plumbing: not drawn and not told of unless asked. It runs within the superstep that sends to it, so it
  // must have answered when its body returns, and it asks nobody.
  bool internal = false;
  // It may begin before the commit of the superstep before it is durable: nothing it does can be seen from
  // outside before its own is.
  bool harmless = false;
  // What kind of node it is, with what else of it must be the same for a run to be resumed.
  std::string kind = "function";
  // Set if it speaks in the conversation.
  std::optional<Speaker> speaker{};
  // Why it can be part of no workflow; build() says so. Empty: it can.
  std::string problem{};
  // The workflow that it runs, if it is one; for drawings.
  std::shared_ptr<const Workflow> inner{};
};

// The parts of make_node that need no types.
Node function_node(std::string id, std::function<Result<void>(NodeContext&)> body);

template <class R>
Result<void> send_returned(NodeContext& context, R&& returned) {
  using Value = std::decay_t<R>;
  if constexpr (std::is_same_v<Value, Result<void>>) {
    return std::forward<R>(returned);
  } else if constexpr (requires {
                         typename Value::value_type;
                         returned.error();
                       }) {
    if (!returned) return std::forward<R>(returned).error();
    context.send(*std::forward<R>(returned));
    return {};
  } else {
    context.send(returned);
    return {};
  }
}

// A node that takes a T. `callable` is given it, and the context if it wants that; it may block and runs on a
// thread of its own. What it returns, unless void, is sent on; a Result may be an error instead. Answers to
// its requests come to `on_answer`.
template <class T, class F>
Node make_node(std::string id, F callable,
               std::function<Result<void>(const InfoAnswer&, NodeContext&)> on_answer = {}) {
  auto body = [callable = std::move(callable),
               on_answer = std::move(on_answer)](NodeContext& context) mutable -> Result<void> {
    if (context.answer() != nullptr) {
      if (on_answer) return on_answer(*context.answer(), context);
      return Error(ErrorCode::kBadConfig, "node '" + context.node() + "' asks, and takes no answers");
    }
    TERTULIA_TRY_AS(T value, context.message().as<T>());
    if constexpr (std::is_invocable_v<F&, T, NodeContext&>) {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, T, NodeContext&>>) {
        callable(std::move(value), context);
        return {};
      } else {
        return send_returned(context, callable(std::move(value), context));
      }
    } else if constexpr (std::is_void_v<std::invoke_result_t<F&, T>>) {
      callable(std::move(value));
      return {};
    } else {
      return send_returned(context, callable(std::move(value)));
    }
  };
  Node node = function_node(std::move(id), std::move(body));
  node.accepts = {message_type<T>()};
  return node;
}

}  // namespace tertulia
