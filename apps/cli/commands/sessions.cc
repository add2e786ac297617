// tertulia sessions: what conversations there are.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/inner_sessions.h"

#include "branch_tree.h"
#include "commands.h"
#include "commands/sessions_transfer.h"
#include "history.h"
#include "host/run_marker.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ListOptions {
  std::string status;
  std::vector<std::string> metadata;
  std::size_t limit = 50;
  std::string cursor;
  bool all_owners = false;
};

Result<SessionQuery> query_of(const ListOptions& options, const Context& context) {
  SessionQuery query;
  query.limit = options.limit;
  query.cursor = options.cursor;
  TERTULIA_TRY_AS(query.tenant, tenant_of(context));
  if (!options.all_owners) {
    TERTULIA_TRY_AS(query.owner, owner_of(context));
  }
  if (options.status == "active") query.status = SessionStatus::kActive;
  if (options.status == "closed") query.status = SessionStatus::kClosed;
  for (const std::string& entry : options.metadata) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      return Error(ErrorCode::kOutOfRange, "--meta wants NAME=VALUE, for example --meta project=x");
    }
    const std::string value = entry.substr(equals + 1);
    auto json = parse_json(value);  // 7 and true as what they are, anything else as text
    query.metadata.set(entry.substr(0, equals), json ? *std::move(json) : Json(value));
  }
  return query;
}

std::string_view status_of(const SessionSummary& summary) {
  return summary.damaged ? "damaged" : name_of(summary.status);
}

JsonObject json_of(const SessionSummary& summary) {
  return {{"session", summary.key.session.text()},
          {"tenant", summary.key.tenant.text()},
          {"owner", summary.key.owner.text()},
          {"revision", number(summary.revision)},
          {"status", status_of(summary)},
          {"created_at", iso_time(summary.created_at)},
          {"last_activity", iso_time(summary.last_activity)},
          {"metadata", summary.metadata}};
}

// What the conversation is called; one that nobody has named is known by its first words, quoted.
std::string title_of(Store& store, const SessionSummary& summary) {
  constexpr std::size_t kWidth = 40;
  const Json* title = summary.metadata.find("title");
  if (title != nullptr && title->as_string() != nullptr) return fit(one_line(*title->as_string()), kWidth);
  const auto first = read_turns(store, summary.key, {.branch = main_branch(), .begin = 0, .end = 1});
  if (!first || first->empty()) return "";
  return "“" + fit(preview(first->front().turn.messages().front()), kWidth - 2) + "”";
}

Result<void> list_sessions(const ListOptions& options, Context& context) {
  TERTULIA_TRY_AS(const SessionQuery query, query_of(options, context));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionPage page, list(*open, query));
  if (std::ranges::any_of(page.sessions, &SessionSummary::damaged)) context.exit_code = kExitBadData;
  if (context.out.json) {
    for (const SessionSummary& summary : page.sessions) context.out.line(to_text(json_of(summary)));
    if (!page.next.empty()) context.out.line(to_text(JsonObject{{"next", page.next}}));
    return {};
  }
  if (page.sessions.empty()) {
    context.out.line("No sessions of " + context.tenant +
                     (options.all_owners ? "." : "/" + context.owner + "."));
    return {};
  }
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  for (const SessionSummary& summary : page.sessions) {
    std::string name = summary.key.session.text();
    if (options.all_owners) name.insert(0, summary.key.owner.text() + "/");
    rows.push_back({std::move(name), std::string(status_of(summary)),
                    std::to_string(number(summary.revision)), ago(summary.last_activity, now),
                    title_of(*open, summary)});
  }
  context.out.table({"session", "status", "revision", "last activity", "title"}, rows);
  if (!page.next.empty()) context.out.line("More: --cursor " + page.next);
  return {};
}

Json json_of(const SessionState& state) {
  Json session = parse_json(to_json(state.session), kFormLimits).value();
  JsonArray branches;
  for (const BranchHead& head : state.branches) branches.emplace_back(branch_json(head));
  session.as_object()->set("branches", std::move(branches));
  if (!state.damage.empty()) session.as_object()->set("damaged", state.damage);
  return session;
}

