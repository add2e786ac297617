// What a Connection reads: heads, bodies, and what comes behind the last answer.
#include <string>
#include <utility>

#include "http/connection.h"

namespace tertulia::server {
namespace {

using Step = RequestReader::Step;

// The least that there is room for when more of a head is read.
constexpr std::size_t kReadBytes = 1U << 10U;
constexpr std::size_t kReadBodyBytes = 64U << 10U;
// A body that comes slower than this, in bytes per second, is cut.
constexpr std::uint64_t kLeastBodyRate = 1U << 10U;

}  // namespace

Connection::Read Connection::take_head() {
  if (in_.empty()) return Read::kMore;
  if (!reader_) reader_ = std::make_unique<RequestReader>(limits_);
  const Step step = reader_->read(in_.unused(), head_bytes_);
  if (step == Step::kMore) return Read::kMore;
  used_ = head_bytes_;
  return step == Step::kProblem ? Read::kRefused : Read::kRequest;
}

Task<Connection::Read> Connection::read_head() {
  if (!flush_now() && !co_await flush()) co_return Read::kEnd;
  idle_ = in_.empty();
  expect_by(idle_ ? times_.idle : times_.head);
  Read head = Read::kMore;
  while (head == Read::kMore) {
    const bool nothing_yet = in_.empty();
    if (nothing_yet && loop_->draining()) co_return Read::kEnd;
    const std::span<char> room = in_.room(kReadBytes);
    const std::size_t came = co_await transport_->read_some(room.data(), room.size());
    if (came == 0) co_return overdue_ && !nothing_yet ? Read::kRefused : Read::kEnd;
    in_.came(came);
    head = take_head();
    if (head == Read::kMore && idle_) expect_by(times_.head);
    idle_ = false;
  }
  deadline_ = Moment::max();
  co_return head;
}

Connection::Read Connection::take_body(const Exchange& exchange) {
  reader_->want_body(exchange.body_limit());
  if (reader_->length() <= exchange.body_limit() && !hold(exchange, reader_->length())) return Read::kRefused;
  std::size_t taken = 0;
  const Step step = reader_->read(in_.unused().substr(used_), taken);
  used_ += taken;
  if (step == Step::kMore) return Read::kMore;
  return step == Step::kProblem ? Read::kRefused : Read::kRequest;
}

bool Connection::hold(const Exchange& exchange, std::uint64_t bytes) {
  // Small ones are bounded by the number of connections.
  crowded_ = bytes > kReadBodyBytes && !held_.grow_to(bytes * exchange.body_weight());
  return !crowded_;
}

Task<Connection::Read> Connection::read_body(const Exchange& exchange) {
  const bool nothing_yet = in_.unused().size() == head_bytes_;
  if (nothing_yet && !reader_->request().header("Expect").empty()) {
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return Read::kEnd;
  }
  if (!flush_now() && !co_await flush()) co_return Read::kEnd;
  // What is not taken, for example half the line before a chunk, is given to the reader again.
  std::string bytes(in_.unused().substr(used_));
  used_ = in_.unused().size();
  const Moment begun = Loop::now();
  std::uint64_t received = 0;
  Step step = Step::kMore;
  while (step == Step::kMore) {
    deadline_ = begun + times_.body + std::chrono::seconds(received / kLeastBodyRate);
    const std::size_t before = bytes.size();
    bytes.resize(before + kReadBodyBytes);
    const std::size_t came = co_await transport_->read_some(bytes.data() + before, kReadBodyBytes);
    bytes.resize(before + came);
    if (came == 0) co_return overdue_ ? Read::kRefused : Read::kEnd;
    received += came;
    std::size_t taken = 0;
    step = reader_->read(bytes, taken);
    bytes.erase(0, taken);
    // Of one that comes in chunks nobody said before how long it would be.
    if (step == Step::kMore && !hold(exchange, reader_->request().body.size())) co_return Read::kRefused;
  }
  if (step == Step::kDone) behind_body_ = std::move(bytes);
  deadline_ = Moment::max();
  co_return step == Step::kProblem ? Read::kRefused : Read::kRequest;
}

// What came early becomes the beginning of the next request.
void Connection::carry_over() {
  if (!reader_) return;
  reader_->reset();
  in_.use(used_);
  in_.trim();
  used_ = head_bytes_ = 0;
  if (behind_body_.empty()) return;
  in_.append(behind_body_);
  behind_body_ = {};
}

Task<void> Connection::linger() {
  expect_by(kLinger);
  co_await transport_->end_writing();
  std::size_t read = 0;
  in_ = ReadBuffer();
  const std::span<char> room = in_.room(kReadBytes);
  while (read < kLingerBytes) {
    const std::size_t came = co_await transport_->read_some(room.data(), room.size());
    if (came == 0) break;
    read += came;
  }
}

}  // namespace tertulia::server
