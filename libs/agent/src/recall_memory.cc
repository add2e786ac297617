// Step 2, before the first model call: what is remembered and belongs to the message.
#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "tertulia/memory/memory.h"
#include "tertulia/memory/overlay.h"

#include "as_job.h"
#include "turn_work.h"

namespace tertulia {
namespace {

// What the sources and the turn that waits for them share. A source may answer when nobody waits any more.
struct Gathering {
  struct Answer {
    // Which source; none: the time is up.
    std::size_t source = SIZE_MAX;
    Result<std::vector<ContextItem>> items = std::vector<ContextItem>();
  };

  Mailbox<Answer> answers;
  CancelSource cancel;
};
using GatheringPtr = std::shared_ptr<Gathering>;

Result<std::vector<ContextItem>> ask(ContextSource& source, const ContextRequest& request) {
  try {
    return source.retrieve(request);
  } catch (...) {
    return error_thrown("it");
  }
}

// Of a longer question its beginning and its end are looked for, where people ask: what is searched for costs
// by its length, and a model may take a whole book.
constexpr std::size_t kQuestionBytes = 16'384;

std::string question_of(const TurnDraft& draft) {
  std::string question;
  for (const Message& message : draft.messages()) {
    if (message.role() != Role::kUser) continue;
    if (!question.empty()) question += '\n';
    question += message.text_content();
  }
  return question;
}

// Cut in its middle, between characters, if it is longer than that. What was left out.
std::size_t cut_question(std::string& question) {
  if (question.size() <= kQuestionBytes) return 0;
  const auto inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(question[at]) & 0xC0U) == 0x80U;
  };
  std::size_t end = kQuestionBytes / 2;
  while (inside(end)) --end;
  std::size_t from = question.size() - kQuestionBytes / 2;
  while (from < question.size() && inside(from)) ++from;
  question.replace(end, from - end, "\n");
  return from - end;
}

void tell_degraded(TurnWork& work, std::string_view what, std::string why) {
  Event event;
  event.kind = EventKind::kContextDegraded;
  event.name = what;
  event.text = std::move(why);
  work.live->log.add(std::move(event));
}

// What two sources found is shown once.
void add_items(TurnWork& work, std::vector<ContextItem> items) {
  for (ContextItem& item : items) {
    const bool known = std::any_of(work.context.begin(), work.context.end(), [&](const ContextItem& other) {
      return other.id == item.id && other.reason == FateReason::kFits;
    });
    if (known && item.reason == FateReason::kFits) item.reason = FateReason::kDuplicate;
    work.context.push_back(std::move(item));
  }
}

ContextRequest request_for(TurnWork& work, const GatheringPtr& gathering) {
  const Result<HistoryOverlay> overlay = overlay_in(work.state.branch);
  std::string question = question_of(work.draft);
  if (const std::size_t left_out = cut_question(question); left_out > 0) {
    tell_degraded(
        work, "question",
        "the message is long: what is remembered was looked for by its beginning and its end, without " +
            std::to_string(left_out) + " bytes between them");
  }
  return {.key = work.key,
          .branch = work.branch,
          .agent = work.agent->spec.id,
          .question = std::move(question),
          .config = work.agent->spec.memory,
          .history_hidden = overlay && overlay->hidden_before > 0,
          .cancel = gathering->cancel.token()};
}

}  // namespace

Task<void> recall_memory(TurnWork& work) {
  const std::shared_ptr<Memory>& memory = work.agent->memory;
  // A turn that belongs to nobody's session is shown nobody's memories.
  if (!memory || !work.durable) co_return;
  const auto gathering = std::make_shared<Gathering>();
  const auto request = std::make_shared<const ContextRequest>(request_for(work, gathering));
  const auto& sources = memory->sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Result<void> posted = work.engine.crew->post([gathering, request, memory, i] {
      gathering->answers.push({i, ask(*memory->sources()[i], *request)});
    });
    if (!posted) gathering->answers.push({i, posted.error()});
  }
  const Timer timer = work.engine.timers->after(work.agent->spec.memory.retrieval_timeout,
                                                [gathering] { gathering->answers.push({}); });
  std::vector<std::optional<Result<std::vector<ContextItem>>>> answers(sources.size());
  for (std::size_t missing = sources.size(); missing > 0; --missing) {
    Gathering::Answer answer = co_await take(gathering->answers);
    if (answer.source == SIZE_MAX) break;
    answers[answer.source] = std::move(answer.items);
  }
  gathering->cancel.cancel(CancelReason::kDeadline);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!answers[i]) {
      tell_degraded(work, sources[i]->name(), "it took longer than this turn waits for it");
    } else if (!*answers[i]) {
      tell_degraded(work, sources[i]->name(), std::string(answers[i]->error().message()));
    } else {
      add_items(work, **std::move(answers[i]));
    }
  }
}

Task<Result<void>> add_episode(TurnWork& work) {
  const std::shared_ptr<Memory>& memory = work.agent->memory;
  if (!memory || !work.durable || !work.ended) co_return Result<void>();
  const BranchHead head{
      .id = work.branch, .forked_from = work.forked_from, .message_count = work.transcript.size()};
  const std::vector<Message> turn(work.draft.messages().begin(), work.draft.messages().end());
  using Made = std::optional<Record>;
  const auto make = [&] {
    return memory->end_span(work.key, head, *work.ended, rules_of(work.agent->spec), turn);
  };
  TERTULIA_CO_TRY_AS(Made record, co_await as_job<Made>(work.engine, "the memory", make));
  if (record) work.receipts.push_back(*std::move(record));
  co_return Result<void>();
}

bool learns_procedure(const TurnWork& work, TurnStatus status) {
  if (!work.agent->memory || !work.durable || status != TurnStatus::kCommitted) return false;
  if (!work.agent->spec.memory.procedural_learning) return false;
  return std::none_of(work.context.begin(), work.context.end(),
                      [](const ContextItem& item) { return item.tier == Tier::kProcedure; });
}

Task<void> learn_procedure(TurnWork& work, std::vector<ToolCallRecord> calls) {
  const auto learn = [&] {
    return work.agent->memory->procedural().learn(work.key.tenant, work.agent->spec.id, calls);
  };
  const Result<bool> learned = co_await as_job<bool>(work.engine, "the memory", learn);
  if (!learned)
    work.engine.log.info("nothing was learned of a turn", {{"code", name_of(learned.error().code())}});
}

}  // namespace tertulia
