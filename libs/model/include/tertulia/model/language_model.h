// A LanguageModel: given a View, it speaks.
//
// What it is given is a View, so it cannot be given a tool call without its result. What it gives back is
// only complete answers: a stream that breaks, repeats itself or never ends is an error, and what was said
// until then has been told by deltas.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/done.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/view.h"
#include "tertulia/model/tool_definition.h"
#include "tertulia/text/tokenizer.h"

namespace tertulia {

enum class ToolChoice : std::uint8_t {
  kAuto,
  kNone,      // the definitions are shown, but it must answer
  kRequired,  // it must call one
};

// How to speak. What is not given is the provider's default. A provider that cannot honour an option says
// kUnsupportedParameter {param} before anything is sent; it never drops one in silence.
struct ModelOptions {
  std::optional<double> temperature{};  // 0 to 2
  std::optional<double> top_p{};        // 0 to 1
  std::optional<std::uint32_t> max_output_tokens{};
  std::vector<std::string> stop{};
  std::optional<std::uint64_t> seed{};
  // "low", "medium", "high", or what else the model knows; empty: its default.
  std::string reasoning_effort{};
  ToolChoice tool_choice = ToolChoice::kAuto;
  bool parallel_tool_calls = true;
  // The answer must be JSON of this schema. Empty: free text.
  JsonText answer_schema{};
  std::string answer_schema_name{};
  // Members that are put into the provider's request as they are.
  JsonText extra{};

  bool operator==(const ModelOptions&) const = default;
};

// The bytes of the assets that the messages of a view refer to, by asset id. Without bytes: it is left out,
// and the model reads so in its place.
using Assets = std::map<std::string, std::string, std::less<>>;

struct ModelRequest {
  // The provider's own name for the model: "gpt-4o".
  std::string model;
  View view;
  std::vector<ToolDefinition> tools;
  ModelOptions options;
  // Null: none are needed.
  std::shared_ptr<const Assets> assets;
  // Addresses in the view that no provider may be sent to; what is there is named in its place. Null: none.
  std::shared_ptr<const std::set<std::string, std::less<>>> refused_addresses;
  // The thread that the provider keeps (a previous response, a conversation); `view` then holds only what it
  // has not been given. Empty: the view is everything. kUnsupportedParameter from models that keep none.
  std::string service_thread;
  // Sent where the provider takes one, so that a retried request is not billed or answered twice.
  std::string idempotency_key;
};

struct ModelDelta {
  enum class Kind : std::uint8_t {
    kText,           // text
    kReasoning,      // text
    kToolCall,       // index, call_id, name: a call begins
    kToolArguments,  // index, text: what was added
    kRetry,          // index: which attempt begins, from 1; text: why. What was told before is void
  };
  Kind kind = Kind::kText;
  // Which tool call of the response, from 0.
  std::uint32_t index = 0;
  std::string_view text{};
  std::string_view call_id{};
  std::string_view name{};
};
// Called in order, never two at a time, never after the completion. The views live until it returns. It must
// not block.
using OnDelta = std::function<void(const ModelDelta&)>;

struct Usage {
  std::uint64_t input_tokens = 0;
  // Of the input, what the provider had cached.
  std::uint64_t cached_tokens = 0;
  std::uint64_t output_tokens = 0;
  // Of the output, what was reasoning.
  std::uint64_t reasoning_tokens = 0;

  bool operator==(const Usage&) const = default;
};
Usage operator+(const Usage& one, const Usage& other);

// A part of an answer: text, reasoning (call_id is its signature) or a tool call (text is the arguments as
// the model wrote them: perhaps not JSON).
struct AnswerPart {
  PartKind kind = PartKind::kText;
  std::string text{};
  std::string name{};
  std::string call_id{};
  // What else the provider must be given back with it, as an object.
  JsonText extra{};

  bool operator==(const AnswerPart&) const = default;
};

enum class Finish : std::uint8_t {
  kStop,
  kToolCalls,
  kLength,   // max_output_tokens, or the end of the context
  kRefusal,  // the provider would not say it; the text may explain
};
std::string_view name_of(Finish finish);

struct ModelResponse {
  std::vector<AnswerPart> parts;
  Finish finish = Finish::kStop;
  Usage usage;
  // As the provider reports it; the request's if it does not.
  std::string model;
  // The provider's id of the response; may be empty.
  std::string id;
  // Where the provider keeps the conversation now; empty if it does not.
  std::string service_thread;

  bool operator==(const ModelResponse&) const = default;
};

// What is known of a model.
struct ModelInfo {
  // The provider's own name for it.
  std::string name;
  // What one request may hold, answer included. 0: not known.
  std::uint64_t context_tokens = 0;
  std::uint64_t max_output_tokens = 0;
  // Never null; may be an estimate, which says so.
  std::shared_ptr<const Tokenizer> tokenizer;
  bool tools = true;
  // What it does not take is told to it as text in its place.
  bool images = false;
  bool files = false;
  // It can keep the conversation itself (ModelRequest::service_thread).
  bool service_threads = false;
};

struct ModelCall {
  ModelRequest request;
  OnDelta on_delta;
  // Cancelling closes the connection.
  CancelToken cancel;
  Deadline deadline;
  // The longest silence while it speaks, and before it begins. Zero: as long as the deadline allows.
  Duration idle_timeout{};
};

// Completion
//   `done` is called exactly once, from any thread, perhaps before the call returns; it must not block.
// Errors
//   kModelNotFound, kModelKey (the provider refused our key), kModelRefused (it found fault with the request:
//   the sentence says what), kContextOverflow {limit}, kRateLimited {retry_after}, kModelUnavailable (nothing
//   could be had after retrying), kBadStream (what came is not an answer), kUnsupportedParameter {param},
//   kCancelled, kDeadlineExceeded.
// Concurrency
//   Any thread, any number of calls at a time. A model outlives its calls.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // What is known of the model of this name. Names that are not known get an estimate of their limits.
  virtual ModelInfo info(std::string_view model) const = 0;
  virtual void respond(ModelCall call, Done<ModelResponse> done) = 0;
};

// Waits for the answer.
Result<ModelResponse> respond(LanguageModel& model, ModelCall call);

}  // namespace tertulia
