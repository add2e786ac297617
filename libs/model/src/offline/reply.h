// What the offline model does next: call tools, or say something.
#pragma once

#include <string>
#include <vector>

#include "tertulia/model/language_model.h"
#include "tertulia/model/offline_model.h"

#include "offline/reading.h"
#include "offline/tool_choice.h"

namespace tertulia::offline {

struct Reply {
  std::string text{};
  std::vector<PlannedCall> calls{};
};

struct ReplyRules {
  ToolChoice tool_choice = ToolChoice::kAuto;
  bool parallel = true;
};

Reply reply_to(const Reading& reading, const ToolBox& tools, const ReplyRules& rules,
               const OfflineOptions& options);

// The sums of a question: reckoned by tools where there are such, else by itself. Nothing if it asks for
// none.
std::optional<Reply> reckon(const Reading& reading, const ToolBox& tools, const ReplyRules& rules);

// The sentence of the documents that fits the question best, with its source.
std::optional<std::string> quote_documents(const Reading& reading, std::string_view question);
// The sentence of the documents, or of what was said before, that fits the question best, with its source.
std::optional<std::string> quote_for(const Reading& reading, std::string_view question);

}  // namespace tertulia::offline
