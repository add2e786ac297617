#include "http/socket_session.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {
namespace {

std::string message_of(const SentEvent& sent) {
  std::string message;
  JsonWriter out(message);
  out.begin_object();
  if (!sent.id.empty()) out.key("id").string(sent.id);
  if (!sent.event.empty()) out.key("event").string(sent.event);
  // "[DONE]" and the like are words, not JSON.
  if (sent.data.starts_with('{')) {
    out.key("data").raw(sent.data);
  } else {
    out.key("data").string(sent.data);
  }
  out.end_object();
  return message;
}

class EventSession final : public SocketSession, public std::enable_shared_from_this<EventSession> {
 public:
  explicit EventSession(std::shared_ptr<ByteStream> events) : events_(std::move(events)) {}

  void next(std::function<void(SocketSaid)> done) override {
    {
      MutexLock lock(mutex_);
      done_ = std::move(done);
    }
    if (!give()) ask();
  }

  void take(std::string) override {}
  bool wants_more() const override { return true; }
  bool idle() const override { return false; }
  void gone() override {
    MutexLock lock(mutex_);
    done_ = nullptr;
  }

 private:
  // Says the next message that waits. False if there is none.
  bool give() {
    std::function<void(SocketSaid)> done;
    SocketSaid said;
    {
      MutexLock lock(mutex_);
      if (waiting_.empty() && !ended_) return false;
      if (!waiting_.empty()) {
        said.message = std::move(waiting_.front());
        waiting_.pop_front();
      } else {
        said.close = CloseCode::kNormal;
      }
      done = std::exchange(done_, nullptr);
    }
    if (done) done(std::move(said));
    return true;
  }

  // A stream that has something already gives it within the call.
  void ask() {
    events_->next([self = shared_from_this()](std::optional<std::string> frames) {
      std::deque<std::string> came;
      if (frames) {
        for_each_event(*frames, [&came](const SentEvent& sent) { came.push_back(message_of(sent)); });
      }
      {
        MutexLock lock(self->mutex_);
        self->waiting_ = std::move(came);
        self->ended_ = !frames;
      }
      if (!self->give()) self->ask();
    });
  }

  const std::shared_ptr<ByteStream> events_;
  Mutex mutex_;
  std::deque<std::string> waiting_ TERTULIA_GUARDED_BY(mutex_);
  std::function<void(SocketSaid)> done_ TERTULIA_GUARDED_BY(mutex_);
  bool ended_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace

void for_each_event(std::string_view frames, const std::function<void(const SentEvent&)>& told) {
  SentEvent sent;
  while (!frames.empty()) {
    const std::size_t end = std::min(frames.find('\n'), frames.size());
    std::string_view line = frames.substr(0, end);
    frames.remove_prefix(std::min(end + 1, frames.size()));
    const auto take = [&line](std::string_view name, std::string_view& to) {
      if (line.starts_with(name)) to = line.substr(name.size());
    };
    take("id: ", sent.id);
    take("event: ", sent.event);
    take("data: ", sent.data);
    if (!line.empty()) continue;
    if (!sent.data.empty()) told(sent);
    sent = {};
  }
}

std::shared_ptr<SocketSession> session_of(std::shared_ptr<ByteStream> events) {
  return std::make_shared<EventSession>(std::move(events));
}

}  // namespace tertulia::server
