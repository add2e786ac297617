// One measured figure as one line of JSON, beside its goal and what it is compared to.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

namespace tertulia::bench {

// Figures have plain names: what would need escaping in JSON is left out.
inline std::string plain(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter != '"' && letter != '\\' && static_cast<unsigned char>(letter) >= 0x20) result += letter;
  }
  return result;
}

// `goal` is text such as "<= 1.2", empty if there is none; `against` says what the value was compared to.
inline void print_figure(std::string_view name, double value, std::string_view unit, std::string_view goal,
                         std::string_view against) {
  std::printf(R"({"figure":"%s","value":%.6g,"unit":"%s","goal":"%s","against":"%s"})"
              "\n",
              plain(name).c_str(), std::isfinite(value) ? value : -1.0, plain(unit).c_str(),
              plain(goal).c_str(), plain(against).c_str());
  std::fflush(stdout);
}

}  // namespace tertulia::bench
