// Questions: what waits for a person, and the answers.
#include <array>
#include <charconv>
#include <set>

#include "api/forms.h"
#include "api/routes.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

Result<Reply> list_questions(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  const std::string session = query.text_or("session", {});
  TERTULIA_TRY(query.finish());
  if (!session.empty()) TERTULIA_TRY(call.session_named(session));
  std::set<SessionId> damaged;
  TERTULIA_TRY_AS(const std::vector<Question> questions,
                  call.services.engine->questions(call.principal.tenant, call.principal.user, &damaged));
  std::erase_if(damaged, [&](const SessionId& one) { return !session.empty() && one.text() != session; });
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("questions").begin_array();
  for (const Question& question : questions) {
    if (session.empty() || question.key.session.text() == session) write_question(out, question);
  }
  out.end_array();
  write_damaged(out, damaged);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> answer_question(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const TurnId turn, call.turn());
  // "2", or "2.PART" for one of several things that a call wants to know.
  const std::string& which = call.parameter("call");
  const std::size_t dot = std::min(which.find('.'), which.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(which.data(), which.data() + dot, number);
  if (error != std::errc() || end != which.data() + dot || dot + 1 == which.size()) {
    return Error(ErrorCode::kBadId, "the call in the path must be a number, or a number, a dot and a part")
        .with("param", "call");
  }
  std::string id = turn.text() + "/" + std::to_string(number);
  if (dot < which.size()) id += "/" + which.substr(dot + 1);
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "answer");
  const std::string choice = in.required_string("choice");
  Answer answer;
  answer.output = in.string_or("output", {});
  answer.failed = in.bool_or("failed", false);
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(answer.choice, answer_choice_named(choice));
  TERTULIA_TRY(call.services.engine->answer(key, id, std::move(answer)));
  return Reply::json("{}");
}

constexpr std::array kQuestionsRoutes{
    on_pool(Method::kGet, "/api/v1/questions", Access::kRead, &list_questions),
    on_pool(Method::kPost, "/api/v1/sessions/{session}/turns/{turn}/questions/{call}", Access::kWrite,
            &answer_question, BodyKind::kJson),
};

}  // namespace

std::span<const Route> question_routes() { return kQuestionsRoutes; }

}  // namespace tertulia::server
