// tertulia sessions close|reap, tertulia erase: how conversations end, and how everything of somebody goes.
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/outside_name.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/memory.h"
#include "tertulia/store/episode_store.h"

#include "commands.h"
#include "host/configured_memory.h"
#include "host/run_marker.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ReapOptions {
  // None: as the agents of the configuration say.
  std::optional<std::uint64_t> idle_minutes;
  std::optional<std::uint64_t> max_hours;
};

struct EraseOptions {
  std::string user;
  std::string session;
  std::vector<std::string> messages;
  bool yes = false;
};

Result<std::unique_ptr<Memory>> open_memory(const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  TERTULIA_TRY_AS(const HostPlan plan, plan_host(config, process_environment()));
  TERTULIA_TRY_AS(const std::shared_ptr<Embedder> embedder, configured_embedder(config));
  TERTULIA_TRY_AS(OpenStore open, open_configured_store(config, Need::kExisting));
  const std::shared_ptr<Store> store(std::move(open.store));
  auto memory = std::make_unique<Memory>(
      store, real_env(), tertulia::MemoryOptions{.embedder = embedder, .rules = rules_of(plan)});
  TERTULIA_TRY_AS(const std::optional<ConfiguredModel> model,
                  memory_model(config, plan, process_environment()));
  memory->episodic().set_summariser(summariser_of(config, model));
  memory->add_source(knowledge_source(std::make_shared<SemanticMemory>(*store, real_env(), embedder), store,
                                      {}, {}, extractor_of(config, model)));
  return memory;
}

Result<void> close(const std::vector<std::string>& names, const Context& context) {
  TERTULIA_TRY_AS(const std::unique_ptr<Memory> memory, open_memory(context));
  for (const std::string& name : names) {
    TERTULIA_TRY_AS(const SessionKey key, key_of(context, name));
    TERTULIA_TRY(load_session(memory->store(), key));
    TERTULIA_TRY_AS(const CloseReport report, memory->close(key, EndReason::kUserClosed));
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"session", name},
                                          {"closed", report.closed},
                                          {"episodes", static_cast<std::uint64_t>(report.episodes.size())},
                                          {"facts", static_cast<std::uint64_t>(report.facts)}}));
    } else if (report.closed) {
      context.out.line("Closed '" + name + "': " + counted(report.episodes.size(), "episode") +
                       (report.facts > 0 ? ", " + counted(report.facts, "new fact") : "") + ".");
    } else {
      context.out.line("'" + name + "' was closed already.");
    }
  }
  return {};
}

// The rules of the agents, with the times that were given in place of theirs.
RuleBook rules_with(const ReapOptions& options, RuleBook book) {
  const auto change = [&](SessionRules& rules) {
    if (options.idle_minutes) rules.idle_timeout = std::chrono::minutes(*options.idle_minutes);
    if (options.max_hours) rules.max_session = std::chrono::hours(*options.max_hours);
  };
  change(book.others);
  for (auto& [name, rules] : book.agents) change(rules);
  return book;
}

Result<void> reap(const ReapOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const std::unique_ptr<Memory> memory, open_memory(context));
  TERTULIA_TRY_AS(const ReapReport report, memory->reap(rules_with(options, memory->rules())));
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"idle", static_cast<std::uint64_t>(report.idle.size())},
                                        {"too_long", static_cast<std::uint64_t>(report.too_long.size())},
                                        {"episodes", static_cast<std::uint64_t>(report.episodes)},
                                        {"busy", static_cast<std::uint64_t>(report.busy.size())},
                                        {"failed", static_cast<std::uint64_t>(report.failed)},
                                        {"facts", static_cast<std::uint64_t>(report.facts)},
                                        {"archived", static_cast<std::uint64_t>(report.archived)},
                                        {"deleted", static_cast<std::uint64_t>(report.deleted)}}));
    return {};
  }
  context.out.line("Closed " + counted(report.idle.size(), "idle session") + " and " +
                   counted(report.too_long.size(), "session") +
                   " that lasted too long: " + counted(report.episodes, "episode") + ".");
  if (!report.busy.empty())
    context.out.line(counted(report.busy.size(), "session") + " with an open turn left for later.");
  if (report.failed > 0)
    context.out.line(counted(report.failed, "session") + " could not be closed; run verify.");
  if (report.facts > 0) context.out.line(counted(report.facts, "new fact") + " learned.");
  if (report.archived + report.deleted > 0) {
    context.out.line("Of old episodes, " + std::to_string(report.archived) +
                     " will no longer be quoted and " + std::to_string(report.deleted) + " are gone.");
  }
  return {};
}

// What could not be reached.
void show_left(const Output& out, const ErasedMemory& report) {
  if (report.unread) {
    out.line(
        "Not all of its messages could be read, because it was damaged: look for what was remembered from "
        "the others with tertulia memory list.");
  }
  for (const SessionId& session : report.damaged) {
    out.line("Session '" + session.text() +
             "' is damaged, and may hold something of it until it is erased as well.");
  }
}

void show(const Output& out, const ErasedMemory& report) {
  if (out.json) {
    JsonArray damaged;
    for (const SessionId& session : report.damaged) damaged.emplace_back(session.text());
    out.line(to_text(JsonObject{{"sessions", report.sessions.sessions},
                                {"branches", report.sessions.branches},
                                {"turns", report.sessions.turns},
                                {"records", report.sessions.records},
                                {"episodes", static_cast<std::uint64_t>(report.episodes)},
                                {"items", static_cast<std::uint64_t>(report.items)},
                                {"prompt_parts", static_cast<std::uint64_t>(report.prompt_parts)},
                                {"messages", static_cast<std::uint64_t>(report.messages)},
                                {"summaries", static_cast<std::uint64_t>(report.summaries)},
                                {"own_records", static_cast<std::uint64_t>(report.records)},
                                {"damaged", std::move(damaged)}}));
    return;
  }
  out.line("Erased " + counted(report.sessions.sessions, "session") + ", " +
           counted(report.sessions.turns, "turn") + ", " + counted(report.sessions.records, "record") + "; " +
           counted(report.items, "memory", "memories") + " and " +
           counted(report.prompt_parts, "text of a prompt", "texts of prompts") + " elsewhere.");
  show_left(out, report);
}

