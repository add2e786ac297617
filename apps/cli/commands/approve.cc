// tertulia approve: answers what a turn waits for, from another process than the one that asked.
#include <algorithm>
#include <memory>

#include "tertulia/agent/engine.h"
#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"

#include "chat/tool_line.h"
#include "commands.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ApproveOptions {
  std::string id;
  std::string choice;
};

const std::vector<std::string> kChoices = {"once", "always", "always_exactly", "deny", "always_deny"};

Error in_use(Error error) {
  if (error.code() != ErrorCode::kLocked) return error;
  return std::move(error).in(
      "whoever has the data must take the answer: answer in its chat, or stop it and try again (the question "
      "stays)");
}

void show(const std::vector<Question>& questions, const Context& context) {
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  for (const Question& question : questions) {
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"id", question.id()},
                                          {"kind", name_of(question.kind)},
                                          {"session", question.key.session.text()},
                                          {"branch", question.branch.text()},
                                          {"tool", question.tool},
                                          {"class", name_of(question.tool_class)},
                                          {"arguments", question.arguments.value()},
                                          {"asked_at", iso_time(question.asked_at)},
                                          {"expires_at", iso_time(question.expires_at)}}));
      continue;
    }
    rows.push_back({question.id(), question.key.session.text(), question.tool, ago(question.asked_at, now),
                    question.expires_at <= now ? "expired" : ago(question.expires_at, now),
                    fit(arguments_text(question.arguments.text()), 50)});
  }
  if (context.out.json) return;
  if (rows.empty()) return context.out.line("Nothing waits for an answer.");
  context.out.table({"id", "session", "tool", "asked", "expires", "arguments"}, rows);
  context.out.line(context.out.styled(
      Style::kDim, "Answer with: tertulia approve ID once|always|always_exactly|deny|always_deny"));
}

// A part of an id is enough where it can only mean one.
Result<const Question*> find(const std::vector<Question>& questions, const std::string& id) {
  const Question* found = nullptr;
  for (const Question& question : questions) {
    if (question.id() == id) return &question;
    if (question.id().find(id) == std::string::npos) continue;
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

Result<void> approve(const ApproveOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  const bool lists = options.id.empty() || options.id == "list";
  if (!lists && std::ranges::find(kChoices, options.choice) == kChoices.end()) {
    return Error(ErrorCode::kOutOfRange,
                 (options.choice.empty()
                      ? "say what the answer is"
                      : "'" + options.choice + "' is no answer" + did_you_mean(options.choice, kChoices)) +
                     ": once, always, always_exactly, deny or always_deny");
  }
  auto open = open_store(context, Need::kExisting);
  if (!open) return in_use(std::move(open).error());
  TERTULIA_TRY_AS(const std::shared_ptr<Engine> engine,
                  Engine::open({.store = std::shared_ptr<Store>(std::move(open->store)), .recover = false}));
  TERTULIA_TRY_AS(const std::vector<Question> questions, engine->questions(tenant, owner));
  if (lists) {
    show(questions, context);
    return {};
  }
  TERTULIA_TRY_AS(const Question* question, find(questions, options.id));
  TERTULIA_TRY_AS(const Answer::Choice choice, answer_choice_named(options.choice));
  TERTULIA_TRY(engine->answer(question->key, question->id(), {.choice = choice}));
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"id", question->id()}, {"answer", options.choice}}));
  } else {
    context.out.line("Answered. The turn goes on with: tertulia resume --session " +
                     question->key.session.text());
  }
  return {};
}

}  // namespace

void add_approve(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("approve", "List the questions of waiting turns, and answer them");
  auto options = std::make_shared<ApproveOptions>();
  command->add_option("id", options->id,
                      "The question, or a part of its id; not given, or 'list': all are listed");
  command->add_option("answer", options->choice, "once, always, always_exactly, deny or always_deny");
  command->footer("The turn goes on with whoever resumes it: tertulia resume");
  command->callback([options, &context] { context.run([&] { return approve(*options, context); }); });
}

}  // namespace tertulia::cli
