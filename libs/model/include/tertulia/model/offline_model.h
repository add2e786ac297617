// The offline model: the embedded default. It needs no key and no network, and says so.
//
// It follows fixed rules: it does sums, with the tools it is given or by itself; resolves "the result" and
// "that" to the last number answered; notes what it is told, and remembers what users said of themselves in
// the conversation; quotes the best matching sentence of the context it was given, with its source; calls the
// tool that a question is plainly about, and phrases an answer from what the tool says. What it cannot do, it
// says it cannot, and how to configure a model that can.
#pragma once

#include <memory>
#include <string>

#include "tertulia/model/language_model.h"

namespace tertulia {

struct OfflineOptions {
  // The sentence that ends an answer it had to refuse. Default: names make_model and OPENAI_API_KEY.
  std::string how_to_configure =
      "For real answers, configure a model: for example \"openai/gpt-4o\" with OPENAI_API_KEY set.";
  // What one request may hold, as info() tells. Default: 128,000.
  std::uint64_t context_tokens = 128'000;
};

// Determinism
//   The same request gives the same deltas and the same response, on every machine. No clock, no randomness.
// Streaming
//   A delta a word. Deltas and the completion come from inside respond(), on the caller's thread.
// Tools
//   A tool result is always followed by an answer, unless the user asked for further steps ("add 10 and 20,
//   then multiply by 5"), so it cannot loop. With ToolChoice::kRequired it calls a tool only in the first
//   round of a turn.
// Options
//   temperature, top_p and seed change nothing, since nothing is sampled. kUnsupportedParameter for
//   reasoning_effort, extra and service threads. An answer_schema is answered with the smallest JSON that is
//   valid against it. Counts tokens as o200k_base.
std::shared_ptr<LanguageModel> offline_model(OfflineOptions options = {});

}  // namespace tertulia
