#include "tertulia/memory/model_extractor.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/memory/working_memory.h"

namespace tertulia {
namespace {

constexpr std::string_view kExtractTask =
    "You find lasting facts in what a user said of himself: where he lives, works, whom he knows, what he "
    "likes, "
    "owns, plans. Each fact is one short sentence in the first person, in the user's words where that can "
    "be. "
    "Take nothing that was only asked, and invent nothing. Answer with a JSON array and nothing else: "
    R"([{"fact": "I live in Lisbon", "from": [2]}], where "from" holds the numbers of the lines it comes from. )"
    "No facts: [].";
constexpr std::size_t kMostFacts = 50;
constexpr std::size_t kLongestFoundFact = 400;

Error not_understood(std::string_view why) {
  return Error(ErrorCode::kBadStream,
               "the model gave no list of facts (" + std::string(why) + "); nothing was remembered");
}

// Models like to put JSON between fences.
std::string_view array_in(std::string_view text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.rfind(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return text.substr(begin, end + 1 - begin);
}

class ModelExtractor final : public FactExtractor {
 public:
  ModelExtractor(std::shared_ptr<LanguageModel> model, std::string name, ExtractionBudget budget)
      : model_(std::move(model)), name_(std::move(name)), budget_(budget) {}

  Result<std::vector<NewFact>> extract(std::span<const Message> messages) override {
    std::vector<Message> said;
    for (const Message& message : messages) {
      if (message.role() == Role::kUser && message.origin() == Origin::kUser) said.push_back(message);
    }
    if (said.empty()) return std::vector<NewFact>();
    const std::shared_ptr<const Tokenizer> tokenizer = model_->info(name_).tokenizer;
    TERTULIA_TRY_AS(View view, view_of(said, *tokenizer));
    std::uint64_t cost = budget_.output_tokens;
    for (const Message& message : view) cost += number(count_tokens(message, *tokenizer)) + kTokensPerMessage;
    TERTULIA_TRY(set_aside(cost));
    ModelCall call{.request = {.model = name_, .view = std::move(view)},
                   .on_delta = [](const ModelDelta&) {}};
    call.request.options.max_output_tokens = budget_.output_tokens;
    call.deadline = Deadline::after(budget_.patience, real_env().clock());
    TERTULIA_TRY_AS(const ModelResponse response, respond(*model_, std::move(call)));
    std::string text;
    for (const AnswerPart& part : response.parts) {
      if (part.kind == PartKind::kText) text += part.text;
    }
    if (response.finish != Finish::kStop) return not_understood("it was cut");
    return facts_in(text, said);
  }

 private:
  // Taken before the call, so that two at a time cannot both spend the last of it.
  Result<void> set_aside(std::uint64_t cost) {
    MutexLock lock(mutex_);
    if (calls_ >= budget_.calls || spent_ + cost > number(budget_.tokens)) {
      return Error(ErrorCode::kLimitReached,
                   "finding facts may ask the model " + std::to_string(budget_.calls) + " times and cost " +
                       std::to_string(number(budget_.tokens)) + " tokens in a session; used were " +
                       std::to_string(calls_) + " and " + std::to_string(spent_) + ", needed " +
                       std::to_string(cost));
    }
    ++calls_;
    spent_ += cost;
    return {};
  }

  static Result<View> view_of(const std::vector<Message>& said, const Tokenizer& tokenizer) {
    std::string lines;
    for (std::size_t i = 0; i < said.size(); ++i) {
      lines += std::to_string(i + 1) + ": " + said[i].text_content() + "\n";
    }
    TERTULIA_TRY_AS(Message task, system_message(kExtractTask, tokenizer));
    TERTULIA_TRY_AS(
        Message asked,
        Message::make({.role = Role::kUser, .origin = Origin::kSynthetic, .parts = {Part::text_of(lines)}}));
    TERTULIA_TRY_AS(View view, View::of(Transcript(), {}));
    TERTULIA_TRY_AS(view, view.with_leading(std::vector<Message>{std::move(task)}));
    return view.with_trailing(std::vector<Message>{std::move(asked)});
  }

  static Result<std::vector<NewFact>> facts_in(std::string_view text, const std::vector<Message>& said) {
    const Result<Json> form = parse_json(array_in(text));
    if (!form || form->as_array() == nullptr) return not_understood("it is no JSON array");
    if (form->as_array()->size() > kMostFacts) return not_understood("it is too long");
    std::vector<NewFact> facts;
    for (const Json& one : *form->as_array()) {
      JsonReader reader(one, "fact");
      NewFact fact{.text = reader.required_string("fact")};
      const JsonArray from = reader.array_or_empty("from");
      if (const Result<void> whole = reader.finish(); !whole) return not_understood(whole.error().message());
      if (fact.text.empty() || fact.text.size() > kLongestFoundFact)
        return not_understood("a fact is too long");
      for (const Json& line : from) {
        const std::int64_t* place = line.as_int();
        if (place == nullptr || *place < 1 || *place > static_cast<std::int64_t>(said.size())) {
          return not_understood("it names a line that is not there");
        }
        const Message& message = said[static_cast<std::size_t>(*place) - 1];
        fact.sources.push_back(message.id());
        fact.valid_from = std::max(fact.valid_from.value_or(message.time()), message.time());
      }
      if (fact.sources.empty()) return not_understood("a fact comes from nowhere");
      facts.push_back(std::move(fact));
    }
    return facts;
  }

  const std::shared_ptr<LanguageModel> model_;
  const std::string name_;
  const ExtractionBudget budget_;
  Mutex mutex_;
  std::uint32_t calls_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::uint64_t spent_ TERTULIA_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<FactExtractor> model_extractor(std::shared_ptr<LanguageModel> model, std::string model_name,
                                               ExtractionBudget budget) {
  return std::make_unique<ModelExtractor>(std::move(model), std::move(model_name), budget);
}

Result<std::vector<Remembered>> remember_from(SemanticMemory& memory, const CollectionId& collection,
                                              FactExtractor& extractor, std::span<const Message> messages,
                                              const MemoryWriter& writer) {
  TERTULIA_TRY(check_writer(writer));
  TERTULIA_TRY_AS(std::vector<NewFact> found, extractor.extract(messages));
  std::vector<Remembered> remembered;
  for (NewFact& fact : found) {
    TERTULIA_TRY_AS(Remembered one, memory.remember(collection, std::move(fact), writer));
    remembered.push_back(std::move(one));
  }
  return remembered;
}

}  // namespace tertulia
