#include "offline/reply.h"

#include <algorithm>

#include "tertulia/base/json.h"

#include "offline/speech.h"
#include "offline/words.h"

namespace tertulia::offline {
namespace {

constexpr std::string_view kWhoIAm =
    "I am Tertulia's offline model: fixed rules, no network, and no knowledge beyond what is said here and "
    "what I am given.";

std::vector<Fact> known_facts(const Reading& reading) {
  std::vector<Fact> facts;
  for (const Exchange& exchange : reading.history) {
    for (Fact& fact : facts_in(exchange.user)) facts.push_back(std::move(fact));
  }
  return facts;
}

std::string latest(const std::vector<Fact>& facts, std::string_view about) {
  const auto found =
      std::find_if(facts.rbegin(), facts.rend(), [&](const Fact& fact) { return fact.about == about; });
  return found == facts.rend() ? std::string() : found->sentence();
}

std::string all_facts(const std::vector<Fact>& facts, std::string_view about) {
  std::string result;
  for (const Fact& fact : facts) {
    if (!about.empty() && fact.about != about) continue;
    if (!result.empty()) result += " ";
    result += fact.sentence();
  }
  return result;
}

// What the user wants to hear of themselves; empty if they do not ask for it.
std::string about_user(const std::string& question, const std::vector<std::string>& words) {
  if (has_any(words, {"my name", "who am i"}) && !has_any(words, {"name is"})) return "name";
  if (has_any(words, {"where do i live"})) return "home";
  if (has_any(words, {"where am i from", "where do i come from"})) return "origin";
  if (has_any(words, {"how old am i"})) return "age";
  if (has_any(words, {"where do i work", "what do i do for"})) return "work";
  if (has_any(words, {"what do i like", "what do i love", "what do i enjoy"})) return "likes";
  if (has_any(words, {"to remember"}) && question.find('?') != std::string::npos) return "note";
  if (has_any(words, {"know about me", "remember about me", "remember of me"})) return "all";
  for (const std::string_view start : {"what is my ", "what's my ", "who is my ", "which is my "}) {
    const std::string low = lower(question);
    const std::size_t at = low.find(start);
    if (at == std::string::npos) continue;
    std::string_view rest = trim(std::string_view(low).substr(at + start.size()));
    while (!rest.empty() && (rest.back() == '?' || rest.back() == '.')) rest.remove_suffix(1);
    return "your " + std::string(rest);
  }
  return "";
}

// What memory has found, where nothing was said in this conversation.
std::string told_by_documents(const Reading& reading) {
  if (reading.documents.empty()) return "You have not told me anything about yourself in this conversation.";
  std::string text;
  for (const Document& document : reading.documents) {
    if (!text.empty()) text += " ";
    text += "According to " + (document.source.empty() ? "what I was given" : document.source) + ": \"" +
            shortened(document.text, 300) + "\"";
  }
  return text;
}

std::optional<std::string> answer_about_user(const Reading& reading, const std::vector<std::string>& words) {
  const std::string about = about_user(reading.question, words);
  if (about.empty()) return std::nullopt;
  const std::vector<Fact> facts = known_facts(reading);
  std::string answer;
  if (about == "all" || about == "likes" || about == "note") {
    answer = all_facts(facts, about == "all" ? "" : about);
  } else {
    answer = latest(facts, about);
  }
  if (!answer.empty()) return answer;
  // Who moved somewhere lives there, as long as nothing else was said.
  if (auto quote = quote_for(reading, about == "home" ? "live moved" : reading.question)) return quote;
  if (about == "all") return told_by_documents(reading);
  if (about == "name") return "You have not told me your name in this conversation.";
  return "You have not told me that in this conversation.";
}

std::optional<std::string> take_note(const Reading& reading) {
  const std::vector<Fact> facts = facts_in(reading.question);
  if (facts.empty()) return std::nullopt;
  std::string start = "Noted for this conversation.";
  const auto name = std::ranges::find(facts, "name", &Fact::about);
  if (name != facts.end()) start = "Nice to meet you, " + name->value + ".";
  std::string rest;
  for (const Fact& fact : facts) {
    if (fact.about == "name") continue;
    rest += " ";
    rest += fact.about == "note" ? "I will remember: " + fact.value + "." : fact.sentence();
  }
  return start + rest;
}

// What a clock gives, as a person would say it: {"time": "2026-11-16T14:33:30Z", "weekday": "Monday"}.
std::optional<std::string> told_time(std::string_view output) {
  const Result<Json> json = parse_json(output);
  const JsonObject* fields = json ? json->as_object() : nullptr;
  const Json* time = fields == nullptr ? nullptr : fields->find("time");
  const Json* weekday = fields == nullptr ? nullptr : fields->find("weekday");
  if (time == nullptr || weekday == nullptr) return std::nullopt;
  const std::string* iso = time->as_string();
  const std::string* day = weekday->as_string();
  if (iso == nullptr || day == nullptr || iso->size() != 20 || iso->back() != 'Z') return std::nullopt;
  return "It is " + iso->substr(11, 5) + " (UTC) on " + *day + ", " + iso->substr(0, 10) + ".";
}

// From the results of the tools of this turn.
std::string told_by_tools(const Reading& reading) {
  std::string text;
  for (const ToolRun& run : reading.runs) {
    if (!text.empty()) text += " ";
    const std::string output = shortened(run.output, 2000);
    switch (run.outcome) {
      case ToolOutcome::kOk:
        text += output.empty() ? "The tool " + run.tool + " has done it."
                               : told_time(output).value_or("The tool " + run.tool + " says: " + output);
        break;
      case ToolOutcome::kError:
        text += "The tool " + run.tool + " failed: " + output;
        break;
      case ToolOutcome::kDenied:
        text += "I was not allowed to use the tool " + run.tool + ", so I cannot tell.";
        break;
      case ToolOutcome::kUnknown:
        text +=
            "Whether the tool " + run.tool + " took effect is not known; please look before trying again.";
        break;
      case ToolOutcome::kInterrupted:
        text += "The tool " + run.tool + " was stopped before it ran.";
        break;
    }
  }
  return text;
}

std::string names_of(const ToolBox& tools) {
  std::string names;
  for (const KnownTool& tool : tools.tools()) names += (names.empty() ? "" : ", ") + tool.name;
  return names;
}

std::string abilities(const ToolBox& tools) {
  std::string text =
      "I do sums, remember what you tell me in this conversation, and quote the documents I am given.";
  if (!tools.empty()) text += " I have these tools: " + names_of(tools) + ".";
  return text;
}

// The first sentence of each thing said or given, since that is all it can do.
std::string extract(const Reading& reading) {
  std::string text = "I cannot write a summary, being an offline model; this is an extract.";
  const std::size_t first = reading.history.size() > 6 ? reading.history.size() - 6 : 0;
  for (std::size_t i = first; i < reading.history.size(); ++i) {
    text += " You: \"" + shortened(reading.history[i].user, 120) + "\"";
    if (!reading.history[i].answer.empty())
      text += " Answer: \"" + shortened(reading.history[i].answer, 120) + "\"";
  }
  for (const Document& document : reading.documents) {
    const std::vector<std::string> sentences = sentences_of(document.text);
    if (!sentences.empty())
      text += " " + (document.source.empty() ? "Context" : document.source) + ": \"" +
              shortened(sentences.front(), 200) + "\"";
  }
  return text;
}

bool asks_time(const std::vector<std::string>& words) {
  return has_any(words, {"what time", "the time", "what date", "the date", "today's date", "what day",
                         "current time", "current date"});
}

// In a few words, since "I said goodbye to my aunt" ends nothing.
bool says_goodbye(const std::vector<std::string>& words) {
  return has_any(words, {"end the conversation", "end this conversation", "close the conversation",
                         "that's all for today", "end the session"}) ||
         (words.size() <= 4 && has_any(words, {"goodbye", "good bye", "bye", "auf wiedersehen", "tschüss",
                                               "adiós", "hasta luego", "au revoir"}));
}

bool is_beyond_us(const std::vector<std::string>& words) {
  return has_any(words,
                 {"translate", "write a", "write me", "write some", "rewrite", "poem", "essay", "draw"});
}

std::optional<Reply> tool_intents(const ToolBox& tools, const std::vector<std::string>& words, Speech speech,
                                  bool may_call) {
  if (says_goodbye(words)) {
    auto call = may_call ? tools.for_end("The user said goodbye.") : std::nullopt;
    if (call) return Reply{.calls = {*std::move(call)}};
    return Reply{.text = "Goodbye."};
  }
  if (speech != Speech::kStatement && asks_time(words)) {
    auto call = may_call ? tools.for_time() : std::nullopt;
    if (call) return Reply{.calls = {*std::move(call)}};
    return Reply{.text = "I have no clock: I am Tertulia's offline model, and no tool here tells the time."};
  }
  return std::nullopt;
}

// What is asked of it, not of the world.
std::optional<std::string> about_itself(const Reading& reading, const ToolBox& tools,
                                        const std::vector<std::string>& words,
                                        const OfflineOptions& options) {
  if (has_any(words,
              {"who are you", "what are you", "your name", "are you real", "are you an ai", "which model"}))
    return std::string(kWhoIAm) + " " + options.how_to_configure;
  if (has_any(words, {"what can you do", "help", "how can you help"}))
    return std::string(kWhoIAm) + " " + abilities(tools);
  if (has_any(words, {"summarise", "summarize", "summary", "sum up"})) return extract(reading);
  return std::nullopt;
}

std::optional<std::string> small_talk(const Reading& reading, const ToolBox& tools,
                                      const std::vector<std::string>& words) {
  if (words.size() > 4) return std::nullopt;
  if (has_any(words, {"thanks", "thank you", "danke", "vielen dank", "gracias", "merci"}))
    return "You are welcome.";
  if (has_any(words, {"hello", "hi", "hey", "good morning", "good evening", "good day", "hallo", "guten tag",
                      "guten morgen", "guten abend", "hola", "buenos días", "buenas tardes", "bonjour",
                      "bonsoir", "salut"})) {
    const std::vector<Fact> facts = known_facts(reading);
    const auto name =
        std::find_if(facts.rbegin(), facts.rend(), [](const Fact& fact) { return fact.about == "name"; });
    const std::string whom = name == facts.rend() ? "" : ", " + name->value;
    return "Hello" + whom + ". " + std::string(kWhoIAm) + " " + abilities(tools);
  }
  return std::nullopt;
}

// What it is and can do is said once in a conversation; that it cannot answer, each time.
std::string fallback(const Reading& reading, const ToolBox& tools, const OfflineOptions& options) {
  const bool introduced = std::ranges::any_of(reading.history, [](const Exchange& exchange) {
    return exchange.answer.find(kWhoIAm) != std::string::npos;
  });
  std::string text = "You said: \"" + shortened(reading.question, 160) + "\" I cannot answer that. ";
  if (!introduced) text += std::string(kWhoIAm) + " " + abilities(tools) + " ";
  return text + options.how_to_configure;
}

// A statement is kept, and met with what the documents say of the same.
std::string take_statement(const Reading& reading) {
  const bool first = std::ranges::none_of(
      reading.history, [](const Exchange& exchange) { return is_acknowledgement(exchange.answer); });
  std::string text = acknowledge(reading.question, first);
  const auto quote = quote_documents(reading, reading.question);
  return quote ? text + " " + *quote : text;
}

// What came with the question, since a model that cannot see should say so.
std::string told_of_given(const Reading& reading) {
  std::string text = "I was given ";
  for (std::size_t i = 0; i < reading.given.size(); ++i) {
    if (i > 0) text += i + 1 == reading.given.size() ? " and " : ", ";
    text += reading.given[i];
  }
  return text + "; I see no images, and read only files that are text.";
}

Reply chosen_reply(const Reading& reading, const ToolBox& tools, const ReplyRules& rules,
                   const OfflineOptions& options) {
  if (std::optional<Reply> sums = reckon(reading, tools, rules)) return *std::move(sums);
  const std::vector<std::string> words = words_of(reading.question);
  const Speech speech = speech_of(reading.question);
  if (!reading.runs.empty()) {
    if (says_goodbye(words) && reading.runs.back().outcome == ToolOutcome::kOk) return {.text = "Goodbye."};
    return {.text = told_by_tools(reading)};
  }
  const bool may_call = rules.tool_choice != ToolChoice::kNone;
  if (auto intent = tool_intents(tools, words, speech, may_call)) return *std::move(intent);
  std::string missing;
  if (may_call) {
    const bool is_plain = about_user(reading.question, words).empty() && facts_in(reading.question).empty();
    auto call = is_plain ? tools.for_question(reading.question, missing) : std::nullopt;
    if (!call && rules.tool_choice == ToolChoice::kRequired) call = tools.any(reading.question);
    if (call) return {.calls = {*std::move(call)}};
  }
  if (auto answer = small_talk(reading, tools, words)) return {.text = *std::move(answer)};
  if (speech != Speech::kStatement) {
    if (auto answer = about_itself(reading, tools, words, options)) return {.text = *std::move(answer)};
  }
  if (auto answer = answer_about_user(reading, words)) return {.text = *std::move(answer)};
  if (auto answer = take_note(reading)) return {.text = *std::move(answer)};
  if (!missing.empty()) return {.text = missing};
  if (speech == Speech::kStatement) return {.text = take_statement(reading)};
  if (speech == Speech::kAssent) return {.text = "All right."};
  if (!is_beyond_us(words)) {
    if (auto quote = quote_for(reading, reading.question)) return {.text = *std::move(quote)};
  }
  if (words.empty()) return {.text = "There is nothing to answer yet. " + abilities(tools)};
  return {.text = fallback(reading, tools, options)};
}

}  // namespace

Reply reply_to(const Reading& reading, const ToolBox& tools, const ReplyRules& rules,
               const OfflineOptions& options) {
  Reply reply = chosen_reply(reading, tools, rules, options);
  if (reading.given.empty() || !reply.calls.empty() || !reading.runs.empty()) return reply;
  reply.text = told_of_given(reading) + (reading.question.empty() ? "" : " " + reply.text);
  return reply;
}

}  // namespace tertulia::offline