// The last message of each branch, cut to what a line can show.
std::map<BranchId, std::string> previews_of(Store& store, const SessionKey& key, const SessionState& state) {
  std::map<BranchId, std::string> previews;
  for (const BranchHead& head : state.branches) {
    if (head.message_count == 0) continue;
    const auto last = read_messages(store, key, head, head.message_count - 1, head.message_count);
    if (last && !last->empty()) previews[head.id] = fit(preview(last->back().message), 60);
  }
  return previews;
}

void show_tree(const Context& context, Store& store, const SessionKey& key, const SessionState& state) {
  const Time now = real_env().clock().now();
  for (const std::string& line :
       draw_tree(state.branches, previews_of(store, key, state), now, output_width(), context.out)) {
    context.out.line(line);
  }
}

Result<void> show_session(const std::string& name, Context& context, bool tree_only) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, name));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  const Output& out = context.out;
  if (!state.damage.empty()) context.exit_code = kExitBadData;
  if (out.json) {
    out.line(to_text(json_of(state)));
    return {};
  }
  const Session& session = state.session;
  const Time now = real_env().clock().now();
  if (!tree_only) {
    const auto fact = [&](std::string_view label, const std::string& value) {
      out.line(out.styled(Style::kDim, std::string(label) + std::string(15 - label.size(), ' ')) + value);
    };
    fact("session", out.styled(Style::kBold, session.id.text()));
    fact("owner", session.tenant.text() + "/" + session.owner.text());
    fact("status", std::string(name_of(session.status)) +
                       (session.end_reason ? " (" + std::string(name_of(*session.end_reason)) + ")" : ""));
    fact("revision", std::to_string(number(session.revision)));
    fact("created", iso_time(session.created_at) + " · " + ago(session.created_at, now));
    fact("last activity", iso_time(session.last_activity) + " · " + ago(session.last_activity, now));
    for (const auto& [label, value] : session.metadata) {
      fact("metadata", one_line(label) + " = " +
                           fit(one_line(value.as_string() ? *value.as_string() : to_text(value)), 80));
    }
    if (!session.attachments.empty()) fact("attachments", std::to_string(session.attachments.size()));
    fact("branches", std::to_string(state.branches.size()));
    if (!state.damage.empty())
      fact("damaged", out.styled(Style::kBad, state.damage) + "; run tertulia verify");
    out.line("");
  }
  show_tree(context, *open, key, state);
  return {};
}

struct ForkOptions {
  std::string session;
  std::string name;
  std::string branch;
  std::string at = "-1";
  std::string label;
};

// Thread bindings of the parent go on in the fork, as far as it goes.
std::optional<PutSession> bindings_after_fork(const Session& session, const BranchId& parent,
                                              const BranchId& fork, std::uint64_t kept) {
  PutSession put{session};
  for (const ThreadBinding& binding : session.bindings) {
    if (binding.branch == parent) put.session.bindings.push_back(forked(binding, fork, kept));
  }
  if (put.session.bindings.size() == session.bindings.size()) return std::nullopt;
  return put;
}

Result<void> fork_session(const ForkOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse(options.name));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  TERTULIA_TRY_AS(const BranchHead* parent, choose_branch(state, options.branch));
  if (std::any_of(state.branches.begin(), state.branches.end(),
                  [&](const BranchHead& head) { return head.id == id; })) {
    return Error(ErrorCode::kBranchExists,
                 "there is a branch '" + id.text() + "' already; choose another name");
  }
  TERTULIA_TRY_AS(const std::uint64_t index, message_index(*open, key, *parent, options.at));
  TERTULIA_TRY_AS(const Transcript transcript, read_transcript(*open, key, *parent));
  TERTULIA_TRY_AS(const std::size_t kept, check_fork_point(transcript, static_cast<std::int64_t>(index)));
  const Time now = real_env().clock().now();
  BranchHead head{.id = id,
                  .forked_from = ForkOrigin{.parent = parent->id, .at_index = index},
                  .state = parent->state,
                  .label = options.label,
                  .description = {},
                  .tags = {},
                  .created_at = now,
                  .last_activity = now,
                  .extra = {}};
  Commit change{.key = key, .expected = state.session.revision, .conditions = {}, .changes = {}, .time = now};
  if (auto put = bindings_after_fork(state.session, parent->id, id, kept))
    change.changes.emplace_back(*std::move(put));
  change.changes.emplace_back(PutBranch{std::move(head)});
  TERTULIA_TRY_AS(const Revision revision, commit(*open, std::move(change)));
  if (context.out.json) {
    context.out.line(
        to_text(JsonObject{{"session", key.session.text()},
                           {"branch", id.text()},
                           {"forked_from", JsonObject{{"branch", parent->id.text()}, {"at_index", index}}},
                           {"revision", number(revision)}}));
  } else {
    context.out.line("Branch '" + id.text() + "' shares " + counted(kept, "message") + " with '" +
                     parent->id.text() + "'.");
  }
  return {};
}

