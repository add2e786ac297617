// tertulia turns: what was interrupted, and the last turns of a session.
#include <algorithm>
#include <memory>
#include <set>

#include "tertulia/agent/engine.h"
#include "tertulia/base/env.h"
#include "tertulia/base/json.h"

#include "commands.h"
#include "history.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct TurnsOptions {
  std::string session;
  std::string branch;
  std::size_t last = 10;
};

struct Row {
  TurnId turn;
  // What it waits to be told; empty: nothing.
  std::string question{};
  std::string session;
  std::string branch;
  std::string status;
  Time time{};
  std::string said;
  // Why it was interrupted, if it failed.
  std::string code{};
  std::string reason{};
};

void show(const Context& context, const std::vector<Row>& rows) {
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    if (context.out.json) {
      JsonObject form{{"turn", row.turn.text()},
                      {"session", row.session},
                      {"branch", row.branch},
                      {"status", row.status},
                      {"time", iso_time(row.time)}};
      if (!row.question.empty()) form.append("question", row.question);
      if (!row.code.empty()) {
        form.append("cause", JsonObject{{"code", row.code}, {"message", row.reason}});
      }
      context.out.line(to_text(form));
    }
    cells.push_back({row.session, row.branch, row.status, ago(row.time, now), fit(row.said, 50)});
  }
  if (context.out.json) return;
  if (rows.empty()) return context.out.line("There are no turns to show.");
  context.out.table({"session", "branch", "status", "when", "message"}, cells);
}

Result<void> add_interrupted(Engine& engine, const TenantId& tenant, const OwnerId& owner,
                             const TurnsOptions& options, std::vector<Row>& rows,
                             std::set<SessionId>& damaged) {
  TERTULIA_TRY_AS(const std::vector<InterruptedTurn> turns, engine.interrupted());
  TERTULIA_TRY_AS(const std::vector<Question> questions, engine.questions(tenant, owner, &damaged));
  for (const InterruptedTurn& turn : turns) {
    if (turn.key.tenant != tenant || turn.key.owner != owner) continue;
    if (!options.session.empty() && turn.key.session.text() != options.session) continue;
    if (!options.branch.empty() && turn.branch.text() != options.branch) continue;
    const auto asked = std::ranges::find(questions, turn.turn, &Question::turn);
    const bool waits = asked != questions.end();
    rows.push_back({.turn = turn.turn,
                    .question = waits ? asked->id() : "",
                    .session = turn.key.session.text(),
                    .branch = turn.branch.text(),
                    .status = "interrupted",
                    .time = turn.started_at,
                    .said = waits               ? "waits for an answer: tertulia approve"
                            : turn.code.empty() ? "go on with: tertulia resume"
                                                : turn.code + ": " + one_line(turn.reason),
                    .code = turn.code,
                    .reason = turn.reason});
  }
  return {};
}

// The last turns of one branch, the latest first.
Result<void> add_committed(Store& store, const SessionKey& key, const TurnsOptions& options,
                           std::vector<Row>& rows) {
  TERTULIA_TRY_AS(const SessionState state, load_session(store, key));
  for (const BranchHead& head : state.branches) {
    if (!options.branch.empty() && head.id.text() != options.branch) continue;
    std::vector<Row> of_branch;
    // A turn has at least one message of its own.
    std::uint64_t end = head.message_count;
    while (end > 0 && of_branch.size() < options.last) {
      TERTULIA_TRY_AS(const auto turns,
                      read_turns(store, key, {.branch = head.id, .begin = end - 1, .end = end}));
      if (turns.empty()) break;
      const StoredTurn& turn = turns.back();
      bool cut = false;
      for (const Message& message : turn.turn.messages()) cut = cut || message.interrupted();
      const Message& first = turn.turn.messages().front();
      of_branch.push_back({.turn = turn.turn.id(),
                           .session = key.session.text(),
                           .branch = head.id.text(),
                           .status = cut ? "stopped" : "committed",
                           .time = first.time(),
                           .said = preview(first)});
      end = turn.first_index;
    }
    rows.insert(rows.end(), of_branch.begin(), of_branch.end());
  }
  return {};
}

Result<void> list_turns(const TurnsOptions& options, Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(OpenStore open, open_store(context, Need::kExisting));
  const std::shared_ptr<Store> store = std::move(open.store);
  // Only looks: nothing is resumed by it.
  TERTULIA_TRY_AS(const std::shared_ptr<Engine> engine, Engine::open({.store = store, .recover = false}));
  std::vector<Row> rows;
  std::set<SessionId> damaged;
  TERTULIA_TRY(add_interrupted(*engine, tenant, owner, options, rows, damaged));
  if (!options.session.empty()) {
    TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
    TERTULIA_TRY(add_committed(*store, key, options, rows));
  }
  show(context, rows);
  show_damaged(context, "questions", damaged);
  return {};
}

}  // namespace

void add_turns(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("turns", "List turns that were interrupted, and the last ones of a session");
  auto options = std::make_shared<TurnsOptions>();
  command->add_option("session", options->session, "Also the last turns of this session");
  command->add_option("--branch", options->branch, "Only of this branch");
  command->add_option("--last", options->last, "How many of each branch")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  command->callback([options, &context] { context.run([&] { return list_turns(*options, context); }); });
}

}  // namespace tertulia::cli
