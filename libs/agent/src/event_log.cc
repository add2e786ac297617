#include "event_log.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/check.h"
#include "tertulia/base/json.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/with_memory.h"
#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace {

constexpr std::string_view kPieces = "pieces";

// Where the deltas of a stored event end; empty for a single one. kDamaged if they do not fit its text.
Result<std::vector<std::uint32_t>> take_pieces(Event& event) {
  std::vector<std::uint32_t> ends;
  if (event.extra.empty()) return ends;
  Json extra = event.extra.value();
  const Json* pieces = extra.as_object()->find(kPieces);
  if (pieces == nullptr) return ends;
  if (pieces->as_array() == nullptr)
    return Error(ErrorCode::kDamaged, "the pieces of an event are not a list");
  std::int64_t before = 0;
  for (const Json& piece : *pieces->as_array()) {
    const std::int64_t* end = piece.as_int();
    if (end == nullptr || *end < before || *end > static_cast<std::int64_t>(event.text.size())) {
      return Error(ErrorCode::kDamaged, "a piece of an event lies outside of its text");
    }
    before = *end;
    ends.push_back(static_cast<std::uint32_t>(before));
  }
  extra.as_object()->erase(kPieces);
  event.extra = JsonText::of_fields(*extra.as_object());
  return ends;
}

struct StoredEntry {
  Event event;
  std::vector<std::uint32_t> ends;
};

Result<std::vector<StoredEntry>> read_entries(std::string_view stored) {
  TERTULIA_TRY_AS(const Json list, parse_json(stored, kFormLimits));
  if (list.as_array() == nullptr) return Error(ErrorCode::kDamaged, "stored events are not a list");
  std::vector<StoredEntry> entries;
  for (const Json& form : *list.as_array()) {
    TERTULIA_TRY_AS(Event event, from_json<Event>(form));
    TERTULIA_TRY_AS(std::vector<std::uint32_t> ends, take_pieces(event));
    entries.push_back({std::move(event), std::move(ends)});
  }
  return entries;
}

void append_entry(std::string& out, const Event& event, const std::vector<std::uint32_t>& ends) {
  if (out.size() > 1) out += ',';
  if (ends.size() < 2) {
    append_json(out, event);
    return;
  }
  JsonArray pieces;
  for (const std::uint32_t end : ends) pieces.emplace_back(static_cast<std::int64_t>(end));
  Event whole = event;
  whole.extra = JsonText::of_fields({{std::string(kPieces), Json(std::move(pieces))}});
  append_json(out, whole);
}

}  // namespace

Result<void> EventLog::restore(const std::vector<std::string>& stored) {
  MutexLock lock(mutex_);
  for (const std::string& text : stored) {
    TERTULIA_TRY_AS(std::vector<StoredEntry> entries, read_entries(text));
    for (StoredEntry& entry : entries) {
      if (entry.event.turn != turn_ || entry.event.number < next_) {
        return Error(ErrorCode::kDamaged, "a stored event is out of order or of another turn");
      }
      entries_.push_back({std::move(entry.event), std::move(entry.ends)});
      next_ = entries_.back().last_number() + 1;
    }
  }
  saved_ = entries_.size();
  shown_ = next_;
  if (next_ > 0) next_ = (next_ / kEventsPerLife + 1) * kEventsPerLife;
  taken_from_ = saved_;
  life_ = next_;
  return {};
}

void EventLog::number(Event& event) {
  event.turn = turn_;
  event.number = next_++;
  event.time = clock_.now();
}

void EventLog::add_hidden(Event event) {
  MutexLock lock(mutex_);
  number(event);
  entries_.push_back({std::move(event), {}});
}

void EventLog::add(Event event) {
  add_hidden(std::move(event));
  show();
}

void EventLog::add_delta(EventKind kind, std::uint64_t index, std::string_view call_id,
                         std::string_view text) {
  {
    MutexLock lock(mutex_);
    Entry* last = entries_.empty() || saved_ == entries_.size() ? nullptr : &entries_.back();
    const bool joins = last != nullptr && last->event.kind == kind && last->event.index == index &&
                       last->event.call_id == call_id && last->last_number() + 1 == next_;
    if (joins) {
      last->event.text += text;
      last->ends.push_back(static_cast<std::uint32_t>(last->event.text.size()));
      ++next_;
    } else {
      Event event;
      event.kind = kind;
      event.index = index;
      event.call_id = call_id;
      event.text = text;
      number(event);
      entries_.push_back({std::move(event), {static_cast<std::uint32_t>(text.size())}});
    }
    shown_ = next_;
    if (waiters_.empty()) return;
  }
  answer_waiters();
}

