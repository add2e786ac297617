// What a turn did: its journal and the records of its tool calls.
#include "tertulia/conversation/json_forms.h"

#include "json_fields.h"

namespace tertulia {

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ToolCallRecord> record) {
  fields.form("tool call record", record.extra);
  fields.required("id", record.id);
  fields.required("session", record.session);
  fields.required("branch", record.branch);
  fields.required("turn", record.turn);
  fields.required("number", record.number);
  fields.required("call_id", record.call_id);
  fields.required("tool", record.tool);
  fields.optional("input", record.input);
  fields.optional("output", record.output);
  fields.optional("error", record.error);
  fields.required("called_at", record.called_at);
  fields.required("duration_us", record.duration);
  fields.required("class", record.tool_class);
  fields.required("approval", record.approval);
  fields.required("outcome", record.outcome);
}
TERTULIA_DEFINE_FORM(ToolCallRecord)

namespace {

template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<StartNote> note) {
  fields.required("input", note.input);
  fields.optional("idempotency_key", note.idempotency_key);
  fields.required("revision", note.revision);
  fields.optional("agent", note.agent);
  fields.optional("options", note.options);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<InputNote> note) {
  fields.required("message", note.message);
  fields.optional("idempotency_key", note.idempotency_key);
  fields.optional("body", note.body_hash);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<ResponseNote> note) {
  fields.required("message", note.message);
  fields.optional("input_tokens", note.input_tokens);
  fields.optional("output_tokens", note.output_tokens);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<IntentNote> note) {
  fields.required("call", note.call);
  fields.required("class", note.tool_class);
  fields.required("approval", note.approval);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<ResultNote> note) {
  fields.required("call", note.call);
  fields.required("message", note.message);
  fields.optional("ends", note.end_conversation);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<AbandonNote> note) {
  fields.required("reason", note.reason);
}
template <class Fields>
void describe_note(Fields& fields, typename Fields::template Ref<CommitNote> note) {
  fields.required("revision", note.revision);
}

// Gives `step` the alternative of this wire name. False if there is none.
template <std::size_t kIndex = 0>
bool choose_step(JournalEntry::Step& step, std::string_view kind) {
  if constexpr (kIndex == std::variant_size_v<JournalEntry::Step>) {
    return false;
  } else {
    if (JournalEntry entry{.step = JournalEntry::Step(std::in_place_index<kIndex>)}; kind_of(entry) == kind) {
      step = std::move(entry.step);
      return true;
    }
    return choose_step<kIndex + 1>(step, kind);
  }
}

}  // namespace

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<JournalEntry> entry) {
  fields.form("journal entry", entry.extra);
  fields.required("number", entry.number);
  fields.required("time", entry.time);
  fields.required("turn", entry.turn);
  std::string kind(kind_of(entry));
  fields.required("kind", kind);
  if constexpr (Fields::kReads) {
    if (fields.failed()) return;
    if (!choose_step(entry.step, kind)) {
      fields.fail(at(Error(ErrorCode::kOutOfRange, "is no kind of journal entry."), "kind"));
      return;
    }
  }
  std::visit([&](auto& note) { describe_note(fields, note); }, entry.step);
}
TERTULIA_DEFINE_FORM(JournalEntry)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<TurnJournal> journal) {
  fields.form("journal", journal.extra);
  fields.required("session", journal.session);
  fields.required("branch", journal.branch);
  fields.required("entries", journal.entries);
}
TERTULIA_DEFINE_FORM(TurnJournal)

}  // namespace tertulia
