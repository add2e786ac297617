#include "tertulia/workflow/magentic.h"

#include <algorithm>
#include <utility>

#include "tertulia/workflow/conversation_manager.h"
#include "tertulia/workflow/group_chat.h"

#include "engine_parts.h"
#include "node_call.h"
#include "orchestration.h"

namespace tertulia {
namespace {

constexpr std::string_view kLedger = "~magentic";

// What the planner knows, from superstep to superstep.
struct Ledger {
  std::string facts;
  std::string plan;
  std::int64_t rounds = 0;
  std::int64_t stalls = 0;
  std::int64_t resets = 0;
  // The messages before it belong to plans that were given up.
  std::int64_t since = 0;
};
TERTULIA_FIELDS(Ledger, facts, plan, rounds, stalls, resets, since)

struct Progress {
  bool satisfied = false;
  bool in_loop = false;
  bool progress = true;
  std::string next_speaker;
  std::string instruction;
};
TERTULIA_FIELDS(Progress, satisfied, in_loop, progress, next_speaker, instruction)

// One call of the planner.
class Planner {
 public:
  Planner(NodeCall& call, const AgentDefinitionPtr& manager, const std::vector<std::string>& team,
          const MagenticLimits& limits, bool review)
      : call_(call), manager_(manager), team_(team), limits_(limits), review_(review) {}

  Result<void> run() {
    TERTULIA_TRY(load());
    if (const InfoAnswer* answer = call_.answer()) return reviewed(*answer);
    if (ledger_.plan.empty()) {
      TERTULIA_TRY(make_plan({}));
      if (review_) return ask_review();
    }
    return go_on();
  }

 private:
  Result<void> load() {
    const std::optional<Json> stored = call_.state(kLedger);
    if (!stored) return {};
    if (auto problem = JsonType<Ledger>::read(*stored, ledger_)) {
      return Error(ErrorCode::kDamaged, "the ledger of '" + call_.node() + "': " + problem->text());
    }
    return {};
  }
  void save() { call_.set_state(std::string(kLedger), JsonType<Ledger>::write(ledger_)); }

  // The manager remembers nothing from question to question: history that is there twice misleads it.
  Result<std::string> ask(const std::string& question) {
    Run run = call_.view().parts->engine->run_on(manager_, {.text = question}, nullptr, {});
    const CancelRegistration stop = call_.cancel().on_cancel([&run](CancelReason) { run.cancel(); });
    TERTULIA_TRY_AS(const TurnOutcome outcome, run.result());
    TERTULIA_TRY(call_.cancel().check());
    return outcome.text;
  }

  std::string task() const {
    const ConversationManager& conversation = call_.conversation();
    std::string text;
    conversation.transcript().for_each(conversation.base(), conversation.base() + conversation.input(),
                                       [&](std::size_t, const Message& message) {
                                         text += (text.empty() ? "" : "\n") + message.text_content();
                                       });
    return text;
  }

  std::string conversation() const {
    const Transcript& transcript = call_.conversation().transcript();
    const std::size_t begin =
        std::max<std::size_t>(static_cast<std::size_t>(ledger_.since), call_.conversation().base());
    std::string text;
    transcript.for_each(begin, transcript.size(), [&](std::size_t, const Message& message) {
      const std::string said = message.text_content();
      if (said.empty() || message.role() == Role::kTool) return;
      text += (message.author().empty() ? std::string("user") : std::string(message.author())) + ": " + said +
              "\n";
    });
    return text;
  }

  std::string team() const {
    std::string names;
    for (const std::string& name : team_) names += (names.empty() ? "" : ", ") + name;
    return names;
  }

  Result<void> make_plan(const std::string& feedback) {
    std::string about = "The task:\n" + task() + "\n\nThe team: " + team() + "\n";
    if (!ledger_.plan.empty()) {
      about += "\nWhat was known:\n" + ledger_.facts + "\n\nThe plan until now:\n" + ledger_.plan +
               "\n\nWhat was said:\n" + conversation();
    }
    if (!feedback.empty()) about += "\nWhat is to be changed in the plan: " + feedback + "\n";
    TERTULIA_TRY_AS(ledger_.facts,
                    ask(about + "\nList the facts that are given, those that have to be looked up, "
                                "those that have to be worked out, and what you would guess."));
    TERTULIA_TRY_AS(ledger_.plan,
                    ask(about + "\nThe facts:\n" + ledger_.facts +
                        "\n\nMake a short plan, one line for each step, that says who of the team does "
                        "what. Not everybody has to take part."));
    tell("plan", JsonObject{{"facts", ledger_.facts}, {"plan", ledger_.plan}});
    return {};
  }

  Result<void> ask_review() {
    save();
    call_.request_info(JsonObject{{"kind", "plan_review"}, {"facts", ledger_.facts}, {"plan", ledger_.plan}});
    return {};
  }

  Result<void> reviewed(const InfoAnswer& answer) {
    const std::string* feedback = answer.answer.as_string();
    if (feedback == nullptr || feedback->empty()) return go_on();
    TERTULIA_TRY(make_plan(*feedback));
    return ask_review();
  }

