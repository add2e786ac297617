#include "agent_keys.h"

#include <cstdio>
#include <limits>
#include <utility>

namespace tertulia {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

const std::vector<std::string> kPermissions = {"ask", "allow", "deny"};

// The names of an enumeration whose enumerators are counted from 0.
template <class Enum>
std::vector<std::string> names_up_to(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return names;
}

template <class Enum>
Enum named(const std::vector<std::string>& names, const SettingValue& value) {
  const auto& name = std::get<std::string>(value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return Enum{};
}

// Builds the list. A key is declared with the member that it sets; the default is what the member begins
// with.
class Keys {
 public:
  std::vector<AgentKey> list;

  void text(std::string key, std::string AgentSpec::* member, std::string doc) {
    add(Setting::string(std::move(key), "", std::move(doc)),
        [member](AgentPlan& plan, const SettingValue& value) {
          plan.spec.*member = std::get<std::string>(value);
        });
  }

  template <class Part, class Number>
  void number(Part AgentSpec::* part, const std::string& key, Number Part::* member, std::int64_t least,
              std::int64_t most, std::string doc) {
    add(Setting::integer(key, static_cast<std::int64_t>(Part{}.*member), least, most, std::move(doc)),
        [part, member](AgentPlan& plan, const SettingValue& value) {
          plan.spec.*part.*member = static_cast<Number>(std::get<std::int64_t>(value));
        });
  }

  void duration(const std::string& key, Duration AgentLimits::* member, std::string doc) {
    add(Setting::duration(key, AgentLimits{}.*member, std::chrono::milliseconds(1),
                          std::chrono::hours(24 * 366), std::move(doc)),
        [member](AgentPlan& plan, const SettingValue& value) {
          plan.spec.limits.*member = Duration(std::get<std::int64_t>(value));
        });
  }

  void size(const std::string& key, std::uint64_t AgentLimits::* member, std::string doc) {
    add(Setting::size(key, static_cast<std::int64_t>(AgentLimits{}.*member), 1, std::int64_t{64} << 20U,
                      std::move(doc)),
        [member](AgentPlan& plan, const SettingValue& value) {
          plan.spec.limits.*member = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
        });
  }

  void flag(const std::string& key, bool MemoryConfig::* member, std::string doc) {
    add(Setting::boolean(key, MemoryConfig{}.*member, std::move(doc)),
        [member](AgentPlan& plan, const SettingValue& value) {
          plan.spec.memory.*member = std::get<bool>(value);
        });
  }

  void fraction(const std::string& key, double MemoryConfig::* member, std::string doc) {
    char fallback[16];
    std::snprintf(fallback, sizeof fallback, "%.2f", MemoryConfig{}.*member);
    list.push_back(
        {.setting = Setting::string(key, fallback, std::move(doc)),
         .set_fraction = [member](AgentPlan& plan, double value) { plan.spec.memory.*member = value; }});
  }

  template <class Part, class Enum>
  void choice(Part AgentPlan::* part, const std::string& key, Enum Part::* member, Enum fallback,
              const std::vector<std::string>& names, std::string doc) {
    add(Setting::choice(key, names[static_cast<std::size_t>(fallback)], names, std::move(doc)),
        [part, member, names](AgentPlan& plan, const SettingValue& value) {
          plan.*part.*member = named<Enum>(names, value);
        });
  }

  template <class Enum>
  void memory_choice(const std::string& key, Enum MemoryConfig::* member, Enum last, std::string doc) {
    const auto names = names_up_to(last);
    add(Setting::choice(key, names[static_cast<std::size_t>(MemoryConfig{}.*member)], names, std::move(doc)),
        [member, names](AgentPlan& plan, const SettingValue& value) {
          plan.spec.memory.*member = named<Enum>(names, value);
        });
  }

  void add(Setting setting, std::function<void(AgentPlan&, const SettingValue&)> set) {
    list.push_back({.setting = std::move(setting), .set = std::move(set)});
  }
};

void add_character(Keys& keys) {
  keys.text("name", &AgentSpec::name, "Its name for people. Default: the name of its table.");
  keys.text("persona", &AgentSpec::persona, "Who it is; comes before the system prompt.");
  keys.text("system_prompt", &AgentSpec::system_prompt, "Its instructions for every conversation.");
  keys.text("model", &AgentSpec::model,
            "A name of [models], or a provider and a model. Not given: as [model] says.");
  keys.add(
      Setting::strings("tools", agent_plan({}).spec.tools,
                       "What it may use: calculator, clock, end_conversation, memory, fetch, post, files, "
                       "process, and mcp.NAME for the tools of a server."),
      [](AgentPlan& plan, const SettingValue& value) {
        plan.spec.tools = std::get<std::vector<std::string>>(value);
      });
  const auto names = names_up_to(OnReturn::kReject);
  keys.add(Setting::choice("on_return", names[0], names,
                           "What happens when somebody returns to a session that has ended."),
           [names](AgentPlan& plan, const SettingValue& value) {
             plan.spec.on_return = named<OnReturn>(names, value);
           });
}

void add_permissions(Keys& keys) {
  const PermissionPolicy usual;
  constexpr auto kPart = &AgentPlan::permissions;
  keys.choice(kPart, "permissions.read_only", &PermissionPolicy::read_only, usual.read_only, kPermissions,
              "Tools that only read.");
  keys.choice(kPart, "permissions.idempotent", &PermissionPolicy::idempotent, usual.idempotent, kPermissions,
              "Tools that may run twice without harm.");
  keys.choice(kPart, "permissions.unsafe", &PermissionPolicy::unsafe, usual.unsafe, kPermissions,
              "All other tools.");
  keys.add(Setting::boolean("permissions.unattended", usual.unattended,
                            "Nobody is there to ask: calls that would ask are denied."),
           [](AgentPlan& plan, const SettingValue& value) {
             plan.permissions.unattended = std::get<bool>(value);
           });
  keys.add(Setting::duration("permissions.timeout", usual.timeout, std::chrono::seconds(1),
                             std::chrono::hours(24 * 366), "How long a question waits before it is denied."),
           [](AgentPlan& plan, const SettingValue& value) {
             plan.permissions.timeout = Duration(std::get<std::int64_t>(value));
           });
}

void add_limits(Keys& keys) {
  constexpr auto kPart = &AgentSpec::limits;
  keys.number(kPart, "limits.max_iterations", &AgentLimits::max_iterations, 1, 10'000,
              "Model calls in a turn; the last one gets no tools.");
  keys.number(kPart, "limits.max_tool_rounds", &AgentLimits::max_tool_rounds, 0, 10'000,
              "Rounds of tool calls in a turn.");
  keys.number(kPart, "limits.max_tool_calls", &AgentLimits::max_tool_calls, 0, 1'000'000,
              "Tool calls in a turn; 0 for no limit.");
  keys.number(kPart, "limits.max_consecutive_errors", &AgentLimits::max_consecutive_errors, 1, 10'000,
              "Tool errors one after the other.");
  keys.number(kPart, "limits.parallel_tools", &AgentLimits::parallel_tools, 1, 1'000,
              "Tools that run at the same time in a turn.");
  keys.duration("limits.tool_timeout", &AgentLimits::tool_timeout, "Of one tool call.");
  keys.duration("limits.turn_timeout", &AgentLimits::turn_timeout, "Of a turn.");
  keys.duration("limits.stream_idle_timeout", &AgentLimits::stream_idle_timeout,
                "The longest silence of a model while it answers.");
  keys.size("limits.tool_result_bytes", &AgentLimits::tool_result_bytes,
            "How much of a tool's result the model is shown.");
  keys.size("limits.message_bytes", &AgentLimits::message_bytes, "Of one message.");
  keys.number(kPart, "limits.queue", &AgentLimits::queue, 0, 1'000'000,
              "Messages that may wait for a busy branch.");
  keys.duration("limits.idle_timeout", &AgentLimits::idle_timeout, "A session without activity ends.");
  keys.duration("limits.max_session", &AgentLimits::max_session, "A session ends.");
}

void add_memory(Keys& keys) {
  constexpr auto kPart = &AgentSpec::memory;
  keys.number(kPart, "memory.max_working_memory_tokens", &MemoryConfig::max_working_memory_tokens, 1, kMany,
              "Everything in one model call, answer included.");
  keys.number(kPart, "memory.output_reserve", &MemoryConfig::output_reserve, 0, kMany,
              "Tokens kept free for the answer.");
  keys.memory_choice("memory.pruning", &MemoryConfig::pruning, Pruning::kStepped,
                     "How a history that does not fit is made to fit.");
  keys.number(kPart, "memory.sliding_window_turns", &MemoryConfig::sliding_window_turns, 1, 1'000'000,
              "Turns that the sliding window keeps.");
  keys.number(kPart, "memory.min_history_messages", &MemoryConfig::min_history_messages, 0, 1'000'000,
              "The newest messages that stay even over the budget.");
  keys.memory_choice("memory.context_placement", &MemoryConfig::context_placement,
                     ContextPlacement::kBeforeUser, "Where recalled texts are placed.");
  keys.add(Setting::duration("memory.retrieval_timeout", MemoryConfig{}.retrieval_timeout,
                             std::chrono::milliseconds(1), std::chrono::hours(1),
                             "How long a turn waits for recalled texts."),
           [](AgentPlan& plan, const SettingValue& value) {
             plan.spec.memory.retrieval_timeout = Duration(std::get<std::int64_t>(value));
           });
  keys.flag("memory.episodic_enabled", &MemoryConfig::episodic_enabled, "Recalls earlier conversations.");
  keys.memory_choice("memory.episodic_recall", &MemoryConfig::episodic_recall, RecallMode::kRecency,
                     "By meaning, or the latest.");
  keys.number(kPart, "memory.episodic_top_k", &MemoryConfig::episodic_top_k, 0, 1'000,
              "How many earlier conversations.");
  keys.number(kPart, "memory.episodic_retention_days", &MemoryConfig::episodic_retention_days, 1, 36'525,
              "Days for which they are quoted word for word.");
  keys.number(kPart, "memory.episodic_delete_days", &MemoryConfig::episodic_delete_days, 1, 36'525,
              "Days for which they are kept at all.");
  keys.flag("memory.episodic_pii_detection", &MemoryConfig::episodic_pii_detection,
            "Masks personal data in what is kept and in what is quoted of them.");
  keys.flag("memory.semantic_enabled", &MemoryConfig::semantic_enabled, "Recalls knowledge.");
  keys.number(kPart, "memory.semantic_top_k", &MemoryConfig::semantic_top_k, 0, 1'000,
              "How many pieces of it.");
  keys.fraction("memory.semantic_min_score", &MemoryConfig::semantic_min_score, "How well a piece must fit.");
  keys.number(kPart, "memory.semantic_max_tokens", &MemoryConfig::semantic_max_tokens, 0, kMany,
              "How much of it in all.");
  keys.flag("memory.semantic_hybrid", &MemoryConfig::semantic_hybrid, "By words as well as by meaning.");
  keys.flag("memory.semantic_rerank", &MemoryConfig::semantic_rerank,
            "Orders what meaning has found by words, too.");
  keys.flag("memory.semantic_learning", &MemoryConfig::semantic_learning,
            "Remembers what users said about themselves when a session ends.");
  keys.add(Setting::boolean("memory.recall_user", true,
                            "Recalls what is known about the user, whichever agent learned it."),
           [](AgentPlan& plan, const SettingValue& value) { plan.knowledge.user = std::get<bool>(value); });
  keys.add(Setting::boolean("memory.recall_agent", true, "Recalls what it knows, and what only it was told."),
           [](AgentPlan& plan, const SettingValue& value) { plan.knowledge.agent = std::get<bool>(value); });
  keys.add(Setting::strings("memory.shared", {}, "Shared collections that it may look into, by name."),
           [](AgentPlan& plan, const SettingValue& value) {
             plan.knowledge.shared = std::get<std::vector<std::string>>(value);
           });
  keys.flag("memory.procedural_enabled", &MemoryConfig::procedural_enabled, "Recalls procedures.");
  keys.fraction("memory.procedural_min_score", &MemoryConfig::procedural_min_score,
                "How well a procedure must fit.");
  keys.flag("memory.procedural_learning", &MemoryConfig::procedural_learning,
            "Learns procedures, which a person approves.");
}

void add_middleware(Keys& keys) {
  const auto number = [&keys](std::string key, std::int64_t most, std::string doc,
                              std::uint32_t MiddlewarePlan::* member) {
    keys.add(Setting::integer(std::move(key), 0, 0, most, std::move(doc)),
             [member](AgentPlan& plan, const SettingValue& value) {
               plan.middleware.*member = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
             });
  };
  keys.add(Setting::boolean("middleware.plan", false, "Keeps a plan for each branch."),
           [](AgentPlan& plan, const SettingValue& value) { plan.middleware.plan = std::get<bool>(value); });
  number("middleware.retries", 20, "How often a failed call of a harmless tool is tried again; 0 for never.",
         &MiddlewarePlan::retries);
  number("middleware.repeats", 1'000,
         "How often the same call may run in a turn before it is stopped; 0 for no limit.",
         &MiddlewarePlan::repeats);
  keys.add(Setting::choice("middleware.redact", "nothing", {"nothing", "shown", "stored", "both"},
                           "Where e-mail addresses, card numbers and keys are masked: in what the model is "
                           "shown, in what is stored."),
           [](AgentPlan& plan, const SettingValue& value) {
             const auto& where = std::get<std::string>(value);
             plan.middleware.redact_shown = where == "shown" || where == "both";
             plan.middleware.redact_stored = where == "stored" || where == "both";
           });
  keys.add(Setting::strings("middleware.redact_patterns", {},
                            "What else is masked there, as regular expressions (RE2)."),
           [](AgentPlan& plan, const SettingValue& value) {
             plan.middleware.redact_patterns = std::get<std::vector<std::string>>(value);
           });
  keys.add(Setting::boolean("middleware.log", false, "Logs each call and turn."),
           [](AgentPlan& plan, const SettingValue& value) { plan.middleware.log = std::get<bool>(value); });
}

// Money is in hundredths of whatever the prices are in.
constexpr double kHundredths = 100;

void add_spending(Keys& keys) {
  const auto limit = [&keys](const std::string& key, SpendingLimit LimitOptions::* scope,
                             std::optional<std::uint64_t> SpendingLimit::* member, std::string doc) {
    keys.add(Setting::integer("spending." + key, 0, 0, 1'000 * kMany, std::move(doc)),
             [scope, member](AgentPlan& plan, const SettingValue& value) {
               const auto most = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
               if (most > 0) plan.middleware.limits.*scope.*member = most;
             });
  };
  const auto money = [&keys](const std::string& key, std::string doc, auto set) {
    keys.add(Setting::integer("spending." + key, 0, 0, kMany, std::move(doc)),
             [set](AgentPlan& plan, const SettingValue& value) {
               set(plan.middleware.limits, static_cast<double>(std::get<std::int64_t>(value)) / kHundredths);
             });
  };
  limit("turn_requests", &LimitOptions::turn, &SpendingLimit::requests,
        "Model calls of a turn; 0 for no limit.");
  limit("turn_tokens", &LimitOptions::turn, &SpendingLimit::tokens, "Tokens of a turn, in and out.");
  limit("session_requests", &LimitOptions::session, &SpendingLimit::requests, "Model calls of a session.");
  limit("session_tokens", &LimitOptions::session, &SpendingLimit::tokens, "Tokens of a session.");
  money("turn_cents", "Money of a turn, in hundredths; needs the prices.",
        [](LimitOptions& limits, double most) {
          if (most > 0) limits.turn.money = most;
        });
  money("session_cents", "Money of a session.", [](LimitOptions& limits, double most) {
    if (most > 0) limits.session.money = most;
  });
  money("input_cents", "The price of a million input tokens.",
        [](LimitOptions& limits, double price) { limits.input_price = price; });
  money("output_cents", "The price of a million output tokens.",
        [](LimitOptions& limits, double price) { limits.output_price = price; });
}

}  // namespace

const std::vector<AgentKey>& agent_keys() {
  static const std::vector<AgentKey> kKeys = [] {
    Keys keys;
    add_character(keys);
    add_permissions(keys);
    add_limits(keys);
    add_memory(keys);
    add_middleware(keys);
    add_spending(keys);
    return std::move(keys.list);
  }();
  return kKeys;
}

AgentPlan agent_plan(const AgentId& id) {
  AgentPlan plan;
  plan.spec.id = id;
  plan.spec.name = id.text();
  plan.spec.tools = {"calculator", "clock", "end_conversation"};
  // It only ends what the model was asked to end.
  plan.permissions.rules = {{.tool = "end_conversation", .permission = Permission::kAllow}};
  return plan;
}

Result<Permission> permission_named(std::string_view name) {
  for (std::size_t i = 0; i < kPermissions.size(); ++i) {
    if (kPermissions[i] == name) return static_cast<Permission>(i);
  }
  return Error(ErrorCode::kOutOfRange, "must be one of ask, allow, deny");
}

}  // namespace tertulia