void EventLog::show() {
  {
    MutexLock lock(mutex_);
    shown_ = next_;
    if (waiters_.empty()) return;
  }
  answer_waiters();
}

void EventLog::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  answer_waiters();
}

std::string EventLog::take_unsaved() {
  MutexLock lock(mutex_);
  taken_from_ = saved_;
  if (saved_ == entries_.size()) return {};
  std::string out = "[";
  for (; saved_ < entries_.size(); ++saved_) append_entry(out, entries_[saved_].event, entries_[saved_].ends);
  out += ']';
  return out;
}

void EventLog::take_back() {
  MutexLock lock(mutex_);
  while (!entries_.empty() && entries_.back().event.number >= shown_) entries_.pop_back();
  next_ = std::max(shown_, life_);
  saved_ = std::min(taken_from_, entries_.size());
}

Event EventLog::numbered(Event event) {
  MutexLock lock(mutex_);
  number(event);
  return event;
}

void EventLog::add_saved(Event event) {
  MutexLock lock(mutex_);
  // Before what was told meanwhile, such as a question of a server whose call is over: that is not stored.
  next_ = std::max(next_, event.number + 1);
  entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(saved_), {std::move(event), {}});
  ++saved_;
}

std::vector<Event> EventLog::told(EventKind kind) const {
  MutexLock lock(mutex_);
  std::vector<Event> events;
  for (const Entry& entry : entries_) {
    if (entry.event.kind == kind && entry.event.number >= life_) events.push_back(entry.event);
  }
  return events;
}

void EventLog::append_piece(std::vector<Event>& out, const Entry& entry, std::size_t piece) {
  Event event = entry.event;
  const std::uint32_t begin = piece == 0 ? 0 : entry.ends[piece - 1];
  event.text = entry.event.text.substr(begin, entry.ends[piece] - begin);
  event.number += piece;
  out.push_back(std::move(event));
}

EventBatch EventLog::collect(std::uint64_t from, std::size_t limit) const {
  const auto first_from = [this](std::uint64_t number) TERTULIA_REQUIRES(mutex_) {
    return std::lower_bound(entries_.begin(), entries_.end(), number,
                            [](const Entry& entry, std::uint64_t n) { return entry.last_number() < n; });
  };
  EventBatch batch;
  std::uint64_t next = from;
  for (auto entry = first_from(from); entry != entries_.end(); ++entry) {
    if (entry->event.number >= shown_ || batch.events.size() == limit) break;
    if (entry->ends.empty()) {
      batch.events.push_back(entry->event);
    } else {
      std::size_t piece = std::max(from, entry->event.number) - entry->event.number;
      for (; piece < entry->ends.size() && batch.events.size() < limit; ++piece) {
        append_piece(batch.events, *entry, piece);
      }
    }
    next = batch.events.back().number + 1;
  }
  const auto rest = first_from(next);
  batch.last = closed_ && (rest == entries_.end() || rest->event.number >= shown_);
  return batch;
}

void EventLog::read(std::uint64_t from, std::size_t limit, Done<EventBatch> done) {
  TERTULIA_CHECK(limit > 0, "a reader wants at least one event");
  EventBatch batch;
  {
    MutexLock lock(mutex_);
    batch = collect(from, limit);
    if (batch.events.empty() && !batch.last) {
      waiters_.push_back({from, limit, std::move(done)});
      return;
    }
  }
  done(std::move(batch));
}

void EventLog::answer_waiters() {
  // One at a time: what one of them does, or a lack of memory, must not cost another its answer. Whoever
  // takes one out goes on with those behind it.
  std::size_t at = 0;
  Done<EventBatch> done;
  EventBatch batch;
  const auto take_next = [&] {
    MutexLock lock(mutex_);
    for (; at < waiters_.size(); ++at) {
      batch = collect(waiters_[at].from, waiters_[at].limit);
      if (batch.events.empty() && !batch.last) continue;
      done = std::move(waiters_[at].done);
      waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    done = nullptr;
  };
  while (true) {
    with_memory(take_next);
    if (!done) return;
    run_safely("a reader of a turn", [&] { done(std::move(batch)); });
  }
}

Result<std::vector<Event>> read_stored_events(std::string_view stored) {
  TERTULIA_TRY_AS(std::vector<StoredEntry> entries, read_entries(stored));
  std::vector<Event> events;
  for (StoredEntry& entry : entries) {
    if (entry.ends.size() < 2) {
      events.push_back(std::move(entry.event));
      continue;
    }
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < entry.ends.size(); ++i) {
      Event event = entry.event;
      event.text = entry.event.text.substr(begin, entry.ends[i] - begin);
      event.number += i;
      begin = entry.ends[i];
      events.push_back(std::move(event));
    }
  }
  return events;
}

}  // namespace tertulia
