// Nodes of which a test builds its graphs.
#pragma once

#include <string>
#include <vector>

#include "tertulia/workflow/workflow.h"

namespace tertulia::trial {

inline Node append(const std::string& id, const std::string& letter) {
  Node node = make_node<std::string>(id, [letter](const std::string& text) { return text + letter; });
  node.sends = {message_type<std::string>()};
  return node;
}
inline Node print(const std::string& id) {
  return make_node<std::string>(id,
                                [](const std::string& text, NodeContext& context) { context.output(text); });
}
inline Node gather(const std::string& id) {
  return make_node<std::vector<std::string>>(id,
                                             [](const std::vector<std::string>& texts, NodeContext& context) {
                                               std::string all;
                                               for (const std::string& text : texts) all += "[" + text + "]";
                                               context.output(all);
                                             });
}

}  // namespace tertulia::trial
