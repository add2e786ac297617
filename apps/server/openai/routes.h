// The routes of the APIs that other people's clients speak. docs/contracts/openai.md says what they promise.
#pragma once

#include <span>

#include "core/route.h"
#include "core/router.h"

namespace tertulia::server {

std::span<const Route> chat_completion_routes();
std::span<const Route> model_routes();
std::span<const Route> embedding_routes();
std::span<const Route> response_routes();
std::span<const Route> conversation_routes();
std::span<const Route> response_tool_routes();
std::span<const Route> ui_chat_routes();
std::span<const Route> ag_ui_routes();

// All of them, with the form of errors that their clients expect.
void add_openai_routes(Router& router);

}  // namespace tertulia::server
