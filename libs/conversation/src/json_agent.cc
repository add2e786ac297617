// What an agent is, what it was shown, and what it lets others watch.
#include "tertulia/conversation/json_forms.h"

#include "json_fields.h"

namespace tertulia {

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ReceiptItem> item) {
  fields.closed("receipt item");
  fields.required("tier", item.tier);
  fields.required("id", item.id);
  fields.required("tokens", item.tokens);
  fields.required("fate", item.fate);
  fields.required("reason", item.reason);
  fields.optional("score", item.score);
  fields.optional("index", item.index);
  fields.optional("more", item.more);
  fields.optional("text", item.text);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Receipt> receipt) {
  fields.form("receipt", receipt.extra);
  fields.required("session", receipt.session);
  fields.required("branch", receipt.branch);
  fields.required("turn", receipt.turn);
  fields.required("iteration", receipt.iteration);
  fields.required("revision", receipt.revision);
  fields.required("made_at", receipt.made_at);
  fields.required("model", receipt.model);
  fields.required("items", receipt.items);
  fields.required("total", receipt.total);
  fields.required("budget", receipt.budget);
  fields.required("output_reserve", receipt.output_reserve);
  fields.required("prompt_hash", receipt.prompt_hash);
  fields.required("shared_prefix", receipt.shared_prefix);
  fields.required("tokenizer", receipt.tokenizer);
  fields.required("exact", receipt.exact);
}
TERTULIA_DEFINE_FORM(Receipt)

// Settings are always written: a default that changes with a later version must not change an agent that
// exists.
template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<MemoryConfig> memory) {
  fields.form("memory", memory.extra);
  fields.setting("max_working_memory_tokens", memory.max_working_memory_tokens);
  fields.setting("output_reserve", memory.output_reserve);
  fields.setting("pruning", memory.pruning);
  fields.setting("sliding_window_turns", memory.sliding_window_turns);
  fields.setting("min_history_messages", memory.min_history_messages);
  fields.setting("context_placement", memory.context_placement);
  fields.setting("retrieval_timeout_us", memory.retrieval_timeout);
  fields.setting("episodic_enabled", memory.episodic_enabled);
  fields.setting("episodic_recall", memory.episodic_recall);
  fields.setting("episodic_top_k", memory.episodic_top_k);
  fields.setting("episodic_retention_days", memory.episodic_retention_days);
  fields.setting("episodic_delete_days", memory.episodic_delete_days);
  fields.setting("episodic_pii_detection", memory.episodic_pii_detection);
  fields.setting("semantic_enabled", memory.semantic_enabled);
  fields.setting("semantic_top_k", memory.semantic_top_k);
  fields.setting("semantic_min_score", memory.semantic_min_score);
  fields.setting("semantic_max_tokens", memory.semantic_max_tokens);
  fields.setting("semantic_hybrid", memory.semantic_hybrid);
  fields.setting("semantic_rerank", memory.semantic_rerank);
  fields.setting("semantic_learning", memory.semantic_learning);
  fields.setting("procedural_enabled", memory.procedural_enabled);
  fields.setting("procedural_min_score", memory.procedural_min_score);
  fields.setting("procedural_learning", memory.procedural_learning);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<AgentLimits> limits) {
  fields.form("limits", limits.extra);
  fields.setting("max_iterations", limits.max_iterations);
  fields.setting("max_tool_rounds", limits.max_tool_rounds);
  fields.setting("max_tool_calls", limits.max_tool_calls);
  fields.setting("max_consecutive_errors", limits.max_consecutive_errors);
  fields.setting("parallel_tools", limits.parallel_tools);
  fields.setting("tool_timeout_us", limits.tool_timeout);
  fields.setting("turn_timeout_us", limits.turn_timeout);
  fields.setting("stream_idle_timeout_us", limits.stream_idle_timeout);
  fields.setting("tool_result_bytes", limits.tool_result_bytes);
  fields.setting("message_bytes", limits.message_bytes);
  fields.setting("queue", limits.queue);
  fields.setting("idle_timeout_us", limits.idle_timeout);
  fields.setting("max_session_us", limits.max_session);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<AgentSpec> spec) {
  fields.form("agent", spec.extra);
  fields.required("id", spec.id);
  fields.optional("name", spec.name);
  fields.optional("persona", spec.persona);
  fields.optional("system_prompt", spec.system_prompt);
  fields.required("model", spec.model);
  fields.optional("tools", spec.tools);
  fields.setting("memory", spec.memory);
  fields.setting("limits", spec.limits);
  fields.setting("on_return", spec.on_return);
  if constexpr (Fields::kReads) {
    if (fields.failed()) return;
    if (auto checked = check_spec(spec); !checked) fields.fail(std::move(checked).error());
  }
}
TERTULIA_DEFINE_FORM(AgentSpec)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Event> event) {
  fields.form("event", event.extra);
  fields.required("turn", event.turn);
  fields.required("number", event.number);
  fields.required("time", event.time);
  fields.required("kind", event.kind);
  fields.optional("internal", event.internal);
  fields.optional("index", event.index);
  fields.optional("text", event.text);
  fields.optional("name", event.name);
  fields.optional("call_id", event.call_id);
  fields.optional("data", event.data);
}
TERTULIA_DEFINE_FORM(Event)

}  // namespace tertulia
