// Conversations with questions and where their answers stand, in the format of LoCoMo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"

namespace tertulia::bench {

struct LocomoTurn {
  std::string id;
  std::string speaker;
  // With what is said of a picture that was shared.
  std::string text;
  // Which of the sessions, and when that was.
  int session = 0;
  std::optional<Time> time;
};

struct LocomoQuestion {
  std::string text;
  // 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
  int category = 0;
  // The ids of the turns that hold the answer; those that do not exist are left out.
  std::vector<std::string> evidence;
};

struct LocomoConversation {
  std::string name;
  std::vector<LocomoTurn> turns;
  // Those of the categories 1 to 4 for which there is evidence.
  std::vector<LocomoQuestion> questions;
};

Result<std::vector<LocomoConversation>> read_locomo(const std::string& path);

}  // namespace tertulia::bench
