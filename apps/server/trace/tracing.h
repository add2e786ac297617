// Turns, model calls and tool calls as spans, named as the GenAI conventions of OpenTelemetry name them.
//
//   invoke_agent AGENT        a turn, or one life of it: one that goes on after a crash is another span of
//   the same trace
//     chat MODEL              each call of the model, tries again included
//     execute_tool TOOL       each tool that ran
//
// The id of the trace is the id of the turn, so a span is found by what the API says, and the other way
// round; a turn that was asked for with a `traceparent` is part of that trace instead. What was said is in no
// span.
#pragma once

#include <memory>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/middleware.h"
#include "tertulia/base/env.h"

#include "trace/span.h"
#include "trace/trace_parent.h"

namespace tertulia::server {

// For every agent, outside of its other middleware. Keeps a reference to `env`.
MiddlewarePtr tracing_middleware(std::shared_ptr<SpanSink> sink, Env& env);

// The agent, for a turn that is part of the request's trace. The agent itself if nobody traces it.
AgentDefinitionPtr traced(const AgentDefinitionPtr& agent, const RequestTrace& request);

TraceId trace_of(const TurnId& turn);
SpanId new_span_id(Random& random);

}  // namespace tertulia::server
