// What must be true in a story, said or unsaid.
#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/session_store.h"

#include "world.h"

namespace tertulia {
namespace {

// Each life of a turn numbers its events from a multiple of this.
constexpr std::uint64_t kEventsPerLife = 1U << 20U;

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? std::string("\\n") : std::string(1, c);
  // As a story cannot end a line with blanks.
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::vector<std::string> lines_of(std::span<const Message> messages) {
  std::vector<std::string> lines;
  for (const Message& message : messages) lines.push_back(line_of(message));
  return lines;
}

std::vector<std::string> lines_of(const std::vector<Event>& events) {
  std::vector<std::string> lines;
  for (const Event& event : events) {
    if (event.kind == EventKind::kReceipt) continue;
    std::string line(name_of(event.kind));
    if (!event.name.empty()) line += " " + event.name;
    const bool spoken = event.kind == EventKind::kTextDelta || event.kind == EventKind::kReasoningDelta ||
                        event.kind == EventKind::kToolCallArguments ||
                        event.kind == EventKind::kToolCallResult;
    if (spoken) line += ": " + on_one_line(event.text);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string line_of(const Message& message) {
  std::vector<std::string> parts;
  std::string outcome;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    std::string text = on_one_line(part.text);
    if (part.kind == PartKind::kToolCall) text = "call " + std::string(part.name) + " " + text;
    if (part.kind == PartKind::kReasoning) text = "(reasoning) " + text;
    if (part.outcome != ToolOutcome::kOk) outcome = name_of(part.outcome);
    parts.push_back(std::move(text));
  }
  std::string line(name_of(message.role()));
  if (!outcome.empty()) line += " (" + outcome + ")";
  if (message.interrupted()) line += " (interrupted)";
  line += ":";
  for (std::size_t i = 0; i < parts.size(); ++i) line += (i == 0 ? " " : " | ") + parts[i];
  return line;
}

void World::compare(const std::vector<Line>& wanted, const std::vector<std::string>& found,
                    const std::string& what, bool contains) const {
  std::string all;
  for (const std::string& line : found) all += "\n      " + line;
  std::size_t at = 0;
  for (const Line& line : wanted) {
    while (contains && at < found.size() && !matches(line.text, found[at])) ++at;
    if (at == found.size() || !matches(line.text, found[at])) {
      throw StoryFailure(line.number, what + "\n    expected " + line.text + "\n    got      " +
                                          (at < found.size() ? found[at] : "nothing more") + "\n    in all" +
                                          all);
    }
    ++at;
  }
  if (!contains && at < found.size()) {
    fail(what + "\n    expected nothing more\n    got      " + found[at] + "\n    in all" + all);
  }
}

// The numbers of a log rise by one within a life; the next life begins further on.
void World::check_numbers(const Told& told) const {
  for (std::size_t i = 1; i < told.events.size() && !told.coalesced; ++i) {
    const std::uint64_t before = told.events[i - 1].number;
    const std::uint64_t now = told.events[i].number;
    if (now == before + 1 || (now > before && now % kEventsPerLife == 0)) continue;
    fail("after event " + std::to_string(before) + " comes " + std::to_string(now));
  }
}

// What was shown since the last beginning, joined, is the answer.
void World::check_text(const Told& told) const {
  std::string shown;
  bool whole = false;
  for (const Event& event : told.events) {
    if (event.kind == EventKind::kIteration || event.kind == EventKind::kReset ||
        event.kind == EventKind::kTurnStarted) {
      shown.clear();
      whole = true;
    }
    if (event.kind == EventKind::kTextDelta) shown += event.text;
  }
  const TurnOutcome& outcome = **told.outcome;
  if (!whole || outcome.status != TurnStatus::kCommitted || shown == outcome.text) return;
  fail("the deltas make \"" + shown + "\", and the answer is \"" + outcome.text + "\"");
}

void World::says(const std::string& text) {
  if (last_ == nullptr || !last_->outcome) fail("nobody was asked");
  if (!*last_->outcome) fail("expected \"" + text + "\", got " + last_->outcome->error().message());
  const TurnOutcome& outcome = **last_->outcome;
  if (!matches(text, outcome.text)) fail("expected \"" + text + "\", got \"" + outcome.text + "\"");
}

void World::error(Words& words, const Line& /*line*/) {
  const std::string code = words.word();
  if (!open_error_) fail("expected error " + code + ", got none");
  const Error got = *std::exchange(open_error_, std::nullopt);
  if (code != name_of(got.code())) {
    fail("expected error " + code + ", got " + std::string(name_of(got.code())) + ": " + got.message());
  }
  const std::string sentence = words.rest();
  if (!sentence.empty() && !matches(sentence, got.message())) {
    fail("expected \"" + sentence + "\", got \"" + got.message() + "\"");
  }
}

// interrupted REASON: how the last turn ended · interrupted turns N: how many wait to be resumed
void World::interrupted(Words& words, const Line& /*line*/) {
  if (words.take("turns")) {
    const std::size_t wanted = words.required_number();
    const std::size_t found = process().agent->engine()->interrupted().value().size();
    if (found != wanted) fail("expected " + std::to_string(wanted) + ", got " + std::to_string(found));
    return;
  }
  if (last_ == nullptr || !last_->outcome || !*last_->outcome) fail("the last run has no outcome");
  const TurnOutcome& outcome = **last_->outcome;
  const std::string reason = words.rest();
  if (outcome.status != TurnStatus::kInterrupted || (!reason.empty() && reason != outcome.reason)) {
    fail("expected interrupted " + reason + ", got " + std::string(name_of(outcome.status)) + " " +
         outcome.reason);
  }
}

void World::transcript(Words& words, const Line& line) {
  const Asked how = asked(words);
  const bool by_hand = how.by_hand;
  if (!words.take(": empty") && line.block.empty()) words.fail("what it holds is missing");
  Branch branch;
  if (by_hand) {
    if (!hand_) fail("nothing was loaded by hand");
    branch = hand_->branch;
  } else {
    SessionStore sessions(*home_.store(), real_env().clock());
    Result<Branch> loaded =
        sessions.load_branch(SessionId::parse(how.session).value(),
                             BranchId::parse(how.branch.empty() ? "main" : how.branch).value());
    if (!loaded) fail("it cannot be read: " + loaded.error().message());
    branch = *std::move(loaded);
  }
  std::vector<std::string> found;
  branch.transcript.for_each(0, branch.transcript.size(),
                             [&](std::size_t, const Message& message) { found.push_back(line_of(message)); });
  compare(line.block, found, "the transcript differs", false);
}

// events [(as RUN)] [contain]
void World::events(Words& words, const Line& line) {
  const Asked how = asked(words);
  Told* run = how.name.empty() ? last_ : &told(how.name);
  if (run == nullptr) fail("nothing was run");
  const bool contain = words.take("contain");
  std::vector<Event> seen = run->events;
  compare(line.block, lines_of(seen), "the events differ", contain);
}

// tool runs · tool runs in any order · tool runs: none · tool records
void World::tools(Words& words, const Line& line) {
  if (words.take("records")) {
    std::vector<std::string> found;
    const SessionKey key = local_key(SessionId::parse("s").value());
    const RecordPage page =
        read_records(
            *home_.store(),
            {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = RecordKind::kToolCall})
            .value();
    for (const StoredRecord& stored : page.records) {
      const auto record = parse_form<ToolCallRecord>(stored.record.payload).value();
      found.push_back(std::to_string(record.number) + " " + record.tool + " " +
                      std::string(name_of(record.outcome)));
    }
    compare(line.block, found, "the tool records differ", false);
    return;
  }
  if (!words.take("runs")) words.fail("'tool runs' is meant");
  const bool any_order = words.take("in any order");
  (void)words.take(": none");
  std::vector<std::string> found;
  for (const Ledger::Entry& entry : ledger_->entries()) found.push_back(entry.tool + " " + entry.arguments);
  std::vector<Line> wanted = line.block;
  if (any_order) {
    std::ranges::sort(found);
    std::ranges::sort(wanted, {}, &Line::text);
  }
  compare(wanted, found, "what the tools did differs", false);
}

// keys of TOOL: N
void World::keys(Words& words, const Line& /*line*/) {
  if (!words.take("of")) words.fail("'keys of TOOL: N' is meant");
  const std::string tool = words.word();
  std::set<std::string> keys;
  for (const Ledger::Entry& entry : ledger_->entries()) {
    if (entry.tool == tool) keys.insert(entry.key);
  }
  const std::string wanted = words.rest();
  if (std::to_string(keys.size()) != wanted)
    fail("expected " + wanted + " keys, got " + std::to_string(keys.size()));
}

// unknown outcomes: TOOL, … or none; the latest first
void World::unknown(Words& words, const Line& /*line*/) {
  if (!words.take("outcomes")) words.fail("'unknown outcomes: …' is meant");
  const SessionKey key = local_key({});
  std::string found;
  for (const ToolCallRecord& record :
       process().agent->engine()->unknown_outcomes(key.tenant, key.owner).value()) {
    found += (found.empty() ? "" : ", ") + record.tool;
  }
  if (found.empty()) found = "none";
  const std::string wanted = words.rest();
  if (wanted != found) fail("expected " + wanted + ", got " + found);
}

// request N: what the model was shown
void World::request(Words& words, const Line& line) {
  const std::size_t which = words.required_number();
  const std::vector<ModelRequest> requests = model_->requests();
  if (which == 0 || which > requests.size())
    fail("the model was asked " + std::to_string(requests.size()) + " times");
  compare(line.block, lines_of(requests[which - 1].view.to_vector()), "what the model was shown differs",
          false);
}

void World::requests(Words& words, const Line& /*line*/) {
  const std::string wanted = words.rest();
  const std::string found = std::to_string(model_->requests().size());
  if (wanted != found) fail("expected " + wanted + " requests, got " + found);
}

void World::branches(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  std::string found;
  for (const BranchId& branch : process().agent->list_branches(how.session).value()) {
    found += (found.empty() ? "" : ", ") + branch.text();
  }
  const std::string wanted = words.rest();
  if (wanted != found) fail("expected " + wanted + ", got " + found);
}

// session closed · session open · session SESSION is absent
void World::session(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  const Result<SessionState> state =
      tertulia::load(*home_.store(), local_key(SessionId::parse(how.session).value()));
  std::string found = "absent";
  if (state) found = state->session.status == SessionStatus::kClosed ? "closed" : "open";
  if (!state && state.error().code() != ErrorCode::kNoSession) found = state.error().message();
  const std::string wanted = words.rest();
  if (wanted != found) fail("expected " + wanted + ", got " + found);
}

void World::check_store() {
  const Result<VerifyReport> report = tertulia::verify(*home_.store());
  if (!report) fail("verify: " + report.error().message());
  for (const Problem& problem : report->problems) {
    fail("verify: " + problem.session + " " + problem.record + ": " + problem.sentence);
  }
}

// The end: nothing is left over, and the store is sound, also as the next process finds it.
void World::close() {
  if (open_error_) fail("expected no error, got " + open_error_->message());
  for (const auto& [name, run] : told_) {
    if (!run->waited) throw StoryFailure(run->line, "run '" + name + "' was never waited for");
  }
  for (const auto& [number, process] : processes_) {
    if (!process.store->all_came() || !process.life->all_came()) fail("the crash did not come");
  }
  if (const Result<void> script = model_->check(); !script) fail("model: " + script.error().message());
  check_store();
  for (auto& [number, process] : processes_) end_process(process);
  processes_.clear();
  home_.reopen();
  check_store();
}

}  // namespace tertulia
