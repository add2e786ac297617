// A ResponsePlan: one response from its request to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/base/json.h"
#include "tertulia/store/session_key.h"

#include "openai/client_tools.h"
#include "openai/item_form.h"

namespace tertulia::server {

struct ResponsePlan {
  TurnIds ids;
  std::string model;
  AgentDefinitionPtr agent;
  ClientTools tools;
  // None: nothing is stored.
  std::optional<SessionKey> key;
  BranchId branch;
  // The session was made for this response alone.
  bool own_session = false;
  std::int64_t created_at = 0;
  // The members of the response that stay the same from its beginning to its end.
  JsonObject echo;
  // What it was asked, as items.
  std::vector<std::string> input;
};

// How a response stands.
struct ResponseState {
  std::string_view status = "in_progress";
  std::optional<std::int64_t> completed_at{};
  // {"code":…,"message":…}
  std::string error{};
  // Why it is incomplete.
  std::string_view incomplete{};
  // JSON text each.
  std::vector<std::string> output{};
  std::optional<Usage> usage{};
};

// {"input_tokens":…,…}
std::string usage_form(const Usage& usage);
// The response, with every field that it must have.
std::string response_body(const ResponsePlan& plan, const ResponseState& state);

// What is kept of a plan while its turn runs, and the plan again. kDamaged if it is none; kModelNotFound.
std::string plan_form(const ResponsePlan& plan);
Result<ResponsePlan> read_plan_form(const Services& services, const SessionKey& key, const TurnId& turn,
                                    std::string_view form);

}  // namespace tertulia::server
