// What a Connection writes: heads, answers, and those that are collected to be written as one.
#include <string>
#include <utility>

#include "http/connection.h"

namespace tertulia::server {
namespace {

// A reader that takes less than this, in bytes per second, is cut.
constexpr std::uint64_t kLeastReadRate = 8U << 10U;
// What an idle connection may keep for its next answers.
constexpr std::size_t kUsualOutBytes = 2U << 10U;

}  // namespace

void Connection::append_head(std::string& out, const Exchange& exchange, const Reply& reply,
                             std::optional<std::uint64_t> length, bool keep) {
  out.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
  out.append(reason_of(reply.status)).append("\r\n");
  out.append(loop_->date_line());
  if (!reply.content_type.empty()) out.append("Content-Type: ").append(reply.content_type).append("\r\n");
  if (length) out.append("Content-Length: ").append(std::to_string(*length)).append("\r\n");
  exchange.add_headers(out);
  bool says_how_long = false;
  for (const auto& [name, value] : reply.headers) {
    out.append(name).append(": ").append(value).append("\r\n");
    says_how_long = says_how_long || name == "Cache-Control";
  }
  // Answers are somebody's own: nobody on the way keeps them, unless they say otherwise.
  if (!says_how_long) out.append("Cache-Control: no-store\r\n");
  if (!keep) out.append("Connection: close\r\n");
}

std::string_view Connection::begin_answer(std::string& out, const Exchange& exchange, Reply& reply,
                                          bool keep) {
  if (reply.problem) reply.body = exchange.body_of(*reply.problem);
  const std::string_view body = reply.fixed.empty() ? std::string_view(reply.body) : reply.fixed;
  const bool bodiless = reply.status == 204 || reply.status == 304;
  if (bodiless) reply.content_type = {};
  append_head(out, exchange, reply, bodiless ? std::nullopt : std::optional(body.size()), keep);
  out.append("\r\n");
  const bool head_only = bodiless || reader_->request().method == Method::kHead;
  return head_only ? std::string_view() : body;
}

Task<bool> Connection::send(Exchange& exchange, Reply reply, bool keep) {
  std::string head;
  head.reserve(512);
  const std::string_view body = begin_answer(head, exchange, reply, keep);
  co_return co_await write(head, body);
}

bool Connection::collect(const std::shared_ptr<Exchange>& exchange, Reply& reply, bool keep) {
  if (reply.stream || reply.body.size() + reply.fixed.size() > kMostCollectedBytes) return false;
  const std::size_t before = out_.size();
  if (before == 0) out_.reserve(512);
  out_.append(begin_answer(out_, *exchange, reply, keep));
  collected_.push_back({exchange, reply.status, out_.size() - before});
  return true;
}

bool Connection::flush_now() {
  if (out_.empty()) return true;
  if (lost_) return false;
  written_ += transport_->write_now(std::string_view(out_).substr(written_));
  if (written_ < out_.size()) return false;
  end_collected(true);
  return true;
}

Task<bool> Connection::flush() {
  if (flush_now()) co_return true;
  const bool written = co_await write_through(std::string_view(out_).substr(written_), {});
  end_collected(written);
  co_return written;
}

void Connection::end_collected(bool written) {
  for (const Collected& one : collected_) one.exchange->ended(one.status, written ? one.bytes : 0);
  collected_.clear();
  out_.clear();
  written_ = 0;
  if (out_.capacity() <= kUsualOutBytes) return;
  out_ = std::string();
  collected_ = std::vector<Collected>();
}

Task<bool> Connection::write(std::string_view first, std::string_view second) {
  if (!flush_now() && !co_await flush()) co_return false;
  const bool written = co_await write_through(first, second);
  if (written) sent_ += first.size() + second.size();
  co_return written;
}

Task<bool> Connection::write_through(std::string_view first, std::string_view second) {
  if (lost_) co_return false;
  const std::uint64_t bytes = first.size() + second.size();
  deadline_ = Loop::now() + times_.write + std::chrono::seconds(bytes / kLeastReadRate);
  const bool written = co_await transport_->write(first, second);
  last_write_ = Loop::now();
  deadline_ = Moment::max();
  lost_ = !written;
  co_return written;
}

}  // namespace tertulia::server
