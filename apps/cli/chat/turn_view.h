// How a turn is shown while it goes on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/conversation/event.h"

#include "output.h"

namespace tertulia::cli {

class TurnView {
 public:
  virtual ~TurnView() = default;
  virtual void show(const Event& event) = 0;
  // Now and then while nothing happens, if moves().
  virtual void tick() {}
  virtual bool moves() const { return false; }
  // Somebody is asked; `choices` is the line that names the keys.
  virtual void ask(const Event&, const std::string&) {}
  // All of what the question is about, where only its beginning was shown.
  virtual void show_all() {}
  // What was typed so far to what is asked, in place of the choices.
  virtual void typed(const std::string&) {}
  virtual void answered(const std::string&) {}
  // The turn is over.
  virtual void end() {}
};

// Each event as a JSON object on a line.
std::unique_ptr<TurnView> make_json_view(const Output& out);
// The answer as it comes to standard output; what else there is to say to standard error, if `notes`.
std::unique_ptr<TurnView> make_plain_view(const Output& out, bool notes);
// Markdown, drawn; tools with their durations.
std::unique_ptr<TurnView> make_rich_view(const Output& out);

}  // namespace tertulia::cli
