// MiddlewareStateOf: what a middleware remembers, as a struct described with TERTULIA_FIELDS.
//
//   MiddlewareStateOf<Counted> counted{"counter", StateScope::kSession};
//   counted.change(turn, [](Counted& all) { ++all.answers; });
//
// Durability
//   Written with the commit of the turn. A turn that is dropped or parked changes nothing.
// Drift
//   Fields that were added since it was stored get their defaults, those that were removed are left out with
//   a warning, at any depth. A newer version than this program's is kNeedsVersion, for writing too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/agent/turn_context.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/tools/json_type.h"

namespace tertulia {

// What was stored, as the schema of today wants it.
struct FittedState {
  Json value;
  // Where fields were left out: "/steps/0/color".
  std::vector<std::string> left_out;
};
// kNeedsVersion {version}; kDamaged if it is no stored state.
Result<FittedState> fit_state(const std::string& name, const JsonText& stored, std::uint32_t version,
                              const Json& schema);
JsonText stored_state(std::uint32_t version, const Json& value);
Error misfit(const std::string& name, const JsonProblem& problem);

template <class T>
  requires JsonReadable<T> && JsonWritable<T>
class MiddlewareStateOf {
 public:
  // `name` is the state's in its session or branch: unique among all middleware that shares them.
  MiddlewareStateOf(std::string name, StateScope scope, std::uint32_t version = 1)
      : name_(std::move(name)), scope_(scope), version_(version) {}

  // As this turn sees it, with its own changes; T{} if there is none.
  Result<T> read(const TurnContext& turn) const {
    FittedState fitted;
    TERTULIA_TRY_AS(T value, parse(turn.state(scope_, name_), fitted));
    if (!fitted.left_out.empty()) turn.warn_left_out(name_, fitted.left_out);
    return value;
  }
  // What is stored in a session or a branch, for whoever has one.
  Result<T> read(const MiddlewareState& state) const {
    const auto found = state.find(name_);
    FittedState fitted;
    return parse(found == state.end() ? JsonText() : found->second, fitted);
  }
  // With the turn's commit. `edit` is called at once, and again at the commit on what stands there by then.
  Result<void> change(TurnContext& turn, std::function<void(T&)> edit) const {
    return turn.change_state(scope_, name_,
                             [*this, edit = std::move(edit)](const JsonText& stored) -> Result<JsonText> {
                               FittedState fitted;
                               TERTULIA_TRY_AS(T value, parse(stored, fitted));
                               edit(value);
                               return stored_state(version_, JsonType<T>::write(value));
                             });
  }

 private:
  Result<T> parse(const JsonText& stored, FittedState& fitted) const {
    T value{};
    if (stored.empty()) return value;
    TERTULIA_TRY_AS(fitted, fit_state(name_, stored, version_, JsonType<T>::schema()));
    if (auto problem = JsonType<T>::read(fitted.value, value)) return misfit(name_, *problem);
    return value;
  }

  std::string name_;
  StateScope scope_;
  std::uint32_t version_;
};

}  // namespace tertulia
