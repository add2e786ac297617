// Sessions, branches and what belongs to them.
#include "tertulia/conversation/json_forms.h"

#include "json_fields.h"

namespace tertulia {

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ForkOrigin> origin) {
  fields.closed("fork origin");
  fields.required("branch", origin.parent);
  fields.required("at_index", origin.at_index);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<BranchInfo> info) {
  fields.closed("branch info");
  fields.required("id", info.id);
  fields.optional("forked_from", info.origin);
  fields.required("message_count", info.message_count);
  fields.required("created_at", info.created_at);
}
TERTULIA_DEFINE_FORM(BranchInfo)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Branch> branch) {
  fields.form("branch", branch.extra);
  fields.required("id", branch.id);
  fields.required("session", branch.session);
  fields.optional("forked_from", branch.forked_from);
  fields.optional("label", branch.label);
  fields.optional("description", branch.description);
  fields.optional("tags", branch.tags);
  fields.required("created_at", branch.created_at);
  fields.required("last_activity", branch.last_activity);
  fields.optional("state", branch.state);
  fields.required("turns", branch.transcript);
}
TERTULIA_DEFINE_FORM(Branch)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ConversationSnapshot> snapshot) {
  fields.form("snapshot", snapshot.extra);
  fields.required("handle", snapshot.handle);
  fields.required("turns", snapshot.transcript);
}
TERTULIA_DEFINE_FORM(ConversationSnapshot)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ThreadBinding> binding) {
  fields.form("binding", binding.extra);
  fields.required("participant", binding.participant);
  fields.required("branch", binding.branch);
  fields.optional("service_thread", binding.service_thread);
  fields.required("applied", binding.applied);
}
TERTULIA_DEFINE_FORM(ThreadBinding)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<ConversationPolicy> policy) {
  fields.form("policy", policy.extra);
  fields.setting("retention", policy.retention);
  fields.setting("context", policy.context);
  fields.optional("max_turns", policy.max_turns);
  fields.optional("max_tokens", policy.max_tokens);
  fields.optional("roles", policy.roles);
  fields.optional("show_internal", policy.show_internal);
}
TERTULIA_DEFINE_FORM(ConversationPolicy)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Participant> participant) {
  fields.form("participant", participant.extra);
  fields.required("id", participant.id);
  fields.optional("agent", participant.agent);
  fields.optional("description", participant.description);
  fields.optional("policy", participant.policy);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Attachment> attachment) {
  fields.form("attachment", attachment.extra);
  fields.required("id", attachment.id);
  fields.required("name", attachment.name);
  fields.optional("media_type", attachment.media_type);
  fields.required("bytes", attachment.bytes);
  fields.required("added_at", attachment.added_at);
  fields.optional("data", attachment.data);
}

namespace {

// What no single field can tell.
Result<void> check_whole(const Session& session) {
  if (session.end_reason.has_value() != (session.status == SessionStatus::kClosed)) {
    return at(Error(ErrorCode::kOutOfRange, "must be there if, and only if, the status is closed."),
              "end_reason");
  }
  JsonObject metadata;
  if (auto fits = patch_metadata(metadata, session.metadata); !fits)
    return at(std::move(fits).error(), "metadata");
  return {};
}

}  // namespace

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Session> session) {
  fields.form("session", session.extra);
  fields.required("id", session.id);
  fields.optional("tenant", session.tenant);
  fields.optional("owner", session.owner);
  fields.required("revision", session.revision);
  fields.required("status", session.status);
  fields.optional("end_reason", session.end_reason);
  fields.required("created_at", session.created_at);
  fields.required("last_activity", session.last_activity);
  fields.optional("metadata", session.metadata);
  fields.optional("state", session.state);
  fields.optional("participants", session.participants);
  fields.optional("bindings", session.bindings);
  fields.optional("attachments", session.attachments);
  if constexpr (Fields::kReads) {
    if (auto whole = check_whole(session); !whole) fields.fail(std::move(whole).error());
  }
}
TERTULIA_DEFINE_FORM(Session)

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Embedding> embedding) {
  fields.closed("embedding");
  fields.required("embedder", embedding.embedder);
  fields.required("values", embedding.values);
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Episode> episode) {
  fields.form("episode", episode.extra);
  fields.required("id", episode.id);
  fields.required("session", episode.session);
  fields.required("branch", episode.branch);
  fields.required("first", episode.span.first);
  fields.required("last", episode.span.last);
  fields.required("opened_at", episode.opened_at);
  fields.required("closed_at", episode.closed_at);
  fields.required("end_reason", episode.end_reason);
  fields.optional("summary", episode.summary);
  fields.optional("key_facts", episode.key_facts);
  fields.required("message_count", episode.message_count);
  fields.required("turn_count", episode.turn_count);
  fields.required("tool_call_count", episode.tool_call_count);
  fields.required("input_tokens", episode.input_tokens);
  fields.required("output_tokens", episode.output_tokens);
  fields.optional("embedding", episode.embedding);
  fields.optional("archived", episode.archived);
  if constexpr (Fields::kReads) {
    if (episode.span.last < episode.span.first) {
      fields.fail(at(Error(ErrorCode::kOutOfRange, "must not lie before 'first'."), "last"));
    }
  }
}
TERTULIA_DEFINE_FORM(Episode)

}  // namespace tertulia
