// tertulia approve: answers what a turn waits for, from another process than the one that asked.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>

#include "tertulia/agent/engine.h"
#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/setting.h"

#include "chat/tool_line.h"
#include "commands.h"
#include "open_store.h"
#include "server_door.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ApproveOptions {
  std::string id;
  std::string choice;
  std::string output;
  // Empty: the data directory itself.
  std::string server;
};

// A question, of the store or of a server.
struct Waiting {
  std::string id;
  std::string kind;
  std::string session;
  std::string branch;
  std::string tool;
  std::string tool_class;
  JsonText arguments;
  // What a server or a workflow wants to know in the middle of a call.
  std::string text{};
  JsonText schema{};
  std::string asked_at;
  std::string expires_at;
};

const std::vector<std::string> kChoices = {"once", "always", "always_exactly", "deny", "always_deny"};
constexpr std::string_view kOutputChoice = "output";

// As people say it.
std::string choice_meant(const ApproveOptions& options) {
  if (options.choice.empty() && !options.output.empty()) return std::string(kOutputChoice);
  if (options.choice == "yes" || options.choice == "y") return "once";
  if (options.choice == "no" || options.choice == "n") return "deny";
  return options.choice;
}

Waiting waiting_of(const Question& question) {
  return {.id = question.id(),
          .kind = std::string(name_of(question.kind)),
          .session = question.key.session.text(),
          .branch = question.branch.text(),
          .tool = question.tool,
          .tool_class = std::string(name_of(question.tool_class)),
          .arguments = question.arguments,
          .text = question.text,
          .schema = question.schema,
          .asked_at = iso_time(question.asked_at),
          .expires_at = iso_time(question.expires_at)};
}

// As a server writes it.
Result<Waiting> waiting_in(const Json& form) {
  JsonReader in(form, "question");
  Waiting waiting;
  waiting.id = in.required_string("turn") + "/" + std::to_string(in.required_int("call", 0, UINT32_MAX));
  if (const std::string part = in.string_or("part", {}); !part.empty()) waiting.id += "/" + part;
  waiting.kind = in.required_string("kind");
  waiting.session = in.required_string("session");
  waiting.branch = in.required_string("branch");
  waiting.tool = in.required_string("tool");
  waiting.tool_class = in.required_string("class");
  if (const Json* arguments = in.optional("arguments")) waiting.arguments = JsonText::of(*arguments);
  waiting.text = in.string_or("text", {});
  if (const Json* schema = in.optional("schema")) waiting.schema = JsonText::of(*schema);
  waiting.asked_at = in.required_string("asked_at");
  waiting.expires_at = in.required_string("expires_at");
  TERTULIA_TRY(in.finish());
  return waiting;
}

// Of "2026-11-15T22:25:14Z", to the second.
Time time_of(const std::string& iso) {
  std::tm parts{};
  if (::strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return {};
  return Time(std::chrono::seconds(::timegm(&parts)));
}

// What a server wants to know waits as long as its call does.
std::string expires_words(const Waiting& question, Time now) {
  if (question.expires_at == question.asked_at) return "–";
  const Time expires = time_of(question.expires_at);
  return expires <= now ? "expired" : ago(expires, now);
}

// Everything about one: what somebody allows must be seen.
void show_whole(const Waiting& question, const Context& context) {
  const Output& out = context.out;
  const Time now = real_env().clock().now();
  if (question.text.empty()) {
    out.line("May " + out.styled(Style::kBold, one_line(question.tool)) + " run? It is " +
             question.tool_class + ".");
    for (const std::string& line :
         argument_lines(question.arguments.value(), output_width(), SIZE_MAX, out)) {
      out.line(line);
    }
  } else {
    out.line(one_line(question.text));
    if (!question.schema.empty()) out.line("as " + one_line(question.schema.text()));
  }
  out.line("session " + question.session + ", branch " + question.branch + ", asked " +
           ago(time_of(question.asked_at), now) + ", expires " + expires_words(question, now));
  out.line(out.styled(Style::kDim, "Answer with: tertulia approve " + question.id +
                                       (question.text.empty() ? " yes|no|always|always_exactly|always_deny"
                                                              : " --output '{…}', or no")));
}

void show(const std::vector<Waiting>& questions, const Context& context) {
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  for (const Waiting& one : questions) {
    if (context.out.json) {
      JsonObject json{{"id", one.id},
                      {"kind", one.kind},
                      {"session", one.session},
                      {"branch", one.branch},
                      {"tool", one.tool},
                      {"class", one.tool_class},
                      {"arguments", one.arguments.value()},
                      {"asked_at", one.asked_at},
                      {"expires_at", one.expires_at}};
      if (!one.text.empty()) json.append("text", one.text);
      context.out.line(to_text(json));
      continue;
    }
    rows.push_back({one.id, one.session, one.tool, ago(time_of(one.asked_at), now), expires_words(one, now),
                    fit(one.text.empty() ? arguments_text(one.arguments.text()) : one_line(one.text), 50)});
  }
  if (context.out.json) return;
  if (rows.empty()) return context.out.line("Nothing waits for an answer.");
  context.out.table({"id", "session", "tool", "asked", "expires", "arguments"}, rows);
  context.out.line(context.out.styled(Style::kDim,
                                      "All of one: tertulia approve ID. Its answer: tertulia approve ID "
                                      "yes|no|always|always_exactly|always_deny"));
  if (std::ranges::any_of(questions, [](const Waiting& one) { return !one.text.empty(); })) {
    context.out.line(context.out.styled(
        Style::kDim,
        "What wants to know something: tertulia approve ID --output '{\"answer\": \"…\"}', or no"));
  }
}

// Only one, or all of them.
void show_asked(const std::vector<Waiting>& questions, const Waiting* one, const Context& context) {
  if (one == nullptr || context.out.json)
    return show(one == nullptr ? questions : std::vector{*one}, context);
  show_whole(*one, context);
}

Error which_question() {
  return Error(ErrorCode::kOutOfRange, "say which question it answers: tertulia approve ID --output '{…}'");
}

// A part of an id is enough where it can only mean one. Null where none is named.
Result<const Waiting*> find_waiting(const std::vector<Waiting>& questions, const std::string& id) {
  const Waiting* found = nullptr;
  if (id.empty()) return found;
  for (const Waiting& question : questions) {
    if (question.id == id) return &question;
    if (question.id.find(id) == std::string::npos) continue;
    if (found != nullptr)
      return Error(ErrorCode::kNoQuestion, "'" + id + "' could mean several questions; give more of the id");
    found = &question;
  }
  if (found == nullptr) {
    return Error(ErrorCode::kNoQuestion,
                 "nothing with the id '" + id + "' waits for an answer; see: tertulia approve");
  }
  return found;
}

void say_answered(const Context& context, const Waiting& question, const ApproveOptions& options) {
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"id", question.id}, {"answer", options.choice}}));
  } else if (options.server.empty()) {
    context.out.line(
        "Answered. The turn goes on where it runs; if nobody runs it: tertulia resume --session " +
        question.session);
  } else {
    context.out.line("Answered. The server goes on with the turn.");
  }
}

