// Step 2, when the history does not fit and its agent summarises: the oldest part becomes a few sentences.
//
// Two phases: the model is asked, and only what it has said whole is put over the history, in the commit of
// the turn. A summary that fails changes nothing: the view then leaves the oldest turns out.
#include <utility>

#include "tertulia/memory/overlay.h"
#include "tertulia/memory/working_memory.h"
#include "tertulia/model/ask_model.h"

#include "turn_work.h"

namespace tertulia {
namespace {

constexpr std::string_view kTask =
    "You condense conversations. Keep names, numbers, dates, decisions, open questions and what the user "
    "wants; "
    "leave out greetings and repetition. Write plain sentences, at most 200 words, and nothing else.";
constexpr std::string_view kAsk =
    "Condense the conversation above, together with the summary of what came before it if there is one.";

// Of what the model can take, what one request to summarise may hold.
constexpr std::uint64_t kShare = 2;

// The oldest whole turns from `from` on, before `before`, that one request can hold.
std::size_t end_of_part(const Transcript& history, std::size_t from, std::size_t before,
                        std::uint64_t budget) {
  std::size_t end = from;
  while (end < before) {
    const std::size_t next = std::min(history.first_after(history.revision_at(end)), before);
    const std::uint64_t cost = number(history.tokens_before(next)) - number(history.tokens_before(from)) +
                               kTokensPerMessage * (next - from);
    if (cost > budget) break;
    end = next;
  }
  return end;
}

Result<View> view_for(const TurnWork& work, const HistoryOverlay& overlay, MessageRange part,
                      const Tokenizer& tokenizer) {
  TERTULIA_TRY_AS(Message task, system_message(kTask, tokenizer));
  std::vector<Message> leading{std::move(task)};
  if (const auto before = overlay.summary_of(work.transcript)) {
    TERTULIA_TRY_AS(Message summary, summary_message(before->text, tokenizer));
    leading.push_back(std::move(summary));
  }
  TERTULIA_TRY_AS(View view, View::of(work.transcript, {part}));
  TERTULIA_TRY_AS(view, view.with_leading(std::move(leading)));
  TERTULIA_TRY_AS(
      Message ask,
      Message::make({.role = Role::kUser, .origin = Origin::kSynthetic, .parts = {Part::text_of(kAsk)}}));
  return view.with_trailing(std::vector<Message>{std::move(ask)});
}

Result<std::string> text_in(const ModelResponse& response) {
  std::string text;
  for (const AnswerPart& part : response.parts) {
    if (part.kind == PartKind::kText) text += part.text;
  }
  if (response.finish == Finish::kStop && text.find_first_not_of(" \t\r\n") != std::string::npos) return text;
  return Error(ErrorCode::kBadStream, "the model gave no summary");
}

Task<Result<std::string>> ask_for_summary(TurnWork& work, View view) {
  ModelCall call{.request = {.model = work.model_name(),
                             .view = std::move(view),
                             .tools = {},
                             .options = {},
                             .assets = nullptr,
                             .service_thread = {},
                             .idempotency_key = work.live->id().text() + "/summary"},
                 .on_delta = [](const ModelDelta&) {},
                 .cancel = work.live->cancel.token(),
                 .deadline = work.deadline,
                 .idle_timeout = work.limits().stream_idle_timeout};
  TERTULIA_CO_TRY_AS(const ModelResponse response,
                     co_await await<ModelResponse>([&](const Done<ModelResponse>& done) {
                       ask_model(work.model(), std::move(call), done);
                     }));
  work.usage = work.usage + response.usage;
  co_return text_in(response);
}

Task<Result<std::uint64_t>> summarise(TurnWork& work, std::uint64_t before) {
  TERTULIA_CO_TRY_AS(HistoryOverlay overlay, overlay_in(work.state.branch));
  const ModelInfo info = work.model().info(work.model_name());
  const std::uint64_t most = info.context_tokens > 0
                                 ? info.context_tokens
                                 : number(work.agent->spec.memory.max_working_memory_tokens);
  const auto summary = overlay.summary_of(work.transcript);
  const std::size_t from = summary ? static_cast<std::size_t>(summary->covers) : 0;
  const std::size_t end = end_of_part(work.transcript, from, static_cast<std::size_t>(before), most / kShare);
  if (end <= from)
    co_return Error(ErrorCode::kBudgetTooSmall, "the oldest turn alone is too long to be summarised");
  TERTULIA_CO_TRY_AS(View view, view_for(work, overlay, {from, end}, *info.tokenizer));
  TERTULIA_CO_TRY_AS(std::string text, co_await ask_for_summary(work, std::move(view)));
  overlay.summary = StoredSummary{.covers = end,
                                  .first = work.transcript[0].id(),
                                  .last = work.transcript[end - 1].id(),
                                  .text = std::move(text),
                                  .model = work.model_name(),
                                  .made_at = work.engine.env.clock().now()};
  put_overlay(work.state.branch, overlay);
  work.state.branch_changed = true;
  co_return end;
}

}  // namespace

Task<bool> summarise_history(TurnWork& work, std::uint64_t before) {
  Result<std::uint64_t> covers = co_await summarise(work, before);
  Event event;
  if (covers) {
    event.kind = EventKind::kContextCompacted;
    event.index = *covers;
    event.text = "the history did not fit";
  } else {
    event.kind = EventKind::kContextDegraded;
    event.name = "summary";
    event.text = covers.error().message();
  }
  work.live->log.add(std::move(event));
  co_return covers.ok();
}

}  // namespace tertulia
