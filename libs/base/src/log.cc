#include "tertulia/base/log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <spdlog/details/console_globals.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};

// The characters a bare value may have in the human form; anything else puts it between quotes.
bool is_bare(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._~-/:+@%").find(c) != std::string_view::npos;
  });
}

std::string human_value(const LogField::Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string_view>) {
          return is_bare(held) ? std::string(held) : in_quotes(held);
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

std::string human_text(const LogRecord& record) {
  std::string out = printable(record.message);
  for (const LogField& field : record.fields) {
    std::string buffer;
    out += ' ';
    out += is_bare(field.name()) ? std::string(field.name()) : in_quotes(field.name());
    out += '=';
    out += human_value(field.value(buffer));
  }
  return out;
}

void write_json_value(JsonWriter& out, const LogField::Value& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string_view>) {
          out.string(sanitize_utf8(held));
        } else if constexpr (std::is_same_v<Held, bool>) {
          out.boolean(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          std::isfinite(held) ? out.number(held) : out.string(fmt::format("{}", held));
        } else {
          out.number(held);
        }
      },
      value);
}

// {"time":…,"level":…,"component":…,"message":…,"fields":{…}}: fields stand apart, so that none can pass for
// one of ours.
std::string json_text(const LogRecord& record, std::string_view time) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("time").string(time).key("level").string(name_of(record.level));
  out.key("component").string(sanitize_utf8(record.component));
  out.key("message").string(sanitize_utf8(record.message));
  out.key("fields").begin_object();
  for (const LogField& field : record.fields) {
    std::string buffer;
    out.key(sanitize_utf8(field.name()));
    write_json_value(out, field.value(buffer));
  }
  out.end_object().end_object();
  return text;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string utc_text(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

// spdlog colours, locks and writes; we decide what stands in the line.
class StreamSink final : public LogSink {
 public:
  StreamSink(std::FILE* stream, LogFormat format)
      : format_(format), sink_(stream, spdlog::color_mode::automatic) {
    // %^ and %$ enclose what is coloured.
    const char* pattern = format == LogFormat::kHuman ? "%^%l%$ %v" : "%v";
    sink_.set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n"));
  }

  void write(const LogRecord& record) override {
    const std::string time = utc_text(record.time);
    std::string text;
    if (format_ == LogFormat::kJson) {
      text = json_text(record, time);
    } else {
      text = fmt::format("{} [{}] {}", time, printable(record.component), human_text(record));
    }
    spdlog::details::log_msg message(spdlog::source_loc{}, "", spdlog_level(record.level), text);
    sink_.log(message);
    if (record.level >= LogLevel::kWarn) sink_.flush();
  }

 private:
  LogFormat format_;
  spdlog::sinks::ansicolor_sink<spdlog::details::console_mutex> sink_;
};

}  // namespace

std::string text_of(const LogRecord& record) { return human_text(record); }

std::string_view name_of(LogLevel level) { return kLevelNames.at(static_cast<std::size_t>(level)); }

std::optional<LogLevel> log_level_named(std::string_view name) {
  const auto found = std::ranges::find(kLevelNames, name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

LogField::Value LogField::value(std::string& buffer) const {
  if (text_of_ == nullptr) return value_;
  buffer = text_of_(source_);
  return std::string_view(buffer);
}

std::shared_ptr<LogSink> make_log_sink(std::FILE* stream, LogFormat format) {
  return std::make_shared<StreamSink>(stream, format);
}

Log::Log() {
  static const std::shared_ptr<Core> core(
      new Core(LogLevel::kWarn, make_log_sink(stderr, LogFormat::kHuman), real_env().clock()));
  core_ = core;
}

Log::Log(std::shared_ptr<LogSink> sink, Clock& clock, LogLevel level)
    : core_(new Core(level, std::move(sink), clock)) {}

Log Log::component(std::string_view name) const {
  Log other = *this;
  other.component_ = name;
  return other;
}

void Log::set_level(LogLevel level) { core_->level.store(level, std::memory_order_relaxed); }

void Log::set_sink(std::shared_ptr<LogSink> sink) {
  MutexLock lock(core_->mutex);
  core_->sink = std::move(sink);
}

void Log::write(LogLevel level, std::string_view message, const Fields& fields) const {
  try {
    std::shared_ptr<LogSink> sink;
    {
      MutexLock lock(core_->mutex);
      sink = core_->sink;
    }
    sink->write({.level = level,
                 .time = core_->clock.now(),
                 .component = component_,
                 .message = message,
                 .fields = {fields.begin(), fields.size()}});
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // A sink that fails must not stop a conversation.
  }
}

}  // namespace tertulia
