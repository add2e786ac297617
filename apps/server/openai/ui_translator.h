// Tells a turn as parts of one message of a page with useChat: the UI message stream of the AI SDK.
//
// A call that a person must allow is the end of the stream, though not of the turn: the page sends the
// message again with the answer in it, and is told the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"

#include "openai/line_turn.h"
#include "openai/run_events.h"

namespace tertulia::server {

// What a page is to be told of a turn.
struct UiTold {
  // None for somebody who only watches.
  std::optional<LineTurn> turn{};
  // The page has the message up to this event, and has answered these questions.
  std::optional<std::uint64_t> after{};
  std::vector<std::string> answered{};
  // Of all agents, for somebody who only watches: what is none of them is the page's.
  std::vector<ToolSetPtr> own_tools{};
};

class UiTranslator final : public Translator {
 public:
  UiTranslator(Services& services, UiTold told)
      : services_(services), told_(std::move(told)), questions_(told_.answered) {}

  void take(const Event& event, std::string& out) override;
  void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) override;
  bool pausing() const override;
  std::string pause() override;

 private:
  struct UiCall {
    std::string id;
    std::string name;
    std::string arguments;
    bool client = false;
    bool told = false;
  };

  static void tell(std::string& out, std::string_view type, JsonObject more);
  static void tell_input(UiCall& call, std::string& out);

  void translate(const Event& event, std::string& out);
  std::string part() const { return "part-" + std::to_string(parts_); }
  std::string next_part();
  bool is_client_tool(std::string_view name) const;
  void start_call(const Event& event, std::string& out);
  void add_arguments(const Event& event, std::string& out);
  void take_result(const Event& event, std::string& out);

  Services& services_;
  const UiTold told_;
  OpenQuestions questions_;
  std::map<std::uint64_t, UiCall> calls_;
  std::uint64_t parts_ = 0;
  bool begun_ = false;
  bool in_step_ = false;
};

}  // namespace tertulia::server
