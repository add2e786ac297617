#include "enum_names.h"

namespace tertulia {

std::string_view name_of(ToolOutcome outcome) { return enum_name(outcome); }
std::string_view name_of(ToolClass tool_class) { return enum_name(tool_class); }
std::string_view name_of(Approval approval) { return enum_name(approval); }
std::string_view name_of(EndReason reason) { return enum_name(reason); }
std::string_view name_of(SessionStatus status) { return enum_name(status); }
std::string_view name_of(Tier tier) { return enum_name(tier); }
std::string_view name_of(Fate fate) { return enum_name(fate); }
std::string_view name_of(FateReason reason) { return enum_name(reason); }
std::string_view name_of(Retention retention) { return enum_name(retention); }
std::string_view name_of(ContextMode mode) { return enum_name(mode); }
std::string_view name_of(Pruning pruning) { return enum_name(pruning); }
std::string_view name_of(RecallMode mode) { return enum_name(mode); }
std::string_view name_of(ContextPlacement placement) { return enum_name(placement); }
std::string_view name_of(OnReturn on_return) { return enum_name(on_return); }
std::string_view name_of(Recovery recovery) { return enum_name(recovery); }
std::string_view name_of(NextStep next) { return enum_name(next); }
std::string_view name_of(EventKind kind) { return enum_name(kind); }

std::optional<EventKind> event_kind_named(std::string_view name) { return enum_named<EventKind>(name); }

}  // namespace tertulia
