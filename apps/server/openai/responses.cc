// /v1/responses: create, retrieve, cancel, delete, and what was asked.
#include <algorithm>
#include <array>
#include <utility>

#include "core/call.h"
#include "core/sse.h"
#include "openai/create_response.h"
#include "openai/fields.h"
#include "openai/item_list.h"
#include "openai/response_store.h"
#include "openai/routes.h"

namespace tertulia::server {
namespace {

void answer_whole(Services& services, BegunResponse begun, const Done<Reply>& done) {
  if (begun.end) {
    begun.end->when_there([done](EndedResponse ended) { done(Reply::json(std::move(ended.body))); });
    return;
  }
  auto end = std::make_shared<ResponseEnd>();
  auto settle = [settled = settle_nowhere(services, begun.plan), end](
                    Result<TurnOutcome> outcome, ResponseState state,
                    const std::function<void(EndedResponse)>& told) {
    settled(std::move(outcome), std::move(state), [end, told](const EndedResponse& ended) {
      end->set(ended);
      told(ended);
    });
  };
  auto translator = std::make_shared<ResponseTranslator>(begun.plan, std::nullopt, std::move(settle));
  read_through(std::move(begun.run), std::move(translator), [end, done] {
    end->when_there([done](EndedResponse ended) { done(Reply::json(std::move(ended.body))); });
  });
}

void create_response(const CallPtr& call, Done<Reply> done) {
  Result<Json> body = call->json();
  if (!body) return done(std::move(body).error());
  Result<const JsonObject*> object = as_object(*body, "the body");
  if (!object) return done(std::move(object).error());
  begin_response(call, **object, [call, done](Result<BegunResponse> begun) {
    if (!begun) return done(std::move(begun).error());
    if (begun->stream) return done(event_stream(stream_of(call->services, *std::move(begun))));
    if (begun->background) {
      return done(Reply::json(response_body(*begun->plan, ResponseState{.status = "queued"})));
    }
    answer_whole(call->services, *std::move(begun), done);
  });
}

// A response whose events are gone is told by its last one.
class LastEvent final : public ByteStream {
 public:
  explicit LastEvent(const EndedResponse& ended, std::int64_t number) {
    std::string data;
    JsonWriter(data).begin_object().key("type").string(ended.event).key("sequence_number").number(number);
    data += ",\"response\":" + ended.body + "}";
    append_frame(frame_, {}, ended.event, data);
  }

  void next(std::function<void(std::optional<std::string>)> done) override {
    done(frame_.empty() ? std::nullopt : std::optional(std::exchange(frame_, {})));
  }

 private:
  std::string frame_;
};

void stream_kept(const CallPtr& call, const KeptResponse& kept, std::optional<std::int64_t> after,
                 const Done<Reply>& done) {
  Result<RunPtr> run = attach(*call, *kept.plan);
  if (!run) return done(std::move(run).error());
  start_run(*std::move(run), [call, kept, after, done](Result<StartedRun> started) {
    const bool gone = !started && kept.ended;
    if (gone) return done(event_stream(std::make_shared<LastEvent>(*kept.ended, after.value_or(-1) + 1)));
    if (!started) return done(std::move(started).error());
    auto end = std::make_shared<ResponseEnd>();
    if (kept.ended) end->set(*kept.ended);
    ResponseTranslator::Settle settle =
        kept.ended ? settle_after(std::move(end)) : settle_in_store(call->services, kept.plan);
    done(event_stream(translated(*std::move(started),
                                 std::make_shared<ResponseTranslator>(kept.plan, after, std::move(settle)))));
  });
}

void retrieve_response(const CallPtr& call, Done<Reply> done) {
  Result<Query> query = call->query();
  if (!query) return done(std::move(query).error());
  Result<bool> stream = query->flag("stream");
  if (!stream) return done(std::move(stream).error());
  Result<std::optional<std::uint64_t>> after = query->number("starting_after", 0, INT64_MAX);
  if (!after) return done(std::move(after).error());
  Result<KeptResponse> kept = load_response(*call, call->parameter("response"), "response_id");
  if (!kept) return done(std::move(kept).error());
  std::optional<std::int64_t> behind;
  if (*after) behind = static_cast<std::int64_t>(**after);
  if (*stream) return stream_kept(call, *kept, behind, done);
  if (!kept->ended && is_running(*call, *kept->plan)) {
    return done(Reply::json(response_body(*kept->plan, {})));
  }
  wait_for_end(call, *std::move(kept), [done](Result<EndedResponse> ended) {
    if (!ended) return done(std::move(ended).error());
    done(Reply::json(std::move(ended->body)));
  });
}

void cancel_response(const CallPtr& call, Done<Reply> done) {
  Result<KeptResponse> kept = load_response(*call, call->parameter("response"), "response_id");
  if (!kept) return done(std::move(kept).error());
  // One that is over is given as it is.
  if (is_running(*call, *kept->plan)) {
    if (auto cancelled = call->services.engine->cancel(kept->plan->ids.turn); !cancelled) {
      if (cancelled.error().code() != ErrorCode::kNoTurn) return done(std::move(cancelled).error());
    }
  }
  wait_for_end(call, *std::move(kept), [done](Result<EndedResponse> ended) {
    if (!ended) return done(std::move(ended).error());
    done(Reply::json(std::move(ended->body)));
  });
}

Result<Reply> delete_response(Call& call) {
  const std::string& id = call.parameter("response");
  TERTULIA_TRY_AS(const KeptResponse kept, load_response(call, id, "response_id"));
  if (is_running(call, *kept.plan)) {
    return Error(ErrorCode::kTurnRunning, "the response has not ended yet; cancel it first");
  }
  TERTULIA_TRY(forget_response(call, *kept.plan));
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("id")
      .string(id)
      .key("object")
      .string("response")
      .key("deleted")
      .boolean(true)
      .end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_input_items(Call& call) {
  TERTULIA_TRY_AS(const ListRequest list, read_list_request(call));
  TERTULIA_TRY_AS(const KeptResponse kept, load_response(call, call.parameter("response"), "response_id"));
  return list_reply(kept.plan->input, list);
}

constexpr std::array kResponsesRoutes{
    later(Method::kPost, "/v1/responses", Access::kWrite, &create_response, BodyKind::kJson),
    later(Method::kGet, "/v1/responses/{response}", Access::kRead, &retrieve_response),
    on_pool(Method::kDelete, "/v1/responses/{response}", Access::kWrite, &delete_response),
    later(Method::kPost, "/v1/responses/{response}/cancel", Access::kWrite, &cancel_response,
          BodyKind::kBytes),
    on_pool(Method::kGet, "/v1/responses/{response}/input_items", Access::kRead, &list_input_items),
};

}  // namespace

std::span<const Route> response_routes() { return kResponsesRoutes; }

}  // namespace tertulia::server
