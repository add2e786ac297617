// JSON: ours beside the library whose tokenizer it uses, on the same chat request.
#include <string>

#include <boost/json.hpp>

#include "tertulia/base/json.h"

#include "figure.h"
#include "timing.h"

namespace {

std::string chat_request() {
  std::string text = R"({"model":"gpt-4o","temperature":0.7,"messages":[)";
  for (int i = 0; i < 200; ++i) {
    if (i > 0) text += ",";
    text += R"({"role":"user","content":"Message )" + std::to_string(i) +
            R"( speaks of one thing and another, with \"quotes\", a newline\nand a caf\u00e9 at 12:30."})";
  }
  return text + "]}";
}

}  // namespace

int main() {
  using namespace tertulia;
  const std::string text = chat_request();
  const Json ours = parse_json(text).value();
  const boost::json::value theirs = boost::json::parse(text);
  const double our_parse = bench::median_seconds([&] { bench::keep(parse_json(text)); });
  const double their_parse = bench::median_seconds([&] { bench::keep(boost::json::parse(text)); });
  const double our_write = bench::median_seconds([&] { bench::keep(to_text(ours)); });
  const double their_write = bench::median_seconds([&] { bench::keep(boost::json::serialize(theirs)); });
  bench::print_figure("json.parse", our_parse / their_parse, "x", "<= 2",
                      "time of Boost.JSON without our checks");
  bench::print_figure("json.write", our_write / their_write, "x", "<= 2", "time of Boost.JSON");
}
