// /v1/embeddings: texts as vectors, by an embedder of this process.
#include <array>
#include <bit>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/json.h"
#include "tertulia/model/embedder.h"
#include "tertulia/text/tokenizer.h"

#include "core/call.h"
#include "host/local_embedder.h"
#include "openai/fields.h"
#include "openai/routes.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kMostInputs = 2'048;
constexpr std::size_t kMostTokens = 300'000;
// What clients that send tokens have made them with.
constexpr std::string_view kTokens = "cl100k_base";

struct Inputs {
  std::vector<std::string> texts;
  std::size_t tokens = 0;
};

Error wrong_input(std::string sentence) {
  return Error(ErrorCode::kWrongType, std::move(sentence)).with("param", "input");
}

// The embedder that a model's name stands for: `default` is that of the configuration.
Result<std::shared_ptr<Embedder>> find_embedder(const Services& services, const std::string& model) {
  const std::shared_ptr<Embedder>& usual = services.desks.embedder;
  if (model == "default" || model == usual->info().name) return usual;
  if (model == "static" || model == static_embedder()->info().name) return static_embedder();
  if (model == "minilm") {
    static const Result<std::shared_ptr<Embedder>> kMiniLm = local_embedder();
    if (kMiniLm) return kMiniLm;
  }
  return Error(ErrorCode::kModelNotFound,
               "there is no embedder '" + model.substr(0, 128) + "'; ask for default, static or minilm")
      .with("param", "model");
}

Result<std::string> text_of_tokens(const JsonArray& tokens, const Tokenizer& tokenizer) {
  std::vector<std::uint32_t> ids;
  for (const Json& token : tokens) {
    const std::int64_t* id = token.as_int();
    if (id == nullptr || *id < 0 || *id > UINT32_MAX)
      return wrong_input("'input' mixes tokens with something else");
    ids.push_back(static_cast<std::uint32_t>(*id));
  }
  Result<std::string> text = tokenizer.decode(ids);
  if (!text)
    return Error(ErrorCode::kOutOfRange, "'input' has a token that is none of cl100k_base")
        .with("param", "input");
  return text;
}

// One text, several, one array of tokens, or several.
Result<Inputs> read_inputs(const Json& input) {
  TERTULIA_TRY_AS(const std::shared_ptr<const Tokenizer> tokenizer, tokenizer_named(kTokens));
  Inputs inputs;
  const auto add = [&](std::string text) -> Result<void> {
    if (text.empty())
      return Error(ErrorCode::kEmptyMessage, "'input' has an empty text").with("param", "input");
    inputs.tokens += tokenizer->count(text);
    inputs.texts.push_back(std::move(text));
    if (inputs.tokens <= kMostTokens) return {};
    return Error(ErrorCode::kTooLarge, "'input' has more than 300,000 tokens; send it in parts")
        .with("param", "input")
        .with("limit", static_cast<std::int64_t>(kMostTokens));
  };
  if (const std::string* text = input.as_string()) {
    TERTULIA_TRY(add(*text));
    return inputs;
  }
  const JsonArray* list = input.as_array();
  if (list == nullptr) return wrong_input("'input' is a text, a list of texts, or tokens");
  if (list->empty()) return Error(ErrorCode::kEmptyMessage, "'input' is empty").with("param", "input");
  if (list->front().as_int() != nullptr) {
    TERTULIA_TRY_AS(std::string text, text_of_tokens(*list, *tokenizer));
    TERTULIA_TRY(add(std::move(text)));
    return inputs;
  }
  if (list->size() > kMostInputs) {
    return Error(ErrorCode::kTooLarge, "'input' has more than 2,048 texts; send them in parts")
        .with("param", "input")
        .with("limit", static_cast<std::int64_t>(kMostInputs));
  }
  for (const Json& one : *list) {
    if (one.as_string() != nullptr) {
      TERTULIA_TRY(add(*one.as_string()));
    } else if (one.as_array() != nullptr) {
      TERTULIA_TRY_AS(std::string text, text_of_tokens(*one.as_array(), *tokenizer));
      TERTULIA_TRY(add(std::move(text)));
    } else {
      return wrong_input("'input' is a text, a list of texts, or tokens");
    }
  }
  return inputs;
}

// The bytes of the numbers, lowest first, as base64.
std::string base64_of(const Vector& vector) {
  static_assert(std::endian::native == std::endian::little, "vectors are sent as they lie in memory");
  return to_base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

void write_vector(JsonWriter& out, const Vector& vector, bool base64) {
  if (base64) {
    out.string(base64_of(vector));
    return;
  }
  out.begin_array();
  for (const float value : vector) out.number(static_cast<double>(value));
  out.end_array();
}

Result<bool> wants_base64(const Fields& fields) {
  TERTULIA_TRY_AS(const std::string encoding, fields.text_or("encoding_format", "float"));
  if (encoding == "float" || encoding == "base64") return encoding == "base64";
  return Error(ErrorCode::kOutOfRange, "'encoding_format' is float or base64")
      .with("param", "encoding_format");
}

Result<Reply> create_embeddings(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(form, "body"));
  const Fields fields(*object);
  TERTULIA_TRY_AS(const std::string model, fields.text("model"));
  TERTULIA_TRY_AS(const std::shared_ptr<Embedder> embedder, find_embedder(call.services, model));
  const Json* input = fields.find("input");
  if (input == nullptr) return fields.missing("input");
  TERTULIA_TRY_AS(const bool base64, wants_base64(fields));
  TERTULIA_TRY_AS(const std::optional<std::int64_t> dimensions, fields.integer("dimensions", 1, 1'000'000));
  const std::size_t own = embedder->info().dimensions;
  if (dimensions && static_cast<std::size_t>(*dimensions) != own) {
    return fields.unsupported("dimensions", "the vectors of '" + model + "' have " + std::to_string(own) +
                                                " dimensions, and cannot have others");
  }
  TERTULIA_TRY_AS(Inputs inputs, read_inputs(*input));
  TERTULIA_TRY_AS(const std::vector<Vector> vectors, embed(*embedder, std::move(inputs.texts)));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("object").string("list").key("data").begin_array();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    out.begin_object().key("object").string("embedding").key("index").number(std::uint64_t{i});
    out.key("embedding");
    write_vector(out, vectors[i], base64);
    out.end_object();
  }
  out.end_array().key("model").string(model).key("usage").begin_object();
  out.key("prompt_tokens").number(std::uint64_t{inputs.tokens});
  out.key("total_tokens").number(std::uint64_t{inputs.tokens}).end_object().end_object();
  return Reply::json(std::move(body));
}

constexpr std::array kEmbeddingsRoutes{
    on_pool(Method::kPost, "/v1/embeddings", Access::kRead, &create_embeddings, BodyKind::kJson),
};

}  // namespace

std::span<const Route> embedding_routes() { return kEmbeddingsRoutes; }

}  // namespace tertulia::server
