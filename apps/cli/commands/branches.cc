// tertulia branches: the paths of a session.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/commit_rules.h"

#include "branch_tree.h"
#include "commands.h"
#include "history.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

std::string origin_text(const BranchHead& head) {
  if (!head.forked_from) return "";
  return head.forked_from->parent.text() + " after message " + std::to_string(head.forked_from->at_index);
}

Result<void> list_branches(const std::string& session, Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, session));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  std::set<SessionId> hurt;
  if (!state.damage.empty()) hurt.insert(key.session);
  if (context.out.json) {
    for (const BranchHead& head : state.branches) context.out.line(to_text(branch_json(head)));
    show_damaged(context, "messages", hurt);
    return {};
  }
  if (state.branches.empty() && hurt.empty()) {
    context.out.line("No branches yet.");
    return {};
  }
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  rows.reserve(state.branches.size());
  for (const BranchHead& head : state.branches) {
    rows.push_back({head.id.text(), std::to_string(head.message_count), origin_text(head),
                    ago(head.last_activity, now), fit(one_line(head.label), 40)});
  }
  context.out.table({"branch", "messages", "forked from", "last activity", "label"}, rows);
  show_damaged(context, "messages", hurt);
  return {};
}

struct DeleteOptions {
  std::string session;
  std::string branch;
  bool recursive = false;
  bool yes = false;
};

Result<void> delete_branch(const DeleteOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse(options.branch));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  auto plan = plan_delete(infos_of(state.branches), id, options.recursive);
  if (!plan && plan.error().code() == ErrorCode::kHasChildren) {
    return std::move(plan).error().in("say --recursive to delete them as well");
  }
  if (!plan) return std::move(plan).error();
  const std::string what =
      plan->size() == 1 ? "branch '" + id.text() + "'" : counted(plan->size(), "branch", "branches");
  TERTULIA_TRY(confirm(context, "Delete " + what + " for ever?", options.yes));
  const std::size_t count = plan->size();
  TERTULIA_TRY(commit(*open, {.key = key,
                              .expected = state.session.revision,
                              .conditions = {},
                              .changes = {DropBranches{*std::move(plan)}},
                              .time = real_env().clock().now()}));
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"deleted", id.text()}, {"branches", std::uint64_t{count}}}));
  } else {
    context.out.line("Deleted " + what + ".");
  }
  return {};
}

struct LabelOptions {
  std::string session;
  std::string branch;
  std::string label;
  std::string description;
  std::vector<std::string> tags;
  bool has_description = false;
  bool has_tags = false;
};

Result<void> label_branch(const LabelOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const SessionState state, load_session(*open, key));
  TERTULIA_TRY_AS(const BranchHead* there, choose_branch(state, options.branch));
  BranchHead head = *there;
  head.label = options.label;
  if (options.has_description) head.description = options.description;
  if (options.has_tags) head.tags = options.tags;
  TERTULIA_TRY(commit(*open, {.key = key,
                              .expected = state.session.revision,
                              .conditions = {},
                              .changes = {PutBranch{head}},
                              .time = real_env().clock().now()}));
  if (context.out.json) {
    context.out.line(to_text(branch_json(head)));
  } else {
    context.out.line("Branch '" + head.id.text() + "' is called '" + one_line(head.label) + "'.");
  }
  return {};
}

void add_delete(CLI::App& branches, Context& context) {
  auto options = std::make_shared<DeleteOptions>();
  CLI::App* command = branches.add_subcommand("delete", "Delete a branch; never main");
  command->add_option("session", options->session, "The session")->required();
  command->add_option("branch", options->branch, "The branch")->required();
  command->add_flag("-r,--recursive", options->recursive, "With everything that was forked from it");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->callback([options, &context] { context.run([&] { return delete_branch(*options, context); }); });
}

void add_label(CLI::App& branches, Context& context) {
  auto options = std::make_shared<LabelOptions>();
  CLI::App* command = branches.add_subcommand("label", "Give a branch a label, a description, tags");
  command->add_option("session", options->session, "The session")->required();
  command->add_option("branch", options->branch, "The branch")->required();
  command->add_option("label", options->label, "What to call it for people")->required();
  auto* description = command->add_option("--description", options->description, "More about it");
  auto* tags = command->add_option("--tag", options->tags, "A tag; may be given several times");
  command->callback([options, description, tags, &context] {
    options->has_description = description->count() > 0;
    options->has_tags = tags->count() > 0;
    context.run([&] { return label_branch(*options, context); });
  });
}

}  // namespace

void add_branches(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("branches", "List, label and delete the branches of a session");
  command->require_subcommand(1);
  auto session = std::make_shared<std::string>();
  CLI::App* listing = command->add_subcommand("list", "List the branches of a session, the oldest first");
  listing->add_option("session", *session, "The session")->required();
  listing->callback([session, &context] { context.run([&] { return list_branches(*session, context); }); });
  add_delete(*command, context);
  add_label(*command, context);
}

}  // namespace tertulia::cli
