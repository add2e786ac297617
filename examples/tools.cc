// Tools made of functions: the schema comes from the parameters, and what a crash may do is said by a class.
#include <iostream>
#include <map>
#include <string>

#include <tertulia/tertulia.h>

using namespace tertulia;

// tools
enum class Unit { kCelsius, kFahrenheit };
TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"})

struct Forecast {
  std::string city;
  int days = 1;
  std::optional<Unit> unit;
};
TERTULIA_FIELDS(Forecast, (city, "the city, in English"), (days, "how many days"), unit)

ToolPtr forecast_tool() {
  return make_tool("weather_forecast", "Tells the weather of a city.",
                   [](const Forecast& asked) {
                     return asked.city + ": clear, 21 degrees, for " + std::to_string(asked.days) + " day(s)";
                   },
                   {.tool_class = ToolClass::kReadOnly});  // a crash may run it again
}
// end

int main(int argc, char** argv) {
  const Agent agent = AgentBuilder()
                          .with_tool(forecast_tool())
                          .with_session_store(argc > 1 ? argv[1] : "./conversations")
                          .build()
                          .value();
  std::cout << forecast_tool()->definition().parameters.text() << "\n";
  for (const Event& event : agent.run("What is the weather forecast for Zurich?", "weather")) {
    if (event.kind == EventKind::kToolCallResult) std::cout << event.name << ": " << event.text << "\n";
  }
}
