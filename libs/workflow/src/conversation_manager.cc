#include "tertulia/workflow/conversation_manager.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sodium.h>

namespace tertulia {
namespace {

// What a thread is told that has been given everything and is to speak all the same.
constexpr std::string_view kContinue = "Continue.";
// Appends messages as turns as small as can be, so that a budget cuts between any two of them.
Result<void> append_all(const std::vector<Message>& messages, Transcript& transcript) {
  std::uint64_t revision = number(transcript.last_revision());
  for (std::size_t begin = 0; begin < messages.size();) {
    std::size_t end = begin + 1;
    while (end < messages.size() && messages[end].role() == Role::kTool) ++end;
    TERTULIA_TRY_AS(const Turn turn,
                    Turn::from_messages(TurnId(messages[begin].id().uuid()),
                                        {messages.begin() + static_cast<std::ptrdiff_t>(begin),
                                         messages.begin() + static_cast<std::ptrdiff_t>(end)}));
    transcript.append(turn, Revision{++revision});
    begin = end;
  }
  return {};
}

Result<std::vector<Message>> heard(const std::vector<Message>& messages, const std::string& participant) {
  std::vector<Message> result;
  for (const Message& message : messages) {
    if (is_by(message, participant)) {
      result.push_back(message);
      continue;
    }
    TERTULIA_TRY_AS(std::optional<Message> one, as_heard(message, participant));
    if (one) result.push_back(*std::move(one));
  }
  return result;
}

}  // namespace

Result<BranchId> thread_branch(const BranchId& shared, const std::string& participant) {
  return BranchId::parse(shared.text() + "~" + participant);
}

ConversationManager::ConversationManager(Session session, Branch shared, std::uint64_t base,
                                         std::uint64_t input)
    : session_(std::move(session)), shared_(std::move(shared)), base_(base), input_(input) {}

void ConversationManager::set_policy(const std::string& participant, ConversationPolicy policy) {
  Profile& profile = profiles_[participant];
  if (!(profile.policy == policy)) profile.heard = {};
  profile.policy = std::move(policy);
}

void ConversationManager::set_selection(const std::string& participant, ViewSelection selection) {
  profiles_[participant].selection = std::move(selection);
}

const ConversationManager::Profile& ConversationManager::profile(const std::string& participant) const {
  static const Profile none;
  const auto found = profiles_.find(participant);
  return found == profiles_.end() ? none : found->second;
}

ThreadBinding ConversationManager::resolve_thread(const std::string& participant) const {
  for (const ThreadBinding& binding : session_.bindings) {
    if (binding.branch != shared_.id || binding.participant.text() != participant) continue;
    ThreadBinding known = binding;
    // Nobody has been given what is not there.
    known.applied = std::min<std::uint64_t>(known.applied, transcript().size());
    return known;
  }
  ThreadBinding binding;
  binding.participant = ParticipantId::parse(participant).value_or({});
  binding.branch = shared_.id;
  return binding;
}

namespace {

// Whether a policy shows all of the past, which then only grows.
bool hears_all(const ConversationPolicy& policy) {
  return policy.context == ContextMode::kFull && policy.retention == Retention::kFullHistory &&
         !policy.max_turns && !policy.max_tokens;
}

// The first message that a policy's limits leave. O(log n).
std::uint64_t first_kept(const Transcript& transcript, const ConversationPolicy& policy) {
  if (!policy.max_turns && !policy.max_tokens) return 0;
  View view(transcript);
  if (policy.max_turns) view = view.last_turns(*policy.max_turns);
  if (policy.max_tokens) view = view.within(*policy.max_tokens);
  return transcript.size() - view.size();
}

// The run's own input, and what the one who spoke last has said.
std::vector<Message> input_and_last(const Transcript& transcript, std::uint64_t base, std::uint64_t input,
                                    const std::string& participant) {
  std::vector<Message> messages;
  transcript.for_each(base, base + input,
                      [&](std::size_t, const Message& message) { messages.push_back(message); });
  std::size_t begin = transcript.size();
  std::string_view last;
  for (std::size_t i = transcript.size(); i > base + input; --i) {
    const Message& message = transcript[i - 1];
    if (message.role() == Role::kTool || is_by(message, participant)) continue;
    if (last.empty()) last = message.author();
    if (message.author() != last) break;
    begin = i - 1;
  }
  transcript.for_each(begin, transcript.size(), [&](std::size_t, const Message& message) {
    if (!is_by(message, participant)) messages.push_back(message);
  });
  return messages;
}

}  // namespace

std::uint64_t ConversationManager::known_by(const std::string& participant) const {
  return std::max(resolve_thread(participant).applied, base_);
}

Projection ConversationManager::projection_for(const std::string& participant, ThreadKind thread) const {
  Projection projection{.participant = participant, .policy = profile(participant).policy};
  if (thread == ThreadKind::kFork) projection.shared = base_;
  if (base_ > 0 && base_ <= transcript().size()) projection.before = transcript().revision_at(base_ - 1);
  return projection;
}

Result<ConversationManager::Heard> ConversationManager::heard_up_to(const std::string& participant,
                                                                    std::uint64_t known) const {
  const Profile& profile = this->profile(participant);
  if (profile.heard.upto > known) return Heard{};
  Heard all = profile.heard;
  std::vector<Message> news;
  transcript().for_each(all.upto, known, [&](std::size_t, const Message& message) {
    if (shows(profile.policy, message)) news.push_back(message);
  });
  TERTULIA_TRY_AS(news, heard(news, participant));
  TERTULIA_TRY(append_all(news, all.transcript));
  all.upto = known;
  return all;
}

void ConversationManager::hear(const std::string& participant) {
  const ConversationPolicy& policy = profile(participant).policy;
  if (!hears_all(policy)) return;
  // What cannot be heard is an error of the view.
  if (Result<Heard> all = heard_up_to(participant, known_by(participant)))
    profiles_[participant].heard = *std::move(all);
}

void ConversationManager::remember(const ConversationManager& left) {
  for (const auto& [participant, profile] : left.profiles_) {
    if (profile.heard.upto > 0) profiles_[participant] = {profile.policy, {}, profile.heard};
  }
}

Result<ConversationView> ConversationManager::view_for(const std::string& participant,
                                                       ThreadKind thread) const {
  const Profile& profile = this->profile(participant);
  const ConversationPolicy& policy = profile.policy;
  ConversationView view{.participant = participant,
                        .history = {},
                        .delta = {},
                        .applied = transcript().size(),
                        .revision = session_.revision};
  std::vector<Message> past;
  std::vector<Message> fresh;
  if (policy.context == ContextMode::kLastAgent) {
    fresh = input_and_last(transcript(), base_, input_, participant);
  } else {
    // What was there before the run is history even to one who is new, unless a thread has to be given it.
    const ThreadBinding binding = resolve_thread(participant);
    const bool kept = thread == ThreadKind::kOwn || thread == ThreadKind::kService;
    std::uint64_t known = binding.applied;
    if (!kept || policy.retention == Retention::kLatestOnly) known = std::max(known, base_);
    std::uint64_t from =
        std::max(first_kept(transcript(), policy), policy.retention == Retention::kLatestOnly ? base_ : 0);
    const bool nowhere =
        thread == ThreadKind::kShared || (thread == ThreadKind::kService && binding.is_local());
    const bool wants_past = nowhere && policy.context == ContextMode::kFull;
    if (wants_past && hears_all(policy)) {
      TERTULIA_TRY_AS(Heard all, heard_up_to(participant, known));
      view.history = std::move(all.transcript);
      from = all.upto;
    }
    transcript().for_each(wants_past ? from : std::max(known, from), transcript().size(),
                          [&](std::size_t index, const Message& message) {
                            if (!shows(policy, message)) return;
                            const bool own = is_by(message, participant);
                            if (index < known || own) {
                              if (wants_past) past.push_back(message);
                            } else {
                              fresh.push_back(message);
                            }
                          });
  }
  if (profile.selection) fresh = profile.selection(fresh);
  TERTULIA_TRY_AS(past, heard(past, participant));
  TERTULIA_TRY(append_all(past, view.history));
  TERTULIA_TRY_AS(fresh, heard(fresh, participant));
  for (Message& message : fresh) {
    if (message.role() == Role::kUser) view.delta.push_back(std::move(message));
  }
  if (view.delta.empty()) {
    TERTULIA_TRY_AS(Message go_on, Message::text(MessageId(), Role::kUser, kContinue, Time{}));
    view.delta.push_back(std::move(go_on));
  }
  return view;
}

Result<void> ConversationManager::replay_to_thread(ThreadBinding& binding, ConversationView& view,
                                                   const ResumeHook& hook) const {
  if (!hook) return {};
  std::vector<Message> lacking;
  if (binding.is_local()) lacking = View(view.history).to_vector();
  lacking.insert(lacking.end(), view.delta.begin(), view.delta.end() - 1);
  if (lacking.empty() && !binding.is_local()) return {};
  TERTULIA_TRY_AS(binding.service_thread, hook(binding, lacking));
  view.delta.erase(view.delta.begin(), view.delta.end() - 1);
  return {};
}

Result<std::vector<Message>> ConversationManager::merge_response(ThreadBinding& binding,
                                                                 const ConversationView& view,
                                                                 const std::vector<Message>& turn) const {
  std::vector<Message> said;
  for (const Message& message : turn) {
    if (message.role() != Role::kAssistant && message.role() != Role::kTool) continue;
    MessageDraft draft = draft_of(message);
    draft.author = view.participant;
    TERTULIA_TRY_AS(Message made, Message::make(draft));
    said.push_back(std::move(made));
  }
  // Not to the end of what the branch will be: others write in the same superstep.
  binding.applied = std::max(binding.applied, view.applied);
  return said;
}

void ConversationManager::committed(const Turn& turn, Revision revision) {
  shared_.transcript.append(turn, revision);
  session_.revision = revision;
}

void ConversationManager::bind(ThreadBinding binding) {
  for (ThreadBinding& one : session_.bindings) {
    if (one.branch == binding.branch && one.participant == binding.participant) {
      one = std::move(binding);
      return;
    }
  }
  session_.bindings.push_back(std::move(binding));
}

void ConversationManager::saw(Session session) {
  for (ThreadBinding& binding : session_.bindings) {
    if (binding.branch != shared_.id) continue;
    std::erase_if(session.bindings, [&](const ThreadBinding& one) {
      return one.branch == binding.branch && one.participant == binding.participant;
    });
    session.bindings.push_back(std::move(binding));
  }
  for (const Participant& participant : session_.participants) {
    const bool there = std::any_of(session.participants.begin(), session.participants.end(),
                                   [&](const Participant& one) { return one.id == participant.id; });
    if (!there) session.participants.push_back(participant);
  }
  for (const Attachment& attachment : session_.attachments) {
    const bool there = std::find(session.attachments.begin(), session.attachments.end(), attachment) !=
                       session.attachments.end();
    if (!there) session.attachments.push_back(attachment);
  }
  session_ = std::move(session);
}

void ConversationManager::attach(const std::vector<Attachment>& attachments) {
  session_.attachments.insert(session_.attachments.end(), attachments.begin(), attachments.end());
}

bool ConversationManager::ensure_participant(Participant participant) {
  for (Participant& one : session_.participants) {
    if (one.id != participant.id) continue;
    if (one == participant) return false;
    one = std::move(participant);
    return true;
  }
  session_.participants.push_back(std::move(participant));
  return true;
}

std::string transcript_hash(const Transcript& transcript) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 16);
  const auto add = [&state](std::string_view bytes) {
    const std::string size = std::to_string(bytes.size()) + ":";
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(size.data()), size.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  };
  transcript.for_each(0, transcript.size(), [&](std::size_t, const Message& message) {
    add(name_of(message.role()));
    add(message.author());
    add(message.interrupted() ? "cut" : "");
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      add(std::to_string(static_cast<int>(part.kind)));
      add(name_of(part.outcome));
      add(part.name);
      add(part.text);
    }
  });
  std::array<unsigned char, 16> hash{};
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::string text(2 * hash.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.pop_back();
  return text;
}

}  // namespace tertulia
