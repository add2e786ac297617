// What the offline model makes of a view: who said what, and what the tools have answered in this turn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/conversation/message.h"
#include "tertulia/conversation/view.h"
#include "tertulia/model/language_model.h"

namespace tertulia::offline {

struct Document {
  // Where it is from, as far as the message tells.
  std::string source;
  std::string text;
};

struct ToolRun {
  std::string tool;
  std::string output;
  ToolOutcome outcome = ToolOutcome::kOk;
};

struct Exchange {
  std::string user;
  std::string answer;
};

struct Reading {
  // The newest message of the user.
  std::string question;
  // What was said before it, oldest first.
  std::vector<Exchange> history;
  // Context messages, wherever they stand, and files that are text.
  std::vector<Document> documents;
  // The images and files of the question: "an image (image/png, 12 bytes)".
  std::vector<std::string> given;
  // The results since the question, in order.
  std::vector<ToolRun> runs;
  // The last number that was answered before the question.
  std::optional<double> last_number;
  // How many tool calls there are in all, for new ids.
  std::size_t calls = 0;
};

// `assets` may be null.
Reading read_view(const View& view, const Assets* assets);

// Something the user said of themselves.
struct Fact {
  // "name", "home", "origin", "age", "work", "likes", "note", or "your …" for "my … is".
  std::string about;
  std::string value;
  // As an answer: "Your name is Ada."
  std::string sentence() const;
};
// In the order they were said. Questions state nothing.
std::vector<Fact> facts_in(std::string_view text);

}  // namespace tertulia::offline
