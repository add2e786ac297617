// The OtlpExporter: sends spans to a collector by OTLP/HTTP, in its JSON encoding.
//
// Spans wait in a queue of bounded length; beyond it they are dropped and counted, so a collector that is
// slow or away costs a turn nothing. They are sent in batches, a second after the first of them or when there
// are enough. A batch that the collector cannot take now (429, 502, 503, 504, no connection) is sent again a
// few times; others are dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"

#include "trace/span.h"

namespace tertulia::server {

struct OtlpOptions {
  // "http://127.0.0.1:4318/v1/traces".
  std::string endpoint{};
  // Sent as Authorization; null: none.
  std::shared_ptr<const Secret> authorization{};
  std::string service = "tertulia";
  std::size_t batch = 256;
  std::size_t queue = 4'096;
  std::chrono::milliseconds interval{1'000};
  // At the end, for what is still in the queue.
  std::chrono::milliseconds flush{2'000};
};

class OtlpExporter final : public SpanSink {
 public:
  // kBadConfig for an endpoint that is no address.
  static Result<std::unique_ptr<OtlpExporter>> start(OtlpOptions options, Log log);
  // Sends what waits, at most for `flush`.
  ~OtlpExporter() override;
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  void add(Span span) override;
  std::uint64_t dropped() const;

 private:
  class Impl;
  explicit OtlpExporter(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The body of one request: {"resourceSpans":[…]}.
std::string otlp_body(const std::vector<Span>& spans, const std::string& service);

}  // namespace tertulia::server
