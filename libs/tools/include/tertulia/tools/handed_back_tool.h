// A HandedBackTool: declared for the model only. An answer that calls it ends the turn and is handed back.
//
// The answer is then the last message of the turn's outcome, and not committed: whoever runs the tool gives
// it back, with the results of all its calls behind it, as the input of the next turn (Input::messages).
// Tools beside it in the same answer are not run.
#pragma once

#include <string>
#include <utility>

#include "tertulia/tools/tool.h"

namespace tertulia {

class HandedBackTool final : public Tool {
 public:
  explicit HandedBackTool(ToolDefinition definition) : definition_(std::move(definition)) {}

  const ToolDefinition& definition() const override { return definition_; }
  bool runs_at_client() const override { return true; }
  // Never called by an engine.
  void run(ToolCall, Done<ToolOutput> done) override {
    done(ToolOutput{.text = "Nobody is there to run this tool.", .failed = true});
  }

 private:
  const ToolDefinition definition_;
};

}  // namespace tertulia
