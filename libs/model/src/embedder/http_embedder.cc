#include <cmath>
#include <optional>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/http_client.h"
#include "tertulia/base/json.h"
#include "tertulia/model/answer_builder.h"
#include "tertulia/model/embedder.h"

#include "provider/http_errors.h"

namespace tertulia {
namespace {

std::optional<float> number_in(const Json& value) {
  if (const auto* real = std::get_if<double>(&value.variant())) return static_cast<float>(*real);
  if (const auto* whole = value.as_int()) return static_cast<float>(*whole);
  return std::nullopt;
}

// Of length 1, as not every provider gives them; none if it is not a list of finite numbers.
std::optional<Vector> vector_in(const Json* list) {
  if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
  Vector vector;
  float square = 0;
  for (const Json& value : *list->as_array()) {
    const auto number = number_in(value);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    vector.push_back(*number);
    square += *number * *number;
  }
  const float scale = square > 0 ? 1 / std::sqrt(square) : 0;
  for (float& value : vector) value *= scale;
  return vector;
}

// One vector a text, whatever the order of the answer.
Result<std::vector<Vector>> vectors_in(std::string_view body, std::size_t count, std::size_t dimensions) {
  TERTULIA_TRY_AS(Json answer, parse_json(body, {.values = 4 * count * (dimensions + 16) + 1'000}));
  const JsonObject* object = answer.as_object();
  const Json* data = object ? object->find("data") : nullptr;
  if (data == nullptr || data->as_array() == nullptr || data->as_array()->size() != count) {
    return bad_stream("the provider did not answer with " + std::to_string(count) +
                      " embeddings, one for each text");
  }
  std::vector<Vector> vectors(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonObject* item = (*data->as_array())[i].as_object();
    const Json* index = item ? item->find("index") : nullptr;
    const std::int64_t place = index && index->as_int() ? *index->as_int() : static_cast<std::int64_t>(i);
    std::optional<Vector> vector = vector_in(item ? item->find("embedding") : nullptr);
    if (!vector || place < 0 || static_cast<std::size_t>(place) >= count ||
        !vectors[static_cast<std::size_t>(place)].empty()) {
      return bad_stream("embedding " + std::to_string(i) +
                        " of the answer is not a list of numbers for one text");
    }
    if (vector->size() != dimensions) {
      return bad_stream("the provider gave vectors of " + std::to_string(vector->size()) +
                        " numbers instead of " + std::to_string(dimensions) +
                        "; set `dimensions` to what the model gives");
    }
    vectors[static_cast<std::size_t>(place)] = *std::move(vector);
  }
  return vectors;
}

// One answer under way, on the client's thread.
struct EmbeddingReception {
  std::size_t count;
  std::size_t dimensions;
  // "the embedder NAME at ADDRESS": an error is met far from where it was configured.
  std::string who;
  CancelToken cancel;
  Done<std::vector<Vector>> done;
  HttpHead head{};
  std::string body{};

  Result<void> take(std::string_view bytes) {
    if (head.status != 200) bytes = bytes.substr(0, kErrorBytes - std::min(kErrorBytes, body.size()));
    body += bytes;
    return {};
  }

  void end(const HttpEnd& end) {
    Result<std::vector<Vector>> vectors = result(end);
    if (!vectors) return done(std::move(vectors).error().in(who));
    done(std::move(vectors));
  }

 private:
  Result<std::vector<Vector>> result(const HttpEnd& end) const {
    if (end.how != HttpEnd::How::kComplete) return error_of_end(end, head.status == 200, cancel);
    if (head.status != 200) return error_of_status(head, body, real_env().clock().now());
    Result<std::vector<Vector>> vectors = vectors_in(body, count, dimensions);
    if (!vectors && vectors.error().code() != ErrorCode::kBadStream)
      return bad_stream("the answer is not JSON: " + vectors.error().message());
    return vectors;
  }
};

class HttpEmbedder final : public Embedder {
 public:
  explicit HttpEmbedder(HttpEmbedderOptions options)
      : options_(std::move(options)),
        client_(
            HttpClient::shared({.proxy = options_.provider.proxy, .ca_file = options_.provider.ca_file})) {
    info_ = {.name = options_.model + "/" + std::to_string(options_.dimensions),
             .dimensions = options_.dimensions,
             .batch = std::max<std::size_t>(options_.batch, 1),
             .unrelated = options_.unrelated,
             .fitting = options_.fitting,
             .same = options_.same};
  }

  const EmbedderInfo& info() const override { return info_; }

  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    if (auto alive = call.cancel.check(); !alive) return done(std::move(alive).error());
    if (call.texts.empty()) return done(std::vector<Vector>());
    const ProviderOptions& provider = options_.provider;
    HttpRequest http{.method = "POST",
                     .url = provider.base_url + "/embeddings",
                     .headers = {{"Content-Type", "application/json"}},
                     .body = body_of(call.texts),
                     .deadline = call.deadline,
                     .connect_timeout = provider.connect_timeout,
                     .idle_timeout = provider.idle_timeout};
    for (const auto& [name, value] : provider.headers) http.headers.push_back({name, value});
    if (provider.key) http.secret_headers.push_back({"Authorization", "Bearer ", provider.key});
    auto reception = std::make_shared<EmbeddingReception>(EmbeddingReception{
        call.texts.size(), options_.dimensions,
        "the embedder '" + options_.model + "' at " + provider.base_url, call.cancel, std::move(done)});
    client_->send(std::move(http),
                  {.on_head = [reception](const HttpHead& head) -> Result<void> {
                     reception->head = head;
                     return {};
                   },
                   .on_body = [reception](std::string_view bytes) { return reception->take(bytes); },
                   .on_end = [reception](const HttpEnd& end) { reception->end(end); }},
                  call.cancel);
  }

 private:
  std::string body_of(const std::vector<std::string>& texts) const {
    std::string body;
    JsonWriter writer(body);
    writer.begin_object().key("model").string(options_.model).key("input").begin_array();
    // Some providers refuse an empty text.
    for (const std::string& text : texts) writer.string(text.empty() ? " " : text);
    writer.end_array().key("encoding_format").string("float").end_object();
    return body;
  }

  HttpEmbedderOptions options_;
  EmbedderInfo info_;
  const std::shared_ptr<HttpClient> client_;
};

}  // namespace

std::shared_ptr<Embedder> http_embedder(HttpEmbedderOptions options) {
  std::string& url = options.provider.base_url;
  if (url.empty()) url = "https://api.openai.com/v1";
  while (url.ends_with('/')) url.pop_back();
  return std::make_shared<HttpEmbedder>(std::move(options));
}

}  // namespace tertulia
