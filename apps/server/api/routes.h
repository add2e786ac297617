// The routes of the native API, by what they are about. docs/contracts/api.md says what each promises.
#pragma once

#include <span>

#include "core/route.h"

namespace tertulia::server {

std::span<const Route> session_routes();
std::span<const Route> transfer_routes();
std::span<const Route> branch_routes();
std::span<const Route> merge_routes();
std::span<const Route> message_routes();
std::span<const Route> message_search_routes();
std::span<const Route> turn_routes();
std::span<const Route> question_routes();
std::span<const Route> record_routes();
std::span<const Route> asset_routes();
std::span<const Route> agent_routes();
std::span<const Route> document_routes();
std::span<const Route> knowledge_routes();
std::span<const Route> episode_routes();
std::span<const Route> procedure_routes();
std::span<const Route> workflow_routes();
std::span<const Route> workflow_run_routes();
std::span<const Route> system_routes();
// The chat page and the widget, embedded in the program; null if it was built without them.
const Route* web_route();

}  // namespace tertulia::server
