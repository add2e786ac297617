// docs/formats/json.md shows each form. Its examples are read, and writing them gives what the page shows.
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/conversation/json_forms.h"

#include "tree.h"

namespace tertulia {
namespace json_doc_test {

// The JSON examples of the page, by the heading they stand under.
std::map<std::string, std::vector<std::string>> examples() {
  std::ifstream page(trial::source_dir() / "docs/formats/json.md");
  EXPECT_TRUE(page.good());
  std::map<std::string, std::vector<std::string>> found;
  std::string heading;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line == "```json") {
      inside = true;
      found[heading].emplace_back();
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      found[heading].back() += line + "\n";
    }
  }
  return found;
}

template <class T>
void check_example(const std::string& example) {
  const auto value = parse_form<T>(example);
  ASSERT_TRUE(value.ok()) << value.error().message() << "\n" << example;
  EXPECT_EQ(to_json(*value), to_text(parse_json(example).value()));
}

TEST(JsonDoc, EveryFormIsShownAndEveryExampleIsTrue) {
  std::map<std::string, std::function<void(const std::string&)>> forms;
#define TERTULIA_X(Type) forms[#Type] = check_example<Type>;
  TERTULIA_FORMS(TERTULIA_X)
#undef TERTULIA_X

  const auto shown = examples();
  for (const auto& [name, check] : forms) EXPECT_TRUE(shown.contains(name)) << name << " has no example";
  for (const auto& [name, list] : shown) {
    ASSERT_TRUE(forms.contains(name)) << "'" << name << "' is not the name of a form";
    for (const std::string& example : list) forms[name](example);
  }
}

TEST(JsonDoc, NamesTheVersionThatIsWritten) {
  std::ifstream page(trial::source_dir() / "docs/formats/json.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string version = std::to_string(kFormMajor) + "." + std::to_string(kFormMinor);
  EXPECT_NE(text.str().find("describes **" + version + "**"), std::string::npos);
}

}  // namespace json_doc_test
}  // namespace tertulia
