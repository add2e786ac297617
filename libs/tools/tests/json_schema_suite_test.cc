// The published cases for draft 4, all but those of what JsonSchema does not claim to know; and what another
// validator says of generated schemas and values (tools/make_schema_golden.mjs).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "tertulia/tools/json_schema.h"

namespace tertulia {
namespace json_schema_suite_test {

// Keywords that are passed over, and references that leave the document.
const std::set<std::string> kFilesNotClaimed = {"definitions.json", "dependencies.json", "refRemote.json"};
const std::set<std::string> kGroupsNotClaimed = {
    "remote ref, containing refs itself",  // leads out of the document
    "Recursive references between schemas",
    "ref overrides any sibling keywords",  // newer drafts apply the siblings
};

Json load(const std::filesystem::path& path) {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return parse_json(text).value();
}

std::string text_at(const Json& value, std::string_view key) {
  return *value.as_object()->find(key)->as_string();
}

TEST(JsonSchemaSuite, AgreesWithThePublishedCases) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TERTULIA_SCHEMA_SUITE)) {
    const std::string file = entry.path().filename().string();
    if (!entry.is_regular_file() || kFilesNotClaimed.contains(file)) continue;
    const Json groups = load(entry.path());
    for (const Json& group : *groups.as_array()) {
      const std::string title = text_at(group, "description");
      if (kGroupsNotClaimed.contains(title)) continue;
      const Result<JsonSchema> schema = JsonSchema::compile(*group.as_object()->find("schema"));
      ASSERT_TRUE(schema) << file << ": " << title << ": " << schema.error().message();
      for (const Json& test : *group.as_object()->find("tests")->as_array()) {
        const auto problems = schema->check(*test.as_object()->find("data"));
        EXPECT_EQ(problems.empty(), *test.as_object()->find("valid")->as_bool())
            << file << ": " << title << ": " << text_at(test, "description") << ": " << text_of(problems);
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 200U);
  RecordProperty("cases", static_cast<int>(cases));
}

TEST(JsonSchemaSuite, AgreesWithAnotherValidatorOnGeneratedCases) {
  const char* own = std::getenv("TERTULIA_SCHEMA_GOLDEN");
  const char* root = std::getenv("TERTULIA_SOURCE_DIR");
  std::ifstream in(own != nullptr ? std::string(own)
                                  : std::string(root == nullptr ? "." : root) +
                                        "/libs/tools/tests/data/schema_golden.jsonl");
  std::size_t cases = 0;
  for (std::string line; std::getline(in, line);) {
    const Json entry = parse_json(line).value();
    const Result<JsonSchema> schema = JsonSchema::compile(*entry.as_object()->find("schema"));
    ASSERT_TRUE(schema) << line << ": " << schema.error().message();
    for (const bool valid : {true, false}) {
      for (const Json& value : *entry.as_object()->find(valid ? "valid" : "invalid")->as_array()) {
        const auto problems = schema->check(value);
        EXPECT_EQ(problems.empty(), valid) << line << "\n" << to_text(value) << ": " << text_of(problems);
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 500U);
  RecordProperty("cases", static_cast<int>(cases));
}

}  // namespace json_schema_suite_test
}  // namespace tertulia
