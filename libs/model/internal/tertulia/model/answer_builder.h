// An answer under construction: what arrives is told as deltas and kept as parts, within limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

struct AnswerLimits {
  // Of all text, reasoning and arguments together. Default: 16 MiB.
  std::size_t bytes = std::size_t{16} << 20;
  // Tool calls of one response. Default: 128.
  std::size_t calls = 128;
  // Of a call's id, and of a tool's name. Default: 256.
  std::size_t name_bytes = 256;
};

// Every error is kBadStream {limit}.
class AnswerBuilder {
 public:
  explicit AnswerBuilder(OnDelta on_delta, AnswerLimits limits = {})
      : on_delta_(std::move(on_delta)), limits_(limits) {}

  // A new part of this kind; its number.
  std::size_t add(PartKind kind);
  // A call without an id, or with one that stands in this answer already, gets another.
  Result<std::size_t> add_call(std::string_view id, std::string_view name);

  // Adds to the text of a part, and tells it.
  Result<void> append(std::size_t part, std::string_view text);
  // As append, to the last part if it is of this kind, else to a new one.
  Result<void> append_to_last(PartKind kind, std::string_view text);

  AnswerPart& part(std::size_t index) { return entries_[index].part; }
  std::size_t size() const { return entries_.size(); }
  std::size_t calls() const { return calls_; }

  // The parts that hold something; a call without arguments gets "{}".
  std::vector<AnswerPart> take();

 private:
  struct Entry {
    AnswerPart part;
    std::uint32_t call = 0;
  };
  bool is_taken(std::string_view id) const;
  void tell(const ModelDelta& delta) const {
    if (on_delta_) on_delta_(delta);
  }

  OnDelta on_delta_;
  AnswerLimits limits_;
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint32_t calls_ = 0;
};

// What comes out of a provider's stream: events in, deltas told, one answer at the end or an error.
//
// Nothing but what the provider has completed is an answer: finish() is kBadStream for a stream that was cut,
// that contradicts itself, or that never said how it ended.
class StreamParser {
 public:
  virtual ~StreamParser() = default;

  virtual Result<void> take(std::string_view type, std::string_view data) = 0;
  // True once the provider has said that this was all.
  virtual bool complete() const = 0;
  virtual Result<ModelResponse> finish() = 0;
};

Error bad_stream(std::string sentence);

}  // namespace tertulia
