// Which of the tools at hand fits what was asked, and with which arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/model/tool_definition.h"

#include "offline/argument_filler.h"
#include "offline/arithmetic.h"

namespace tertulia::offline {

struct KnownTool {
  std::string name;
  // Stems of its name and of its description.
  std::vector<std::string> name_stems;
  std::vector<std::string> description_stems;
  std::vector<Parameter> parameters;
};

struct PlannedCall {
  std::string tool;
  JsonObject arguments;
};

class ToolBox {
 public:
  explicit ToolBox(const std::vector<ToolDefinition>& definitions);

  bool empty() const { return tools_.empty(); }
  const std::vector<KnownTool>& tools() const { return tools_; }

  // A tool that reckons whole expressions: "2 + 3 * 4".
  std::optional<PlannedCall> for_expression(const std::string& expression) const;
  // A tool for one operation on two numbers: add, or a calculator with an operation to choose.
  std::optional<PlannedCall> for_operation(Op op, double left, double right) const;
  std::optional<PlannedCall> for_time() const;
  std::optional<PlannedCall> for_end(std::string_view reason) const;

  // The tool that the question is plainly about, the one that it names best. `missing` is set, and nothing
  // returned, if one fits but an argument that it needs is not in the question.
  std::optional<PlannedCall> for_question(std::string_view question, std::string& missing) const;
  // Any tool, with arguments made up where the question has none: for a caller that demands a call.
  std::optional<PlannedCall> any(std::string_view question) const;

 private:
  std::vector<KnownTool> tools_;
};

}  // namespace tertulia::offline
