// tertulia explain: what a model was shown in a turn, what it was not shown, and why.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/prompt.h"

#include "commands.h"
#include "history.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

constexpr std::size_t kBarColumns = 40;

struct ExplainOptions {
  std::string session;
  std::string turn;
  std::string branch;
  bool prompt = false;
};

// Whose they are.
struct Receipts {
  Store& store;
  SessionKey key;
  std::vector<Receipt> all;
};

std::string percent(double part) { return std::to_string(std::lround(part * 100)) + " %"; }

std::string number_text(std::uint64_t count) {
  const std::string text = counted(count, "");
  return text.substr(0, text.find(' '));
}

// The tokens of a tier as a bar; the widest is the whole budget of the parts that are shown.
void draw_bar(const Output& out, const Receipt& receipt, Tier tier) {
  const std::uint64_t tokens = number(tokens_in(receipt, tier));
  if (tokens == 0) return;
  const double share =
      static_cast<double>(tokens) / static_cast<double>(std::max<std::uint64_t>(1, number(receipt.total)));
  const auto columns = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * kBarColumns)));
  std::string bar;
  for (std::size_t i = 0; i < columns; ++i) bar += "█";
  const std::string name(name_of(tier));
  out.line("  " + name + std::string(11 - std::min<std::size_t>(10, name.size()), ' ') +
           out.styled(Style::kAccent, bar) + std::string(kBarColumns + 1 - columns, ' ') +
           number_text(tokens));
}

std::string what_of(const ReceiptItem& item) {
  if (item.tier == Tier::kTools) return counted(item.more + 1, "tool");
  if (item.tier != Tier::kHistory || !item.text.empty()) return one_line(item.id);
  const std::string first = std::to_string(item.index);
  if (item.more == 0) return "message " + first;
  return "messages " + first + " to " + std::to_string(item.index + item.more);
}

// Where what was shown is from; nothing of what was not, nor of what was erased since.
std::string source_of(const ReceiptItem& item, const Receipts& from, const BranchId& branch) {
  const bool context =
      item.tier == Tier::kProcedure || item.tier == Tier::kKnowledge || item.tier == Tier::kEpisode;
  if (!context || item.text.empty()) return {};
  const Result<PromptPart> part = read_prompt_part(from.store, from.key, branch, item.text);
  return part ? one_line(part->source) : std::string();
}

void draw_items(const Output& out, const Receipt& receipt, const Receipts& from) {
  std::vector<std::vector<std::string>> rows;
  for (const ReceiptItem& item : receipt.items) {
    std::string score;
    if (item.score > 0) score = percent(item.score);
    rows.push_back({std::string(name_of(item.tier)), what_of(item), number_text(number(item.tokens)),
                    std::string(name_of(item.fate)), std::string(name_of(item.reason)), score,
                    source_of(item, from, receipt.branch)});
  }
  out.table({"part", "what", "tokens", "fate", "why", "score", "from"}, rows);
}

void draw(const Output& out, const Receipt& receipt, const Receipts& from) {
  out.line(out.styled(Style::kBold, "Turn " + receipt.turn.text() + ", model call " +
                                        std::to_string(receipt.iteration + 1)) +
           " · " + one_line(receipt.model) + " · " + iso_time(receipt.made_at));
  out.line(number_text(number(receipt.total)) + " of " + number_text(number(receipt.budget)) + " tokens, " +
           number_text(number(receipt.output_reserve)) + " kept free for the answer · " +
           (receipt.exact ? "counted by " : "estimated by ") + one_line(receipt.tokenizer));
  out.line(percent(receipt.shared_prefix) + " begins as the call before · prompt " +
           receipt.prompt_hash.substr(0, 12));
  out.line("");
  for (const Tier tier : {Tier::kSystem, Tier::kProcedure, Tier::kKnowledge, Tier::kEpisode, Tier::kHistory,
                          Tier::kCurrent, Tier::kTools}) {
    draw_bar(out, receipt, tier);
  }
  out.line("");
  draw_items(out, receipt, from);
}

void show_prompt(const Output& out, const ModelRequest& request) {
  for (const Message& message : request.view) {
    std::string head(name_of(message.role()));
    if (message.role() == Role::kContext) head += " · " + one_line(message.source());
    out.line(out.styled(Style::kDim, head));
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (!part.name.empty()) out.print(one_line(part.name) + " ");
      out.line(printable_lines(part.text));
    }
  }
}

// By its id alone, in whichever session of the owner it is.
Result<SessionKey> session_of(Store& store, const SessionKey& owner, const TurnId& turn) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = owner.tenant,
                                                              .owner = owner.owner,
                                                              .kind = RecordKind::kReceipt,
                                                              .scope = turn.text(),
                                                              .limit = 1}));
  if (page.records.empty()) {
    return Error(ErrorCode::kNoTurn, "there are no receipts of a turn " + turn.text());
  }
  return SessionKey{owner.tenant, owner.owner, page.records.front().session};
}

Result<Receipts> receipts_of(Store& store, const SessionKey& key, const ExplainOptions& options) {
  Receipts found{.store = store, .key = key, .all = {}};
  std::string turn = options.turn;
  if (turn.empty() && TurnId::parse(options.session)) {
    const Result<SessionState> named = load(store, key);
    if (!named && named.error().code() == ErrorCode::kNoSession) turn = options.session;
  }
  if (turn.empty()) {
    TERTULIA_TRY_AS(const SessionState state, load_session(store, key));
    TERTULIA_TRY_AS(const BranchHead* branch, choose_branch(state, options.branch));
    TERTULIA_TRY_AS(found.all, read_last_receipts(store, key, branch->id));
    return found;
  }
  TERTULIA_TRY_AS(const TurnId id, TurnId::parse(turn));
  if (options.turn.empty()) {
    TERTULIA_TRY_AS(found.key, session_of(store, key, id));
  } else {
    TERTULIA_TRY(load_session(store, key));
  }
  TERTULIA_TRY_AS(found.all, read_receipts(store, found.key, id));
  return found;
}

Result<void> explain(const ExplainOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const Receipts receipts, receipts_of(*open, key, options));
  for (const Receipt& receipt : receipts.all) {
    if (context.out.json) {
      context.out.line(to_json(receipt));
      continue;
    }
    draw(context.out, receipt, receipts);
    if (options.prompt) {
      TERTULIA_TRY_AS(const ModelRequest request, rebuild_prompt(*open, receipts.key, receipt));
      context.out.line("");
      show_prompt(context.out, request);
    }
    context.out.line("");
  }
  return {};
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Show what a model was shown in a turn, and why");
  command->add_option("session", options->session, "The session, or a turn by its id alone")->required();
  command->add_option("turn", options->turn, "The turn; the last one if none is given");
  command->add_option("--branch", options->branch, "The branch whose last turn is meant");
  command->add_flag("--prompt", options->prompt, "The prompt itself, too, made again from the receipt");
  command->callback([options, &context] { context.run([&] { return explain(*options, context); }); });
}

}  // namespace tertulia::cli