JsonObject answer_body(const ApproveOptions& options) {
  JsonObject body{{"choice", options.choice}};
  if (options.choice == kOutputChoice) body.append("output", options.output);
  return body;
}

// The server that has the data takes the answer, and goes on at once.
Result<void> approve_there(const ApproveOptions& options, const Context& context) {
  const ServerDoor server(options.server, process_environment());
  TERTULIA_TRY_AS(const Json answer, server.get("/api/v1/questions"));
  const Json* list = answer.as_object() == nullptr ? nullptr : answer.as_object()->find("questions");
  if (list == nullptr || list->as_array() == nullptr) {
    return Error(ErrorCode::kForeignData, options.server + " is no server of Tertulia");
  }
  std::vector<Waiting> questions;
  for (const Json& form : *list->as_array()) {
    TERTULIA_TRY_AS(Waiting waiting, waiting_in(form));
    questions.push_back(std::move(waiting));
  }
  TERTULIA_TRY_AS(const Waiting* question, find_waiting(questions, options.id));
  if (options.choice.empty()) {
    show_asked(questions, question, context);
    return {};
  }
  if (question == nullptr) return which_question();
  const std::size_t slash = question->id.find('/');
  std::string call = question->id.substr(slash + 1);
  std::ranges::replace(call, '/', '.');
  TERTULIA_TRY(server.post("/api/v1/sessions/" + question->session + "/turns/" +
                               question->id.substr(0, slash) + "/questions/" + call,
                           answer_body(options)));
  say_answered(context, *question, options);
  return {};
}

Result<void> approve_here(const ApproveOptions& options, Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const std::shared_ptr<Engine> engine,
                  Engine::open({.store = std::shared_ptr<Store>(std::move(open.store)), .recover = false}));
  std::set<SessionId> damaged;
  TERTULIA_TRY_AS(const std::vector<Question> asked, engine->questions(tenant, owner, &damaged));
  std::vector<Waiting> questions;
  questions.reserve(asked.size());
  for (const Question& question : asked) questions.push_back(waiting_of(question));
  TERTULIA_TRY_AS(const Waiting* question, find_waiting(questions, options.id));
  if (options.choice.empty()) {
    show_asked(questions, question, context);
    show_damaged(context, "questions", damaged);
    return {};
  }
  if (question == nullptr) return which_question();
  TERTULIA_TRY_AS(const Answer::Choice choice, answer_choice_named(options.choice));
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, question->session));
  TERTULIA_TRY(engine->answer(key, question->id, {.choice = choice, .output = options.output}));
  say_answered(context, *question, options);
  return {};
}

Result<void> approve(ApproveOptions options, Context& context) {
  if (options.id == "list") options.id.clear();
  options.choice = choice_meant(options);
  if (!options.choice.empty() && options.choice != kOutputChoice &&
      std::ranges::find(kChoices, options.choice) == kChoices.end()) {
    return Error(ErrorCode::kOutOfRange,
                 "'" + options.choice + "' is no answer" + did_you_mean(options.choice, kChoices) +
                     ": yes (once), no (deny), always, always_exactly or always_deny");
  }
  return options.server.empty() ? approve_here(options, context) : approve_there(options, context);
}

}  // namespace

void add_approve(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("approve", "List the questions of waiting turns, and answer them");
  auto options = std::make_shared<ApproveOptions>();
  command->add_option("id", options->id, "The question, or a part of its id; not given: all are listed");
  command->add_option("answer", options->choice,
                      "yes (once), no (deny), always, always_exactly or always_deny; not given: all of the "
                      "question is shown");
  command->add_option("--output", options->output,
                      "Instead of an answer: what a server or a workflow wants to know, as a JSON object");
  command->add_option("--server", options->server,
                      "The address of the server that has the data (its key: TERTULIA_API_KEY)");
  command->footer(
      "A turn that waits in another program, a server or a chat, goes on at once. One that nobody runs goes "
      "on "
      "with whoever resumes it: tertulia resume, or a server");
  command->callback([options, &context] { context.run([&] { return approve(*options, context); }); });
}

}  // namespace tertulia::cli
