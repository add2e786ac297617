// Permissions: which calls of tools run by themselves, which are asked about, and which never run.
//
// A question is durable. It is bound to one call and to the hash of its arguments, is answered once, and the
// answer is used up in the same write that notes the call's intent. A process may end while somebody thinks:
// whoever opens the data next can answer, and the turn goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

enum class Permission : std::uint8_t { kAsk, kAllow, kDeny };
std::string_view name_of(Permission permission);

// A standing rule.
struct PermissionRule {
  // The name of the tool.
  std::string tool;
  // hash_of_arguments(); empty: whatever the arguments. A call without arguments has a hash like any other.
  std::string arguments{};
  Permission permission = Permission::kAsk;

  bool operator==(const PermissionRule&) const = default;
};

struct PermissionPolicy {
  // For tools that no rule speaks of. Defaults: what only reads runs; everything else is asked about.
  Permission read_only = Permission::kAllow;
  Permission idempotent = Permission::kAsk;
  Permission unsafe = Permission::kAsk;
  // Rules for exact arguments come before rules for the tool; those of the session before these.
  std::vector<PermissionRule> rules{};
  // Nobody is there to answer: what would be asked about is denied. Default: false.
  bool unattended = false;
  // How long a question waits. Default: 5 min. Not answered is denied.
  Duration timeout = std::chrono::minutes(5);
};

// Of the canonical form, so that the order of members and spaces do not matter. `arguments` is JSON text.
std::string hash_of_arguments(std::string_view arguments);

// What the rules say about a call: those of the session, then the policy's.
Permission permission_for(const PermissionPolicy& policy, const std::vector<PermissionRule>& session_rules,
                          std::string_view tool, ToolClass tool_class, std::string_view arguments_hash);

// The standing rules in the session-scoped state, and the state with another rule, which takes the place of
// one for the same tool and arguments. kDamaged if what stands there are no rules.
Result<std::vector<PermissionRule>> session_rules(const MiddlewareState& state);
Result<void> add_session_rule(MiddlewareState& state, PermissionRule rule);

// What is asked, and by whose call.
struct Question {
  enum class Kind : std::uint8_t {
    kPermission,   // may it run?
    kClientTool,   // the caller of the agent runs it: what did it give?
    kElicitation,  // the server of a running call wants to know something
  };

  SessionKey key;
  BranchId branch;
  TurnId turn;
  // Which call of the turn.
  std::uint32_t call = 0;
  Kind kind = Kind::kPermission;
  std::string tool;
  ToolClass tool_class = ToolClass::kUnsafe;
  JsonText arguments;
  std::string arguments_hash;
  // Of an elicitation: which one of its call, what is asked, and what the answer must look like (a JSON
  // schema of an object). `arguments_hash` is of these.
  std::string part{};
  std::string text{};
  JsonText schema{};
  Time asked_at{};
  Time expires_at{};

  // "turn/call", "turn/call/part": what one answers to.
  std::string id() const;
};
std::string_view name_of(Question::Kind kind);

struct Answer {
  enum class Choice : std::uint8_t {
    kOnce,           // this call
    kAlways,         // this tool, for the whole session
    kAlwaysExactly,  // this tool with these arguments, for the whole session
    kDeny,
    kAlwaysDeny,
    kOutput,  // of a client tool; what a server wanted to know, as JSON text of an object
  };
  Choice choice = Choice::kDeny;
  // What a client tool gave, and whether it failed.
  std::string output{};
  bool failed = false;
};
std::string_view name_of(Answer::Choice choice);
Result<Answer::Choice> answer_choice_named(std::string_view name);

}  // namespace tertulia
