// Structured logging: a level, a component, a fixed sentence, and named values.
//
//   Log log = Log().component("store");
//   log.info("turn committed", {{"session", id}, {"revision", 7}});
//
// What people and models say is never logged, nor are tool arguments and results: log ids, counts and codes.
// A Secret does not compile as a value.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tertulia/base/clock.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

// "debug", "info", "warn", "error" or "off".
std::string_view name_of(LogLevel level);
std::optional<LogLevel> log_level_named(std::string_view name);

// Anything that has its own text, such as an id.
template <class T>
concept HasText = requires(const T& value) {
  { value.text() } -> std::convertible_to<std::string>;
};

// One named value. It refers to what it was made from: use it within the same statement. An id is turned into
// text only if the record is written.
class LogField {
 public:
  using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

  template <std::same_as<bool> T>
  LogField(std::string_view name, T value) : name_(name), value_(value) {}
  template <std::signed_integral T>
  LogField(std::string_view name, T value) : name_(name), value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view name, T value) : name_(name), value_(std::uint64_t{value}) {}
  template <std::floating_point T>
  LogField(std::string_view name, T value) : name_(name), value_(double{value}) {}
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  LogField(std::string_view name, const T& value) : name_(name), value_(std::string_view(value)) {}
  template <HasText T>
    requires(!std::convertible_to<const T&, std::string_view>)
  LogField(std::string_view name, const T& value)
      : name_(name),
        source_(&value),
        text_of_([](const void* source) -> std::string { return static_cast<const T*>(source)->text(); }) {}

  std::string_view name() const { return name_; }
  // The value; `buffer` holds the text of an id as long as the result is used.
  Value value(std::string& buffer) const;

 private:
  std::string_view name_;
  Value value_;
  const void* source_ = nullptr;
  std::string (*text_of_)(const void*) = nullptr;
};

// Valid during LogSink::write only.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  Time time;
  std::string_view component;
  std::string_view message;
  std::span<const LogField> fields;
};

// "message name=value …": one line, whatever the values contain.
std::string text_of(const LogRecord& record);

// Where records go. A program that has its own log implements this.
//
// Concurrency: write may be called by several threads at once.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // What it throws is dropped: logging never makes work fail.
  virtual void write(const LogRecord& record) = 0;
};

enum class LogFormat : std::uint8_t {
  kHuman,  // one line for people, coloured on a terminal
  kJson,   // one JSON object per line
};

// Writes to `stream`, which stays the caller's and must outlive the sink. Whatever the values contain, a
// record is one line, and no value can pass for another field.
std::shared_ptr<LogSink> make_log_sink(std::FILE* stream, LogFormat format);

// A handle; copies write to the same place. A call below the level costs one comparison.
//
// Concurrency: any thread.
class Log {
 public:
  // The library's own: warnings and errors, for people, on standard error.
  Log();
  // Keeps a reference to `clock`.
  Log(std::shared_ptr<LogSink> sink, Clock& clock, LogLevel level = LogLevel::kWarn);

  // The same log under another name.
  Log component(std::string_view name) const;

  // For every handle of this log. Log().set_sink sends what the library says to the program's own log.
  void set_level(LogLevel level);
  void set_sink(std::shared_ptr<LogSink> sink);
  bool enabled(LogLevel level) const { return level >= core_->level.load(std::memory_order_relaxed); }

  using Fields = std::initializer_list<LogField>;
  void debug(std::string_view message, Fields fields = {}) const { log(LogLevel::kDebug, message, fields); }
  void info(std::string_view message, Fields fields = {}) const { log(LogLevel::kInfo, message, fields); }
  void warn(std::string_view message, Fields fields = {}) const { log(LogLevel::kWarn, message, fields); }
  void error(std::string_view message, Fields fields = {}) const { log(LogLevel::kError, message, fields); }

 private:
  struct Core {
    Core(LogLevel least, std::shared_ptr<LogSink> where, Clock& time)
        : level(least), clock(time), sink(std::move(where)) {}
    std::atomic<LogLevel> level;
    Clock& clock;
    Mutex mutex;
    std::shared_ptr<LogSink> sink TERTULIA_GUARDED_BY(mutex);
  };
  void log(LogLevel level, std::string_view message, const Fields& fields) const {
    if (enabled(level)) write(level, message, fields);
  }
  void write(LogLevel level, std::string_view message, const Fields& fields) const;

  std::shared_ptr<Core> core_;
  std::string component_ = "tertulia";
};

}  // namespace tertulia
