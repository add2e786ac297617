// The bodies of answers that are not forms of a conversation already.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run.h"
#include "tertulia/base/json.h"
#include "tertulia/conversation/message.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/store.h"

namespace tertulia::server {

void write_session(JsonWriter& out, const SessionState& state);
void write_summary(JsonWriter& out, const SessionSummary& summary);
// `all` are the branches of the session, among which it has its siblings.
void write_branch(JsonWriter& out, const BranchHead& head, const std::vector<BranchHead>* all = nullptr);
// The form of the message with its place in front.
void write_message(JsonWriter& out, const Message& message, std::uint64_t index, Revision revision,
                   const TurnId& turn);
std::string outcome_body(const TurnOutcome& outcome);
// `damaged`: sessions that may still hold something of it.
std::string report_body(const EraseReport& report, const std::set<SessionId>& damaged = {});
void write_damaged(JsonWriter& out, const std::set<SessionId>& damaged);
std::string report_body(const ImportReport& report);
void write_question(JsonWriter& out, const Question& question);

std::vector<BranchInfo> infos_of(const std::vector<BranchHead>& heads);

}  // namespace tertulia::server
