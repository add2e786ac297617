#include "tertulia/tools/toolkit.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace tertulia {
namespace toolkit_test {

ToolPtr tool(std::string name) {
  return make_tool(std::move(name), "A tool.", [] {});
}

std::vector<std::string> names(const ToolSetPtr& set) {
  std::vector<std::string> all;
  for (const ToolEntry& entry : set->entries()) all.push_back(entry.name());
  return all;
}

using Names = std::vector<std::string>;

class Counter {
 public:
  int add(int number) { return total_ += number; }
  int total() const { return total_; }

 private:
  std::atomic<int> total_ = 0;
};

std::string run(const ToolSetPtr& set, std::string_view name, std::string_view arguments) {
  ToolCall call;
  call.arguments = parse_json(arguments).value();
  return wait<ToolOutput>([&](auto done) { set->find(name)->tool->run(call, done); }).value().text;
}

TEST(Toolkit, AnObjectAndItsMethodsAreTools) {
  const auto counter = std::make_shared<Counter>();
  Toolkit kit("counter");
  kit.add("count", "Counts on.", {"number"}, method(counter, &Counter::add))
      .add("total", "Tells the total.", method(counter, &Counter::total),
           {.tool_class = ToolClass::kReadOnly});
  ToolRegistry registry;
  registry.add(kit).value();
  const ToolSetPtr set = registry.snapshot();
  EXPECT_EQ(names(set), (Names{"count", "total"}));
  EXPECT_EQ(run(set, "count", R"({"number":3})"), "3");
  EXPECT_EQ(run(set, "count", R"({"number":4})"), "7");
  EXPECT_EQ(run(set, "total", "{}"), "7");
  EXPECT_EQ(set->definitions()[1].description, "Tells the total.");
}

TEST(ToolRegistry, ASnapshotNeverChanges) {
  ToolRegistry registry;
  registry.add(tool("a")).value();
  const ToolSetPtr before = registry.snapshot();
  registry.add(tool("b")).value();
  EXPECT_TRUE(registry.remove("a"));
  EXPECT_FALSE(registry.remove("a"));
  EXPECT_EQ(names(before), Names{"a"});
  EXPECT_EQ(names(registry.snapshot()), Names{"b"});
}

TEST(ToolRegistry, ANameBelongsToOneTool) {
  ToolRegistry registry;
  const ToolPtr first = tool("a");
  registry.add(first).value();
  registry.add(first).value();
  EXPECT_EQ(registry.snapshot()->entries().size(), 1U);
  const Result<void> second = registry.add(tool("a"));
  EXPECT_EQ(second.error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(registry.snapshot()->find("a")->tool, first);
}

TEST(ToolRegistry, ABatchIsAddedWholeOrNotAtAll) {
  ToolRegistry registry;
  registry.add(tool("c")).value();
  const std::vector<ToolPtr> batch = {tool("a"), tool("b"), tool("c")};
  EXPECT_EQ(registry.add(batch).error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(names(registry.snapshot()), Names{"c"});
  const std::vector<ToolPtr> twice = {tool("x"), tool("x")};
  EXPECT_EQ(registry.add(twice).error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(names(registry.snapshot()), Names{"c"});
}

TEST(ToolRegistry, AToolkitIsReplacedWholeOrNotAtAll) {
  ToolRegistry registry;
  const ToolPtr kept = tool("kept");
  registry.add(tool("own")).value();
  registry.add(Toolkit("files").add(tool("read")).add(kept)).value();
  const ToolSetPtr before = registry.snapshot();
  registry.replace(Toolkit("files").add(kept).add(tool("write"))).value();
  EXPECT_EQ(names(registry.snapshot()), (Names{"own", "kept", "write"}));
  EXPECT_EQ(names(before), (Names{"own", "read", "kept"}));
  // Another tool of the same name takes the place of the old one.
  const ToolPtr newer = tool("kept");
  registry.replace(Toolkit("files").add(newer)).value();
  EXPECT_EQ(registry.snapshot()->find("kept")->tool, newer);
  EXPECT_EQ(registry.replace(Toolkit("files").add(tool("x")).add(tool("own"))).error().code(),
            ErrorCode::kDuplicateKey);
  EXPECT_EQ(names(registry.snapshot()), (Names{"own", "kept"}));
  registry.replace(Toolkit("files")).value();
  EXPECT_EQ(names(registry.snapshot()), Names{"own"});
}

TEST(ToolRegistry, ToolsAndToolkitsShareTheirNames) {
  ToolRegistry registry;
  registry.add(tool("math")).value();
  EXPECT_EQ(registry.add(Toolkit("math").add(tool("add"))).error().code(), ErrorCode::kDuplicateKey);
  registry.add(Toolkit("files").add(tool("read")).add(tool("files"))).value();
  EXPECT_EQ(registry.add(Toolkit("other").add(tool("math"))).error().code(), ErrorCode::kDuplicateKey);
  registry.add(Toolkit("web").add(tool("fetch"))).value();
  EXPECT_EQ(registry.add(tool("web")).error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(registry.add(Toolkit("no name").add(tool("x"))).error().code(), ErrorCode::kBadId);
}

TEST(ToolRegistry, RefusesADefinitionThatNoModelCanUse) {
  ToolRegistry registry;
  EXPECT_EQ(registry.add(ToolPtr()).error().code(), ErrorCode::kBadConfig);
  EXPECT_EQ(registry.add(tool("")).error().code(), ErrorCode::kBadId);
  EXPECT_EQ(registry.add(tool("two words")).error().code(), ErrorCode::kBadId);
  EXPECT_EQ(registry.add(tool(std::string(65, 'a'))).error().code(), ErrorCode::kBadId);
  registry.add(tool(std::string(64, 'a'))).value();
  EXPECT_EQ(registry.add(make_tool("t", "\xff", [] {})).error().code(), ErrorCode::kBadUnicode);
  EXPECT_EQ(registry.add(make_tool("t", std::string(20'000, 'a'), [] {})).error().code(),
            ErrorCode::kTooLarge);
  const auto with_schema = [](Json schema) {
    return make_raw_tool("t", "", std::move(schema), [](const ToolCall&) { return ToolOutput{}; });
  };
  EXPECT_EQ(registry.add(with_schema(JsonObject{{"type", "array"}})).error().code(), ErrorCode::kBadConfig);
  const Result<void> bad =
      registry.add(with_schema(JsonObject{{"type", "object"}, {"properties", JsonObject{{"a", 1}}}}));
  EXPECT_EQ(bad.error().message(),
            "tool 't': schema at /properties/a: expected object or boolean, got integer 1");
}

TEST(ToolSet, AnUnknownNameGetsTheNearestOne) {
  ToolRegistry registry;
  registry.add(tool("read_file")).value();
  const auto missing = registry.snapshot()->get("readfile");
  EXPECT_EQ(missing.error().code(), ErrorCode::kNoSuchTool);
  EXPECT_EQ(missing.error().message(), "there is no tool \"readfile\" (did you mean 'read_file'?)");
  EXPECT_EQ(std::get<std::string>(*missing.error().fact("nearest")), "read_file");
  EXPECT_EQ(registry.snapshot()->get("xyz").error().fact("nearest"), nullptr);
  EXPECT_EQ(registry.snapshot()->get("read_file").value()->name(), "read_file");
}

TEST(ToolSet, OnlyWhatAnAgentMayUse) {
  ToolRegistry registry;
  registry.add(Toolkit("math").add(tool("add")).add(tool("multiply"))).value();
  registry.add(tool("clock")).value();
  registry.add(tool("mail")).value();
  const ToolSetPtr all = registry.snapshot();
  EXPECT_EQ(names(all->only(Names{"clock", "math"}).value()), (Names{"add", "multiply", "clock"}));
  EXPECT_EQ(names(all->only(Names{"multiply", "multiply"}).value()), Names{"multiply"});
  EXPECT_TRUE(all->only(Names{}).value()->entries().empty());
  EXPECT_EQ(all->only(Names{"clok"}).error().code(), ErrorCode::kNoSuchTool);
}

TEST(ToolRegistry, MayBeReadWhileItIsChanged) {
  ToolRegistry registry;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      const ToolSetPtr set = registry.snapshot();
      for (const ToolEntry& entry : set->entries()) EXPECT_EQ(set->find(entry.name()), &entry);
    }
  });
  for (int i = 0; i < 100; ++i) registry.add(tool("t" + std::to_string(i))).value();
  for (int i = 0; i < 100; i += 2) EXPECT_TRUE(registry.remove("t" + std::to_string(i)));
  stop = true;
  reader.join();
  EXPECT_EQ(registry.snapshot()->entries().size(), 50U);
}

}  // namespace toolkit_test
}  // namespace tertulia
