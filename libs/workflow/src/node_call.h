// A NodeCall: the NodeContext of one call, and where what the node does is staged.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/engine.h"

#include "run_log.h"
#include "run_state.h"
#include "strand.h"

namespace tertulia {

struct EngineParts;

// What all calls of a superstep share. Nothing of it changes while nodes run.
struct StepView {
  std::shared_ptr<EngineParts> parts;
  const RunFacts* facts = nullptr;
  const RunState* state = nullptr;
  ConversationManager* conversation = nullptr;
  SessionKey key;
  CancelToken cancel;
  std::shared_ptr<RunLog> log;
  const WorkflowOptions* options = nullptr;
  // Turns of agents are journaled in branches of their own: these.
  bool durable = false;
  const std::map<std::string, BranchId>* threads = nullptr;
  std::uint64_t step = 0;
  // Where the run decides: what a node does at its end is done there, and nobody is woken to report it.
  Strand* strand = nullptr;
};

class NodeCall final : public NodeContext {
 public:
  NodeCall(const StepView& view, const Node& node, NodeEffects& effects, const Delivery& delivery,
           std::size_t number)
      : view_(view), node_(node), effects_(effects), delivery_(delivery), number_(number) {}

  const std::string& node() const override { return node_.id; }
  const std::string& run() const override { return view_.facts->run; }
  std::uint64_t superstep() const override { return view_.step; }
  std::string key() const override {
    return run() + "/" + std::to_string(view_.step) + "/" + node_.id + "/" + std::to_string(number_);
  }
  const CancelToken& cancel() const override { return view_.cancel; }
  const WorkflowMessage& message() const override { return delivery_.message; }
  const InfoAnswer* answer() const override { return delivery_.answer ? &*delivery_.answer : nullptr; }
  using NodeContext::send;
  void send(WorkflowMessage message) override;
  void output(Json value) override { effects_.outputs.push_back(std::move(value)); }
  std::optional<Json> state(std::string_view key) const override;
  void set_state(std::string key, Json value) override;
  Result<void> erase_state(std::string_view key) override;
  std::string request_info(Json what) override { return request(std::move(what), {}); }
  Result<void> say(std::string_view text) override;
  void say(std::vector<Message> messages) override;
  ConversationManager& conversation() override { return *view_.conversation; }
  void tell(Event event) override;
  void warn(std::string sentence) override;

  // What only our own nodes do.
  const StepView& view() const { return view_; }
  const Node& spec() const { return node_; }
  NodeEffects& effects() { return effects_; }
  std::string request(Json what, std::string inner);

 private:
  const StepView& view_;
  const Node& node_;
  NodeEffects& effects_;
  const Delivery& delivery_;
  const std::size_t number_;
};

}  // namespace tertulia