  Result<Progress> ask_progress() {
    const std::string question = "The task:\n" + task() + "\n\nThe team: " + team() + "\n\nThe plan:\n" +
                                 ledger_.plan + "\n\nWhat was said:\n" + conversation() +
                                 "\nAnswer with one JSON object and nothing else: {\"satisfied\": is the "
                                 "task done, \"in_loop\": is the same "
                                 "said again and again, \"progress\": did the last step get on, "
                                 "\"next_speaker\": who of the team is next, "
                                 "\"instruction\": what that one is to do}.";
    Error last(ErrorCode::kBadJson, "the manager was never asked");
    for (std::uint32_t tries = 0; tries < std::max(1U, limits_.ledger_tries); ++tries) {
      TERTULIA_TRY_AS(const std::string text, ask(question));
      const std::optional<Json> object = object_in(text, {"satisfied"});
      Progress progress;
      if (!object) {
        last = Error(ErrorCode::kBadJson, "the manager gave no ledger");
      } else if (auto problem = JsonType<Progress>::read(*object, progress)) {
        last = Error(ErrorCode::kBadJson, "the manager's ledger: " + problem->text());
      } else {
        return progress;
      }
      call_.warn(last.message());
    }
    return last;
  }

  // Gives out the next step, as often making another plan first as the limits allow.
  Result<void> go_on() {
    while (true) {
      if (ledger_.rounds >= static_cast<std::int64_t>(limits_.rounds))
        return finish("The work was stopped after " + std::to_string(ledger_.rounds) + " steps.");
      const Result<Progress> progress = ask_progress();
      if (!progress && progress.error().code() != ErrorCode::kBadJson) return progress.error();
      bool stuck = !progress;
      if (progress) {
        tell("progress", JsonType<Progress>::write(*progress));
        if (progress->satisfied) return finish({});
        const bool stalled = !progress->progress || progress->in_loop;
        ledger_.stalls = stalled ? ledger_.stalls + 1 : std::max<std::int64_t>(0, ledger_.stalls - 1);
        stuck = ledger_.stalls > static_cast<std::int64_t>(limits_.stalls);
      }
      if (!stuck) return give_out(*progress);
      if (ledger_.resets >= static_cast<std::int64_t>(limits_.resets))
        return finish("The work was stopped: " + std::to_string(ledger_.resets + 1) +
                      " plans did not get on.");
      ++ledger_.resets;
      ledger_.stalls = 0;
      TERTULIA_TRY(make_plan({}));
      ledger_.since = static_cast<std::int64_t>(call_.conversation().transcript().size());
      if (review_) return ask_review();
    }
  }

  Result<void> give_out(const Progress& progress) {
    if (std::find(team_.begin(), team_.end(), progress.next_speaker) == team_.end()) return finish({});
    ++ledger_.rounds;
    save();
    if (!progress.instruction.empty())
      TERTULIA_TRY(call_.say(progress.next_speaker + ", " + progress.instruction));
    call_.send(ConversationUpdate{.from = call_.node(), .text = progress.instruction}, progress.next_speaker);
    return {};
  }

  Result<void> finish(const std::string& reason) {
    save();
    std::string text = reason;
    if (text.empty()) {
      TERTULIA_TRY_AS(text, ask("The task:\n" + task() + "\n\nWhat was said:\n" + conversation() +
                                "\nThe work is done. Write the final answer for the user."));
    }
    TERTULIA_TRY(call_.say(text));
    call_.output(text);
    return {};
  }

  void tell(const std::string& what, Json data) {
    Event event;
    event.kind = EventKind::kOrchestrator;
    event.name = call_.node();
    event.data = JsonText::of(JsonObject{{"what", what}, {"ledger", std::move(data)}});
    call_.tell(std::move(event));
  }

  NodeCall& call_;
  const AgentDefinitionPtr& manager_;
  const std::vector<std::string>& team_;
  const MagenticLimits& limits_;
  const bool review_;
  Ledger ledger_;
};

}  // namespace

MagenticBuilder& MagenticBuilder::manager(AgentDefinitionPtr agent) {
  manager_ = std::move(agent);
  return *this;
}

MagenticBuilder& MagenticBuilder::add(AgentDefinitionPtr agent, AgentNodeOptions options) {
  members_.push_back({.agent = std::move(agent), .options = std::move(options)});
  return *this;
}

MagenticBuilder& MagenticBuilder::add(const Agent& agent, AgentNodeOptions options) {
  return add(agent.definition_ptr(), std::move(options));
}

MagenticBuilder& MagenticBuilder::limits(MagenticLimits limits) {
  limits_ = limits;
  return *this;
}

MagenticBuilder& MagenticBuilder::plan_review(bool wanted) {
  review_ = wanted;
  return *this;
}

Result<Workflow> MagenticBuilder::build() const {
  std::vector<std::string> problems;
  if (!manager_) problems.emplace_back("it has no manager");
  if (members_.empty()) problems.emplace_back("it has no participants");
  if (!problems.empty()) return problems_error(name_, std::move(problems));
  std::vector<Node> nodes;
  std::vector<std::string> names;
  for (const Member& member : members_) {
    nodes.push_back(agent_node(member.agent, member.options));
    names.push_back(nodes.back().id);
  }
  Node planner = function_node(
      "planner",
      [manager = manager_, names, limits = limits_, review = review_](NodeContext& context) -> Result<void> {
        return Planner(static_cast<NodeCall&>(context), manager, names, limits, review).run();
      });
  planner.accepts = {message_type<ConversationUpdate>(), {}};
  planner.sends = {message_type<ConversationUpdate>()};
  planner.kind = review_ ? "planner, plans are reviewed" : "planner";
  WorkflowBuilder builder(name_);
  builder.add(planner).start(planner.id);
  for (Node& node : nodes) builder.edge(planner.id, node.id).edge(node.id, planner.id).add(std::move(node));
  builder.output_from({planner.id}).intermediate_from(std::move(names));
  return builder.max_supersteps(2 * limits_.rounds + limits_.resets + 100).build();
}

}  // namespace tertulia
