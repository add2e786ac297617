// A response whose reader goes away after any event and comes back: what was seen before and what is told
// then must be what a reader who stayed has seen. The bytes are the log of a turn, any log: models, tools and
// crashes in any order.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/socket_session.h"
#include "openai/response_translator.h"

namespace {

using namespace tertulia;
using namespace tertulia::server;

constexpr EventKind kKinds[] = {
    EventKind::kTurnStarted,     EventKind::kIteration,
    EventKind::kTextStarted,     EventKind::kTextDelta,
    EventKind::kTextEnded,       EventKind::kReasoningStarted,
    EventKind::kReasoningDelta,  EventKind::kReasoningEnded,
    EventKind::kToolCallStarted, EventKind::kToolCallArguments,
    EventKind::kToolCallResult,  EventKind::kReset,
    EventKind::kRetry,           EventKind::kPermissionAsked,
    EventKind::kTurnCommitted,
};

// Two bytes an event: its kind, and whether the process died before it.
std::vector<Event> log_of(std::string_view bytes) {
  std::vector<Event> log;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i + 1 < bytes.size() && log.size() < 64; i += 2) {
    const auto kind = static_cast<unsigned char>(bytes[i]);
    const auto more = static_cast<unsigned char>(bytes[i + 1]);
    // Each life begins at a multiple of 2^20.
    if ((more & 0xF0U) == 0xF0U) number = ((number >> 20U) + 1) << 20U;
    Event event{.number = number++, .kind = kKinds[kind % std::size(kKinds)], .index = more & 3U};
    event.text = std::string(more & 7U, 'x');
    event.name = (more & 8U) != 0 ? "theirs" : "ours";
    event.call_id = "call_" + std::to_string(more & 3U);
    log.push_back(std::move(event));
  }
  return log;
}

std::shared_ptr<const ResponsePlan> plan() {
  auto made = std::make_shared<ResponsePlan>();
  made->ids.turn = TurnId(Uuid({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  made->model = "default";
  made->tools.tools.push_back({.name = "theirs"});
  return made;
}

// What is told of a log beyond `after`: each event as its number and its text.
std::vector<std::string> told(const std::vector<Event>& log, std::optional<std::int64_t> after) {
  ResponseTranslator translator(
      plan(), after,
      [](const Result<TurnOutcome>&, const ResponseState&, const std::function<void(EndedResponse)>& done) {
        done({.body = "{}", .event = "response.completed"});
      });
  std::vector<std::string> events;
  const auto take = [&events](std::string_view frames) {
    for_each_event(frames, [&events](const SentEvent& sent) { events.emplace_back(sent.data); });
  };
  for (const Event& event : log) {
    std::string out;
    translator.take(event, out);
    take(out);
  }
  translator.end(Error(ErrorCode::kCancelled, "the end"), [&take](const std::string& last) { take(last); });
  return events;
}

std::int64_t number_of(std::string_view event) {
  constexpr std::string_view kKey = "\"sequence_number\":";
  const std::size_t at = event.find(kKey);
  if (at == std::string_view::npos) std::abort();
  std::int64_t number = -1;
  std::from_chars(event.data() + at + kKey.size(), event.data() + event.size(), number);
  return number;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<Event> log = log_of({reinterpret_cast<const char*>(data) + 1, size - 1});
  const std::vector<std::string> whole = told(log, std::nullopt);
  for (std::size_t i = 1; i < whole.size(); ++i) {
    if (number_of(whole[i]) <= number_of(whole[i - 1])) std::abort();
  }
  if (whole.empty()) return 0;
  const std::size_t left_at = data[0] % whole.size();
  const std::vector<std::string> rest = told(log, number_of(whole[left_at]));
  if (!std::equal(rest.begin(), rest.end(), whole.begin() + static_cast<std::ptrdiff_t>(left_at) + 1,
                  whole.end())) {
    std::abort();
  }
  return 0;
}