Result<void> delete_sessions(const std::vector<std::string>& names, bool yes, const Context& context) {
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  std::vector<SessionKey> keys;
  for (const std::string& name : names) {
    TERTULIA_TRY_AS(SessionKey key, key_of(context, name));
    TERTULIA_TRY(check_erasable(*open, key));
    keys.push_back(std::move(key));
  }
  const std::string what =
      names.size() == 1 ? "session '" + names.front() + "'" : counted(names.size(), "session");
  TERTULIA_TRY(confirm(context, "Delete " + what + " for ever?", yes));
  for (const SessionKey& key : keys) {
    const Result<void> runs = forget_runs(*open, key);
    if (!runs && runs.error().code() != ErrorCode::kSessionDamaged) return runs.error();
    TERTULIA_TRY_AS(const EraseReport report, erase_with_inner(*open, key));
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"deleted", key.session.text()},
                                          {"branches", report.branches},
                                          {"turns", report.turns},
                                          {"records", report.records}}));
    } else {
      context.out.line("Deleted '" + key.session.text() +
                       (report.branches == 0 ? "', which was damaged" : "'") + ": " +
                       counted(report.branches, "branch", "branches") + ", " + counted(report.turns, "turn") +
                       ", " + counted(report.records, "record") + ".");
    }
    if (!runs && !context.out.json) {
      context.out.line("What is noted of workflows in it is damaged and stays: " + runs.error().message());
    }
  }
  return {};
}

void add_list(CLI::App& sessions, Context& context) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = sessions.add_subcommand("list", "List sessions, the latest first");
  command->add_option("--status", options->status, "Only these: active or closed")
      ->check(CLI::IsMember({"active", "closed"}));
  command->add_option("--meta", options->metadata, "Only those with this metadata: NAME=VALUE");
  command->add_option("--limit", options->limit, "At most this many")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_option("--cursor", options->cursor, "Where the last list ended");
  command->add_flag("--all-owners", options->all_owners, "Those of every owner of the tenant");
  command->callback([options, &context] { context.run([&] { return list_sessions(*options, context); }); });
}

void add_show(CLI::App& sessions, Context& context, const std::string& verb, const std::string& help,
              bool tree_only) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = sessions.add_subcommand(verb, help);
  command->add_option("session", *name, "The session")->required();
  command->callback(
      [name, tree_only, &context] { context.run([&] { return show_session(*name, context, tree_only); }); });
}

void add_fork(CLI::App& sessions, Context& context) {
  auto options = std::make_shared<ForkOptions>();
  CLI::App* command = sessions.add_subcommand("fork", "Begin a branch that shares the messages so far");
  command->add_option("session", options->session, "The session")->required();
  command->add_option("name", options->name, "The name of the new branch")->required();
  command->add_option("--branch", options->branch, "The branch to fork");
  command->add_option("--at", options->at, "The last message to keep: its number, its id, or -1 for the last")
      ->capture_default_str();
  command->add_option("--label", options->label, "What to call it for people");
  command->callback([options, &context] { context.run([&] { return fork_session(*options, context); }); });
}

void add_session_delete(CLI::App& sessions, Context& context) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto yes = std::make_shared<bool>(false);
  CLI::App* command = sessions.add_subcommand("delete", "Delete sessions with everything in them");
  command->add_option("sessions", *names, "The sessions")->required();
  command->add_flag("-y,--yes", *yes, "Do not ask");
  command->callback(
      [names, yes, &context] { context.run([&] { return delete_sessions(*names, *yes, context); }); });
}

}  // namespace

void add_sessions(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("sessions", "List, show, fork, export, import and delete conversations");
  command->require_subcommand(1);
  add_list(*command, context);
  add_show(*command, context, "show", "Show a session and its branches", false);
  add_show(*command, context, "tree", "Draw the branches of a session", true);
  add_fork(*command, context);
  add_export(*command, context);
  add_import(*command, context);
  add_session_delete(*command, context);
  add_session_life(*command, context);
}

}  // namespace tertulia::cli
