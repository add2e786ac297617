// A model that follows a script: for tests, ours and yours.
//
//   auto model = scripted_model({
//       ModelStep().call("add", R"({"a":10,"b":20})"),
//       ModelStep().expect_last_user("Add 10 and 20").say("That ", "makes 30."),
//   });
//   … the agent under test speaks with it …
//   ASSERT_TRUE(model->check());          // nothing unexpected was asked, no step is left over
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/error.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// A door that a step can wait at, so that a test decides when the model goes on. Copies are the same door.
//
// Concurrency: any thread.
class ModelGate {
 public:
  ModelGate();

  // Lets through whoever waits, and everybody after. What they do then happens on this thread, inside of this
  // call.
  void open();
  // Until `count` calls have arrived at the door, waiting or gone through.
  void wait_for_arrivals(std::size_t count) const;

 private:
  friend class ScriptedModel;
  struct State;
  std::shared_ptr<State> state_;
};

// What the model does when it is asked once: first what is expected of the request, then what it says, in the
// order it was added.
class ModelStep {
 public:
  ModelStep() = default;

  // Text, in one delta for each piece.
  template <class... Pieces>
  ModelStep& say(Pieces&&... pieces) {
    (add({.kind = Act::Kind::kText, .text = std::string(std::forward<Pieces>(pieces))}), ...);
    return *this;
  }
  ModelStep& reason(std::string text, std::string signature = {});
  // A tool call. Several in one step are parallel. Without an id it is "call_<n>", counted over the script.
  ModelStep& call(std::string tool, std::string arguments, std::string id = {});
  // What was said so far in this step is void; it begins again.
  ModelStep& retry(std::string why = "the script says so");
  // Ends with this error; what was said before it has been told by deltas.
  ModelStep& fail(Error error);
  ModelStep& fail(ErrorCode code, std::string sentence) { return fail(Error(code, std::move(sentence))); }
  // Waits for the cancel or the deadline of the call, and ends with that. The deadline is noticed when the
  // call is cancelled: a script has no clock.
  ModelStep& hang();
  ModelStep& wait(ModelGate gate);

  // Else: kToolCalls if there are calls, kStop if not.
  ModelStep& finish(Finish finish);
  // Else: nothing in, one token out for each delta.
  ModelStep& usage(Usage usage);
  ModelStep& model(std::string name);
  ModelStep& response_id(std::string id);
  // Where the conversation is kept from now on, as a provider would say.
  ModelStep& service_thread(std::string thread);

  ModelStep& expect_last_user(std::string text);
  ModelStep& expect_last_user_contains(std::string text);
  // The tools offered, by name, in any order.
  ModelStep& expect_tools(std::vector<std::string> names);
  ModelStep& expect_messages(std::size_t count);
  ModelStep& expect_service_thread(std::string thread);
  // Looks at the request itself; an error is a mismatch.
  ModelStep& expect(std::function<Result<void>(const ModelRequest&)> looks_right);

 private:
  friend class ScriptedModel;
  struct Act {
    enum class Kind : std::uint8_t { kText, kReasoning, kCall, kRetry, kFail, kHang, kGate };
    Kind kind = Kind::kText;
    std::string text{};
    std::string name{};
    std::string id{};
    std::optional<Error> error{};
    std::optional<ModelGate> gate{};
  };
  ModelStep& add(Act act);

  std::vector<Act> acts_;
  std::vector<std::function<Result<void>(const ModelRequest&)>> expectations_;
  std::optional<Finish> finish_;
  std::optional<Usage> usage_;
  std::string model_;
  std::string response_id_;
  std::string service_thread_;
};

// Steps are taken in the order in which calls arrive. A call beyond the script, and a request that is not as
// a step expects it, get kScriptMismatch; the first of them, and steps left over, are what check() reports.
//
// Concurrency
//   Any thread. Deltas and the completion come on the thread that asked, or that opened the gate, or that
//   cancelled.
class ScriptedModel final : public LanguageModel {
 public:
  explicit ScriptedModel(std::vector<ModelStep> steps);
  // Calls that still wait get kClosed.
  ~ScriptedModel() override;

  // More steps, behind those that are there.
  void add(ModelStep step);
  // What info() says; the default is a context of 128,000 tokens counted as o200k_base.
  void set_info(ModelInfo info);

  ModelInfo info(std::string_view model) const override;
  void respond(ModelCall call, Done<ModelResponse> done) override;

  // Ok if every step was taken and every request was as expected.
  Result<void> check() const;
  std::size_t steps_left() const;
  // The requests it was given, in order, also those that did not fit.
  std::vector<ModelRequest> requests() const;

 private:
  struct State;
  struct Performance;

  std::shared_ptr<State> state_;
};

std::shared_ptr<ScriptedModel> scripted_model(std::vector<ModelStep> steps = {});

}  // namespace tertulia
