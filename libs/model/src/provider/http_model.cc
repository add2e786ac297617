#include "provider/http_model.h"

#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/sse_reader.h"
#include "tertulia/model/model_catalog.h"

#include "provider/http_errors.h"

namespace tertulia {
namespace {

// The framing of a stream may be many times its content: a token a chunk.
constexpr std::size_t kStreamBytes = std::size_t{1} << 30;

// One answer under way. Lives in the handlers of its exchange, on the client's thread; the request itself is
// not kept, so that a slow answer costs little.
class Reception {
 public:
  Reception(std::unique_ptr<StreamParser> parser, CancelToken cancel, Done<ModelResponse> done)
      : parser_(std::move(parser)), cancel_(std::move(cancel)), done_(std::move(done)) {}

  Result<void> take_head(const HttpHead& head) {
    head_ = head;
    if (head.status != 200) return {};
    const std::string_view type = head.header("content-type");
    if (type.find("event-stream") == std::string_view::npos)
      return bad_stream("the provider answered with '" + printable(type, 60) +
                        "' instead of a stream of events");
    return {};
  }

  Result<void> take_body(std::string_view bytes) {
    if (head_.status != 200) {
      error_body_ += bytes.substr(0, kErrorBytes - std::min(kErrorBytes, error_body_.size()));
      return {};
    }
    return reader_.feed(bytes, [this](const SseEvent& event) -> Result<void> {
      // A listener may have cancelled while it was told the last delta.
      TERTULIA_TRY(cancel_.check());
      return parser_->take(event.type, event.data);
    });
  }

  bool is_enough() const { return head_.status == 200 && parser_->complete(); }

  void end(const HttpEnd& end) {
    const bool began = head_.status == 200;
    if (end.how != HttpEnd::How::kComplete) {
      // A refusal that was cut is a refusal still.
      if (head_.status != 0 && !began && end.how == HttpEnd::How::kCut)
        return done_(error_of_status(head_, error_body_, real_env().clock().now()));
      return done_(error_of_end(end, began, cancel_));
    }
    if (!began) return done_(error_of_status(head_, error_body_, real_env().clock().now()));
    if (!parser_->complete()) {
      if (Result<void> whole = reader_.finish(); !whole) return done_(whole.error());
    }
    done_(parser_->finish());
  }

 private:
  std::unique_ptr<StreamParser> parser_;
  CancelToken cancel_;
  Done<ModelResponse> done_;
  SseReader reader_;
  HttpHead head_;
  std::string error_body_;
};

class HttpModel final : public LanguageModel {
 public:
  HttpModel(std::unique_ptr<Protocol> protocol, ProviderOptions options)
      : protocol_(std::move(protocol)),
        options_(std::move(options)),
        client_(HttpClient::shared({.proxy = options_.proxy, .ca_file = options_.ca_file})) {}

  ModelInfo info(std::string_view model) const override {
    ModelInfo info = known_model(model);
    info.images = options_.images.value_or(info.images);
    info.files = options_.files.value_or(info.files);
    protocol_->complete_info(info);
    return info;
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    if (const Result<void> alive = call.cancel.check(); !alive) return done(alive.error());
    Result<std::string> body = protocol_->body(call.request);
    if (!body) return done(std::move(body).error());
    HttpRequest http{
        .method = "POST",
        .url = options_.base_url + std::string(protocol_->path()),
        .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
        .body = *std::move(body),
        // It may be billed, and asking again is with_retries', which tells it.
        .once = true,
        .deadline = call.deadline,
        .connect_timeout = options_.connect_timeout,
        .idle_timeout = call.idle_timeout > Duration::zero() ? call.idle_timeout : options_.idle_timeout,
        .body_limit = kStreamBytes};
    for (const auto& [name, value] : options_.headers) http.headers.push_back({name, value});
    protocol_->add_headers(call.request, http);
    auto reception = std::make_shared<Reception>(
        protocol_->new_stream(call.request, std::move(call.on_delta)), call.cancel, std::move(done));
    client_->send(std::move(http),
                  {.on_head = [reception](const HttpHead& head) { return reception->take_head(head); },
                   .on_body = [reception](std::string_view bytes) { return reception->take_body(bytes); },
                   .is_enough = [reception] { return reception->is_enough(); },
                   .on_end = [reception](const HttpEnd& end) { reception->end(end); }},
                  call.cancel);
  }

 private:
  const std::unique_ptr<Protocol> protocol_;
  const ProviderOptions options_;
  const std::shared_ptr<HttpClient> client_;
};

}  // namespace

std::shared_ptr<LanguageModel> http_model(std::unique_ptr<Protocol> protocol, ProviderOptions options) {
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  return std::make_shared<HttpModel>(std::move(protocol), std::move(options));
}

}  // namespace tertulia
