#include "tertulia/tools/tool.h"

namespace tertulia {

void Tool::probe(ToolCall /*call*/, Done<std::optional<ToolOutput>> done) {
  done(Error(ErrorCode::kToolFailed, "tool '" + definition().name + "' cannot tell what became of a call"));
}

}  // namespace tertulia
