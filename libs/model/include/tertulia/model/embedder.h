// An Embedder: texts as vectors, so that what means the same lies close together.
//
//   auto embedder = static_embedder();
//   std::vector<Vector> vectors = embed(*embedder, {"Where do I live?"}).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

// Of length 1 (or 0 for a text in which nothing is known), so that a dot product is a cosine.
using Vector = std::vector<float>;

struct EmbedderInfo {
  // Names the model and its version: vectors of two embedders are compared only if these are equal.
  std::string name;
  std::size_t dimensions = 0;
  // What lies beyond this many tokens of a text is not read. 0: everything is.
  std::size_t max_tokens = 0;
  // Texts that one request to it may hold; embed() cuts longer calls.
  std::size_t batch = 0;
  // The cosine that texts have, as a rule, which have nothing to do with each other; the one from which on a
  // text is likely to answer the question; and the one that a question and its answer have at best. What
  // makes scores of different embedders mean the same: 0, 0.75 and 1.
  float unrelated = 0.0F;
  float fitting = 0.75F;
  float same = 1.0F;
};

struct EmbedCall {
  std::vector<std::string> texts;
  CancelToken cancel{};
  Deadline deadline{};
};

// Completion
//   `done` is called exactly once, from any thread, perhaps before the call returns; it must not block. It
//   gets one vector for each text, in their order, or an error and none.
// Errors
//   Those of a LanguageModel where one is asked over a network; kCancelled, kDeadlineExceeded everywhere.
// Concurrency
//   Any thread, any number of calls at a time. An embedder outlives its calls.
class Embedder {
 public:
  virtual ~Embedder() = default;

  virtual const EmbedderInfo& info() const = 0;
  virtual void embed(EmbedCall call, Done<std::vector<Vector>> done) = 0;
};

// Waits for the vectors.
Result<std::vector<Vector>> embed(Embedder& embedder, EmbedCall call);
Result<std::vector<Vector>> embed(Embedder& embedder, std::vector<std::string> texts);

// The default: a table from word pieces to vectors, distilled from all-MiniLM-L6-v2 and built into the
// library. Microseconds a text, no model, no file, no network. One object, alive until the program ends.
std::shared_ptr<Embedder> static_embedder();

struct HttpEmbedderOptions {
  // base_url defaults to https://api.openai.com/v1; requests go to its /embeddings.
  ProviderOptions provider{};
  // The provider's own name for the model: "text-embedding-3-small".
  std::string model{};
  // What the model gives; checked in every answer.
  std::size_t dimensions = 1'536;
  // Texts in one request. Default: 64.
  std::size_t batch = 64;
  // What its cosines mean (EmbedderInfo). They differ from model to model; these are rough.
  float unrelated = 0.15F;
  float fitting = 0.35F;
  float same = 0.6F;
};

// Any OpenAI-style /embeddings endpoint. kBadStream for an answer that is not the vectors that were asked
// for.
std::shared_ptr<Embedder> http_embedder(HttpEmbedderOptions options);

// Remembers the vectors of the latest `entries` texts, by the SHA-256 of the text: embedding the same again
// asks nobody.
std::shared_ptr<Embedder> cached_embedder(std::shared_ptr<Embedder> embedder, std::size_t entries = 10'000);

}  // namespace tertulia