void show_messages(const Output& out, const ErasedMemory& report) {
  if (out.json) {
    show(out, report);
    return;
  }
  out.line("Erased " + counted(report.messages, "message") + "; " +
           counted(report.items, "memory", "memories") + ", " +
           counted(report.summaries, "summary", "summaries") + ", " +
           counted(report.prompt_parts + report.records, "record") + " that came from there; " +
           counted(report.episodes, "episode") + " told again without.");
  show_left(out, report);
}

// By number on `main`, or by id, as `messages show` takes them.
Result<std::vector<MessageId>> message_ids(Store& store, const SessionKey& key,
                                           const std::vector<std::string>& names) {
  TERTULIA_TRY_AS(const std::vector<Message> messages, get_session_messages(store, key));
  std::vector<MessageId> ids;
  for (const std::string& name : names) {
    std::size_t place = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), place);
    if (problem == std::errc() && end == name.data() + name.size()) {
      if (place >= messages.size()) {
        return Error(ErrorCode::kNoMessage, "branch 'main' has no message " + name + "; the last one is " +
                                                std::to_string(messages.size() - 1));
      }
      ids.push_back(messages[place].id());
      continue;
    }
    TERTULIA_TRY_AS(const MessageId id, MessageId::parse(name));
    ids.push_back(id);
  }
  return ids;
}

Result<void> erase_messages(const EraseOptions& options, const Context& context, Memory& memory) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  // What a crash has cut is finished first.
  TERTULIA_TRY(memory.finish_erasing());
  TERTULIA_TRY(load_session(memory.store(), key));
  TERTULIA_TRY_AS(const std::vector<MessageId> ids, message_ids(memory.store(), key, options.messages));
  TERTULIA_TRY(confirm(context,
                       "Erase " + counted(ids.size(), "message") + " of session '" + options.session +
                           "' and what was remembered from there?",
                       options.yes));
  TERTULIA_TRY_AS(const ErasedMemory report, memory.erase_messages(key, ids));
  show_messages(context.out, report);
  return {};
}

Result<void> erase_all(const EraseOptions& options, const Context& context) {
  if (options.user.empty() && options.session.empty()) {
    return Error(ErrorCode::kOutOfRange,
                 "say what to erase: --user NAME, --session S, or --session S --message N");
  }
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const std::unique_ptr<Memory> memory, open_memory(context));
  if (!options.messages.empty()) return erase_messages(options, context, *memory);
  if (!options.session.empty()) {
    TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
    TERTULIA_TRY(check_erasable(memory->store(), key));
    TERTULIA_TRY(confirm(context, "Erase session '" + options.session + "' and what was remembered from it?",
                         options.yes));
    const Result<void> runs = forget_runs(memory->store(), key);
    if (!runs && runs.error().code() != ErrorCode::kSessionDamaged) return runs.error();
    TERTULIA_TRY_AS(ErasedMemory report, memory->erase_session(key));
    if (!runs) report.damaged.insert(runs_session(key.tenant, key.owner).session);
    show(context.out, report);
    return {};
  }
  TERTULIA_TRY_AS(const OwnerId owner, from_outside<OwnerId>(options.user));
  TERTULIA_TRY(confirm(context, "Erase everything of user '" + options.user + "' for ever?", options.yes));
  TERTULIA_TRY_AS(const ErasedMemory report, memory->erase_owner(tenant, owner));
  show(context.out, report);
  return {};
}

}  // namespace

void add_session_life(CLI::App& sessions, Context& context) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* closing = sessions.add_subcommand("close", "End sessions; what was said becomes an episode");
  closing->add_option("sessions", *names, "The sessions")->required();
  closing->callback([names, &context] { context.run([&] { return close(*names, context); }); });
  auto options = std::make_shared<ReapOptions>();
  CLI::App* reaping = sessions.add_subcommand("reap", "End every session whose time is up, of every owner");
  reaping
      ->add_option("--idle", options->idle_minutes,
                   "Minutes without activity; not given: as the agents' limits.idle_timeout says, or 30")
      ->check(CLI::Range(0, 1'000'000));
  reaping
      ->add_option("--max", options->max_hours,
                   "Hours that a session may last; not given: as the agents' limits.max_session says, or 8")
      ->check(CLI::Range(1, 100'000));
  reaping->callback([options, &context] { context.run([&] { return reap(*options, context); }); });
}

void add_erase(CLI::App& app, Context& context) {
  auto options = std::make_shared<EraseOptions>();
  CLI::App* command =
      app.add_subcommand("erase", "Erase a user or a session, and everything that was made from it");
  CLI::Option* user = command->add_option("--user", options->user, "Everything of this owner");
  CLI::Option* session = command->add_option("--session", options->session, "One session of the owner");
  user->excludes(session);
  command
      ->add_option("--message", options->messages,
                   "Only these messages of the session: numbers on branch main, or ids")
      ->needs(session);
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->callback([options, &context] { context.run([&] { return erase_all(*options, context); }); });
}

}  // namespace tertulia::cli
