// The code of docs/guides/tools.md, and a check that the guide shows this code.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "tertulia/tools/fetch_tool.h"
#include "tertulia/tools/file_tools.h"
#include "tertulia/tools/process_tool.h"
#include "tertulia/tools/toolkit.h"

namespace {

using namespace tertulia;

// guide: struct
struct Search {
  std::string query;
  int limit = 10;                       // has a default
  std::optional<std::string> language;  // may be left out
};
TERTULIA_FIELDS(Search, (query, "What to look for."), (limit, "How many.", {.minimum = 1, .maximum = 50}),
                language)
// guide: end

// guide: enum
enum class Unit : std::uint8_t { kCelsius, kFahrenheit };
TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"})
// guide: end

// guide: class
class Notes {
 public:
  Result<void> write(const std::string& title, const std::string& text);
  Result<std::string> read(const std::string& title) const;
};

Toolkit notes_toolkit(std::shared_ptr<Notes> notes) {
  Toolkit kit("notes");
  kit.add("write_note", "Keeps a note.", {"title", "text"}, method(notes, &Notes::write))
      .add("read_note", "Gives a note back.", {"title"}, method(notes, &Notes::read),
           {.tool_class = ToolClass::kReadOnly});
  return kit;
}
// guide: end

// guide: builtin
Result<ToolSetPtr> tools_for_a_workspace(const Path& workspace) {
  ToolRegistry registry;
  // The public web, but not your network: see "What they keep out" in the contract.
  TERTULIA_TRY(registry.add(http_fetch_tool()));
  // Your own service, and nothing else.
  TERTULIA_TRY_AS(EgressPolicy ours,
                  EgressPolicy::make({.allow_hosts = {"api.example.com"}, .schemes = {"https"}}));
  TERTULIA_TRY(registry.add(http_post_tool(ours)));
  // Files below one directory.
  TERTULIA_TRY_AS(const Toolkit files, file_tools(workspace));
  TERTULIA_TRY(registry.add(files));
  // Two programs, in that directory, without a network, for ten seconds.
  TERTULIA_TRY_AS(const ToolPtr programs, process_tool({.root = workspace,
                                                        .programs = {"/usr/bin/git", "/usr/bin/wc"},
                                                        .limits = {.time = std::chrono::seconds(10)}}));
  TERTULIA_TRY(registry.add(programs));
  return registry.snapshot();
}
// guide: end

Result<void> Notes::write(const std::string&, const std::string&) { return {}; }
Result<std::string> Notes::read(const std::string& title) const {
  return Error(ErrorCode::kNotFound, "there is no note '" + title + "'");
}

struct Bank {
  std::optional<std::string> payment_with(const std::string& key) {
    return key.empty() ? std::nullopt : receipt;
  }
  Result<std::string> pay(const std::string&, double, const std::string&) { return *receipt; }
  std::optional<std::string> receipt = "paid";
};

TEST(ToolsGuide, ItsToolsWork) {
  const auto bank = std::make_shared<Bank>();
  // guide: plain
  auto add = make_tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; });
  // guide: end
  // guide: search
  auto search = make_tool("search", "Searches the manual.",
                          [](const Search& what, const ToolCall& call) -> Result<std::vector<std::string>> {
                            TERTULIA_TRY(call.cancel.check());
                            if (what.query.empty())
                              return Error(ErrorCode::kBadArguments, "say what to look for");
                            return std::vector<std::string>{"page 1", "page 7"};
                          },
                          {.tool_class = ToolClass::kReadOnly, .timeout = std::chrono::seconds(5)});
  // guide: end
  // guide: probe
  auto pay = make_tool("pay", "Pays a bill.", {"to", {"amount", "In euros.", {.minimum = 0.01}}},
                       [bank](const std::string& to, double amount, const ToolCall& call) {
                         return bank->pay(to, amount, call.key);
                       },
                       {.probe = [bank](const ToolCall& call) -> Result<std::optional<ToolOutput>> {
                         std::optional<ToolOutput> found;
                         if (auto receipt = bank->payment_with(call.key))
                           found = ToolOutput{.text = *receipt};
                         return found;
                       }});
  // guide: end
  ToolRegistry registry;
  const std::vector<ToolPtr> tools = {add, search, pay};
  registry.add(tools).value();
  registry.add(notes_toolkit(std::make_shared<Notes>())).value();
  EXPECT_EQ(registry.snapshot()->entries().size(), 5U);
  EXPECT_EQ(to_text(JsonType<Unit>::schema()), R"({"type":"string","enum":["celsius","fahrenheit"]})");
  ToolCall call;
  call.key = "s/main/t/0";
  EXPECT_EQ(wait<std::optional<ToolOutput>>([&](auto done) { pay->probe(call, done); }).value()->text,
            "paid");
}

TEST(ToolsGuide, ItsWorkspaceHasTools) {
  const ToolSetPtr tools = tools_for_a_workspace(std::filesystem::temp_directory_path()).value();
  EXPECT_EQ(tools->entries().size(), 7U);
}

// The lines between "// guide: <name>" and "// guide: end", without their indentation.
std::vector<std::string> blocks_of(const std::string& source) {
  std::vector<std::string> blocks;
  std::istringstream in(source);
  bool inside = false;
  std::size_t indent = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find("// guide: ");
    const bool marker = at != std::string::npos && line.find_first_not_of(' ') == at;
    if (marker) {
      inside = line.find("// guide: end") == std::string::npos;
      indent = at;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += (line.size() > indent ? line.substr(indent) : "") + "\n";
    }
  }
  return blocks;
}

std::string content(const std::string& name) {
  const char* root = std::getenv("TERTULIA_SOURCE_DIR");
  std::ifstream in(std::string(root == nullptr ? "." : root) + "/" + name);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ToolsGuide, ShowsTheCodeOfThisTest) {
  const std::string guide = content("docs/guides/tools.md");
  ASSERT_FALSE(guide.empty());
  const auto blocks = blocks_of(content("libs/tools/tests/guide_test.cc"));
  ASSERT_EQ(blocks.size(), 7U);
  for (const std::string& block : blocks) {
    EXPECT_NE(guide.find("```cpp\n" + block + "```"), std::string::npos) << block;
  }
}

}  // namespace
