#include "tertulia/memory/overlay.h"

#include <utility>

#include "tertulia/base/json.h"

namespace tertulia {
namespace {

constexpr std::int64_t kMostMessages = std::int64_t{1} << 53;

Result<PinnedMessage> read_pin(const Json& form) {
  JsonReader reader(form, "pinned message");
  const std::string id = reader.required_string("id");
  PinnedMessage pin;
  pin.index = static_cast<std::uint64_t>(reader.required_int("index", 0, kMostMessages));
  TERTULIA_TRY(reader.finish());
  TERTULIA_TRY_AS(pin.id, MessageId::parse(id));
  return pin;
}

Result<StoredSummary> read_summary(const Json& form) {
  JsonReader reader(form, "summary");
  StoredSummary summary;
  summary.covers = static_cast<std::uint64_t>(reader.required_int("covers", 1, kMostMessages));
  const std::string first = reader.required_string("first");
  const std::string last = reader.required_string("last");
  summary.text = reader.required_string("text");
  summary.model = reader.string_or("model", {});
  summary.made_at = Time(std::chrono::microseconds(reader.required_int("made_at_us", 0, INT64_MAX)));
  TERTULIA_TRY(reader.finish());
  TERTULIA_TRY_AS(summary.first, MessageId::parse(first));
  TERTULIA_TRY_AS(summary.last, MessageId::parse(last));
  return summary;
}

Result<HistoryOverlay> read_overlay(const JsonText& text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text.text()));
  JsonReader reader(form, "memory of a branch");
  HistoryOverlay overlay;
  for (const Json& one : reader.array_or_empty("pins")) {
    TERTULIA_TRY_AS(PinnedMessage pin, read_pin(one));
    overlay.pins.push_back(pin);
  }
  if (const Json* summary = reader.optional("summary")) {
    TERTULIA_TRY_AS(overlay.summary, read_summary(*summary));
  }
  overlay.hidden_before = static_cast<std::uint64_t>(reader.int_or("hidden_before", 0, 0, kMostMessages));
  TERTULIA_TRY(reader.finish());
  return overlay;
}

}  // namespace

std::vector<std::uint64_t> HistoryOverlay::pins_in(const Transcript& transcript) const {
  std::vector<std::uint64_t> places;
  for (const PinnedMessage& pin : pins) {
    if (pin.index < transcript.size() && transcript[static_cast<std::size_t>(pin.index)].id() == pin.id) {
      places.push_back(pin.index);
    }
  }
  return places;
}

std::optional<HistorySummary> HistoryOverlay::summary_of(const Transcript& transcript) const {
  if (!summary || summary->covers > transcript.size()) return std::nullopt;
  if (transcript[static_cast<std::size_t>(summary->covers) - 1].id() != summary->last) return std::nullopt;
  return HistorySummary{.covers = summary->covers, .text = summary->text};
}

Result<HistoryOverlay> overlay_in(const MiddlewareState& state) {
  const auto found = state.find(std::string(kOverlayState));
  if (found == state.end()) return HistoryOverlay{};
  Result<HistoryOverlay> overlay = read_overlay(found->second);
  if (overlay) return overlay;
  return Error(ErrorCode::kDamaged,
               "what a branch keeps of its memory cannot be read: " + std::string(overlay.error().message()));
}

void put_overlay(MiddlewareState& state, const HistoryOverlay& overlay) {
  if (overlay.empty()) {
    state.erase(std::string(kOverlayState));
    return;
  }
  JsonObject form;
  JsonArray pins;
  for (const PinnedMessage& pin : overlay.pins) {
    pins.push_back(JsonObject{{"id", pin.id.text()}, {"index", static_cast<std::int64_t>(pin.index)}});
  }
  if (!pins.empty()) form.set("pins", std::move(pins));
  if (const auto& summary = overlay.summary) {
    form.set("summary", JsonObject{{"covers", static_cast<std::int64_t>(summary->covers)},
                                   {"first", summary->first.text()},
                                   {"last", summary->last.text()},
                                   {"text", summary->text},
                                   {"model", summary->model},
                                   {"made_at_us",
                                    static_cast<std::int64_t>(summary->made_at.time_since_epoch().count())}});
  }
  if (overlay.hidden_before > 0) {
    form.set("hidden_before", static_cast<std::int64_t>(overlay.hidden_before));
  }
  state[std::string(kOverlayState)] = JsonText::of(form);
}

}  // namespace tertulia
