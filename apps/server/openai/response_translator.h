// Tells a turn as the events of a response.
//
// The numbers of the events depend on nothing but the log of the turn, so whoever comes back, also after the
// server has been killed, sees each number once. A turn that goes on after a crash leaves numbers out: those
// that may have been told without being kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/response_plan.h"
#include "openai/run_events.h"

namespace tertulia::server {

// How a response has ended: the body, and the type of the last event.
struct EndedResponse {
  std::string body;
  // "response.completed", "response.incomplete", "response.failed".
  std::string event;
};

class ResponseTranslator final : public Translator {
 public:
  // Called once with the outcome; gives the response when everything that must be kept of it is.
  using Settle = std::function<void(Result<TurnOutcome>, ResponseState, std::function<void(EndedResponse)>)>;

  // Only events beyond `after` are told.
  ResponseTranslator(std::shared_ptr<const ResponsePlan> plan, std::optional<std::int64_t> after,
                     Settle settle);

  void take(const Event& event, std::string& out) override;
  void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) override;

 private:
  struct Slot {
    OutputItem item;
    std::size_t index = 0;
    // The number of the call in its turn.
    std::uint64_t call = 0;
    // Said since the last model call began: void if that one is asked again.
    bool fresh = true;
    bool open = true;
  };

  template <class Write>
  void tell(std::string_view type, std::string& out, Write write);
  void tell_response(std::string_view type, std::string& out);
  void tell_item(std::string_view type, const Slot& slot, std::string& out);
  void tell_place(JsonWriter& json, const Slot& slot) const;

  void count(const Event& event);
  void open_item(OutputItem item, std::uint64_t call, std::string& out);
  void open_part(const Slot& slot, std::string& out);
  void add_text(const Event& event, std::string& out);
  void add_arguments(const Event& event, std::string& out);
  void close_item(Slot& slot, std::string& out);
  void close_part(const Slot& slot, std::string& out);
  void close_calls(std::string& out);
  void take_result(const Event& event, std::string& out);
  void reset(std::string& out);
  Slot* open_slot(ItemKind kind);
  Slot* call_slot(std::uint64_t call);
  ResponseState state() const;

  const std::shared_ptr<const ResponsePlan> plan_;
  const std::int64_t after_;
  const Settle settle_;
  std::vector<Slot> slots_;
  // Of the next item, within the turn.
  std::size_t next_item_;
  std::size_t next_index_ = 0;
  // The number of the last event that was told.
  std::int64_t told_ = -1;
  std::uint64_t last_number_ = 0;
  // How often the turn was taken up again: an item that is said anew is another one.
  std::uint64_t life_ = 0;
};

}  // namespace tertulia::server
