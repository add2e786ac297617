#include "core/metrics.h"

#include <algorithm>
#include <string_view>

namespace tertulia::server {
namespace {

std::uint64_t read(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

void add_header(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out.append(" ").append(type).append("\n");
}

void add_one(std::string& out, std::string_view name, std::string_view type, std::string_view help,
             std::uint64_t value) {
  add_header(out, name, type, help);
  out.append(name).append(" ").append(std::to_string(value)).append("\n");
}

// Microseconds as seconds.
std::string seconds_of(std::uint64_t micros) {
  std::string text = std::to_string(micros % 1'000'000);
  return std::to_string(micros / 1'000'000) + "." + std::string(6 - text.size(), '0') + text;
}

}  // namespace

void Metrics::request_ended(int status, Duration took, std::uint64_t bytes) {
  const auto kind = static_cast<std::size_t>(std::clamp(status / 100, 0, 5));
  requests_[kind].fetch_add(1, std::memory_order_relaxed);
  const auto bucket = std::lower_bound(kBuckets.begin(), kBuckets.end(), took.count()) - kBuckets.begin();
  times_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  time_sum_.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
  bytes_sent_.fetch_add(bytes, std::memory_order_relaxed);
}

std::string Metrics::text(const Now& now) const {
  std::string out;
  constexpr std::string_view kRequests = "tertulia_http_requests_total";
  add_header(out, kRequests, "counter", "Requests that were answered, by the kind of status.");
  for (std::size_t kind = 1; kind < requests_.size(); ++kind) {
    out.append(kRequests).append("{status=\"").append(std::to_string(kind)).append("xx\"} ");
    out.append(std::to_string(read(requests_[kind]))).append("\n");
  }
  constexpr std::string_view kTimes = "tertulia_http_request_seconds";
  add_header(out, kTimes, "histogram", "From the head of a request to the end of its answer.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    below += read(times_[i]);
    const std::string end =
        i < kBuckets.size() ? seconds_of(static_cast<std::uint64_t>(kBuckets[i])) : "+Inf";
    out.append(kTimes).append("_bucket{le=\"").append(end).append("\"} ");
    out.append(std::to_string(below)).append("\n");
  }
  out.append(kTimes).append("_sum ").append(seconds_of(read(time_sum_))).append("\n");
  out.append(kTimes).append("_count ").append(std::to_string(below)).append("\n");
  add_one(out, "tertulia_http_abandoned_total", "counter", "Requests whose client went away.",
          read(requests_[0]));
  add_one(out, "tertulia_http_sent_bytes_total", "counter", "Bytes of answers.", read(bytes_sent_));
  add_one(out, "tertulia_http_connections", "gauge", "Open connections.", now.connections);
  add_one(out, "tertulia_http_streams", "gauge", "Open event streams.", streams());
  add_one(out, "tertulia_turns_running", "gauge", "Turns that run here.", now.running_turns);
  add_one(out, "tertulia_turns_started_total", "counter", "Turns that were asked for.", read(turns_started));
  add_one(out, "tertulia_turns_failed_total", "counter", "Turns that ended with an error.",
          read(turns_failed));
  add_one(out, "tertulia_input_tokens_total", "counter", "Tokens that models were given.",
          read(input_tokens));
  add_one(out, "tertulia_output_tokens_total", "counter", "Tokens that models gave.", read(output_tokens));
  add_one(out, "tertulia_keys_refused_total", "counter", "Requests with a bad key.", read(keys_refused));
  add_one(out, "tertulia_store_writable", "gauge", "1 while changes can be stored.", now.writable ? 1U : 0U);
  const bool full = !now.writable && now.writable.error().code() == ErrorCode::kStorageFull;
  add_one(out, "tertulia_store_full", "gauge", "1 while the disk of the store has no room.", full ? 1U : 0U);
  return out;
}

}  // namespace tertulia::server
