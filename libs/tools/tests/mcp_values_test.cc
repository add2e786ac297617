// What a server lists and answers, and how it is declared: names, classes, content, configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/tools/toolkit.h"

#include "mcp/content.h"
#include "mcp/http_exchange.h"
#include "mcp/tool_list.h"

namespace tertulia {
namespace mcp_values_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Json json(std::string_view text) { return parse_json(text).value(); }

TEST(McpNames, AreScopedAndFitForAModel) {
  EXPECT_THAT(scoped_names("files", {"read_file", "a.b/c", "ü"}),
              ElementsAre("files__read_file", "files__a_b_c", "files____"));
  const std::string name = scoped_names("files", {std::string(100, 'x')}).front();
  EXPECT_EQ(name.size(), 64U);
}

TEST(McpNames, ThatClashAreToldApartWhateverTheOrder) {
  const auto one = scoped_names("s", {"a.b", "a_b", "a/b"});
  const auto other = scoped_names("s", {"a/b", "a_b", "a.b"});
  EXPECT_EQ(one[1], "s__a_b");
  EXPECT_EQ(one[0], other[2]);
  EXPECT_EQ(one[2], other[0]);
  EXPECT_NE(one[0], one[2]);
  EXPECT_NE(one[0], "s__a_b");
  const std::string x(80, 'x');
  const auto cut = scoped_names("s", {x + "1", x + "2"});
  EXPECT_NE(cut[0], cut[1]);
}

TEST(McpToolList, AnnotationsDecideTheClassOnlyIfTheyAreTrusted) {
  const Json tools =
      json(R"([{"name":"r","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
    {"name":"i","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true,"readOnlyHint":false}},
    {"name":"u","inputSchema":{"type":"object"}}])");
  const McpToolList list = read_tool_list({.name = "s", .trust_annotations = true}, *tools.as_array());
  ASSERT_THAT(list.tools, SizeIs(3));
  EXPECT_EQ(list.tools[0].tool_class, ToolClass::kReadOnly);
  EXPECT_EQ(list.tools[1].tool_class, ToolClass::kIdempotent);
  EXPECT_EQ(list.tools[2].tool_class, ToolClass::kUnsafe);
  const McpToolList wary = read_tool_list({.name = "s"}, *tools.as_array());
  EXPECT_EQ(wary.tools[0].tool_class, ToolClass::kUnsafe);
}

TEST(McpToolList, AToolWhoseSchemaDoesNotCompileTakesAnyObject) {
  const Json tools =
      json(R"([{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"pattern":"("}}}},
    {"name":"odd","inputSchema":{"type":"string"}},{"name":"bad"},{"x":1},
    {"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}])");
  const McpToolList list = read_tool_list({.name = "s"}, *tools.as_array());
  ASSERT_THAT(list.tools, SizeIs(2));
  for (const McpToolInfo& tool : list.tools) {
    const JsonSchema schema = check_definition(tool.definition).value();
    EXPECT_TRUE(schema.check(json(R"({"anything":[1]})")).empty());
  }
  EXPECT_THAT(list.warnings, SizeIs(5));
}

TEST(McpToolList, OnlyTheToolsThatAreAllowedAreSeen) {
  const Json tools = json(R"([{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}])");
  const McpToolList list =
      read_tool_list({.name = "s", .tools = std::vector<std::string>{"b"}}, *tools.as_array());
  ASSERT_THAT(list.tools, SizeIs(1));
  EXPECT_EQ(list.tools[0].definition.name, "s__b");
}

TEST(McpToolList, AWantedToolThatIsNotThereAndADescriptionThatIsCutAreTold) {
  JsonArray tools{JsonObject{{"name", "a"}, {"description", std::string(100'000, 'x')}}};
  const McpToolList list =
      read_tool_list({.name = "s", .tools = std::vector<std::string>{"a", "typo"}}, tools);
  ASSERT_THAT(list.tools, SizeIs(1));
  ASSERT_THAT(list.warnings, SizeIs(testing::Ge(2)));
  EXPECT_THAT(list.warnings, testing::Contains(testing::HasSubstr("100000 bytes")));
  EXPECT_THAT(list.warnings, testing::Contains(testing::HasSubstr("\"typo\" is wanted")));
}

TEST(McpContent, WhatIsNoBase64IsTold) {
  const auto contents =
      contents_of(json(R"({"contents":[{"uri":"x","blob":"!!"},{"uri":"y","blob":"AAEC"}]})"));
  ASSERT_THAT(contents, SizeIs(2));
  EXPECT_THAT(contents[0].bytes, testing::HasSubstr("no base64"));
  EXPECT_EQ(contents[1].bytes.size(), 3U);
}

TEST(McpContent, EveryKindBecomesTextOrAnAsset) {
  const ToolOutput output = output_of_result(json(R"({"content":[
      {"type":"text","text":"hello"},
      {"type":"image","data":"AAEC","mimeType":"image/png"},
      {"type":"audio","data":"!","mimeType":"audio/wav"},
      {"type":"resource","resource":{"uri":"file:///a.txt","text":"inside"}},
      {"type":"resource","resource":{"uri":"file:///dir/b.bin","blob":"/w==","mimeType":"x/y"}},
      {"type":"resource_link","uri":"file:///c","name":"c"},
      {"type":"hologram"}],"isError":true})"),
                                             nullptr);
  EXPECT_TRUE(output.failed);
  ASSERT_THAT(output.assets, SizeIs(2));
  EXPECT_EQ(output.assets[0], (ToolAsset{"image-1", "image/png", std::string("\0\1\2", 3)}));
  EXPECT_EQ(output.assets[1], (ToolAsset{"b.bin", "x/y", "\xFF"}));
  EXPECT_EQ(output.text,
            "hello\n[image \"image-1\", image/png, 3 bytes]\n[audio left out: its data are not base64]\n"
            "[file:///a.txt]\ninside\n[file \"b.bin\", x/y, 1 bytes]\n[link to \"c\": file:///c]\n"
            "[content of an unknown kind \"hologram\" was left out]");
}

TEST(McpContent, StructuredContentIsCheckedAndShownWhereThereIsNoText) {
  const JsonSchema schema =
      JsonSchema::compile(json(R"({"type":"object","properties":{"n":{"type":"number"}}})")).value();
  EXPECT_EQ(output_of_result(json(R"({"content":[],"structuredContent":{"n":1}})"), &schema).text,
            R"({"n":1})");
  const ToolOutput wrong = output_of_result(json(R"({"structuredContent":{"n":"x"}})"), &schema);
  EXPECT_TRUE(wrong.failed);
  EXPECT_THAT(wrong.text, HasSubstr("/n"));
  EXPECT_TRUE(output_of_result(json(R"({"content":[]})"), &schema).failed);
}

TEST(McpContent, ReadsBase64OfEveryLength) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8"), "fo");
  EXPECT_EQ(decode_base64("Zm9v\nYmFy"), "foobar");
  EXPECT_EQ(decode_base64("_-8="), "\xFF\xEF");
  for (const char* bad : {"Z", "Zg=Zg", "Z*==", "===="}) EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
}

TEST(McpUrl, AnEndpointOfAnotherOriginIsRefused) {
  EXPECT_EQ(same_origin_url("http://a:1/x/sse?k", "/m?s=1").value(), "http://a:1/m?s=1");
  EXPECT_EQ(same_origin_url("http://a:1/x/sse", "m").value(), "http://a:1/x/m");
  EXPECT_EQ(same_origin_url("http://a:1", "m").value(), "http://a:1/m");
  EXPECT_EQ(same_origin_url("http://a:1/sse", "http://a:1/m").value(), "http://a:1/m");
  for (const char* other :
       {"http://a:2/m", "https://a:1/m", "//evil/m", "http://a:1@evil/m", "http://a:1.evil/"})
    EXPECT_EQ(same_origin_url("http://a:1/sse", other).error().code(), ErrorCode::kUrlNotAllowed) << other;
}

TEST(McpConfig, ReadsEveryKey) {
  const McpConfig config = parse_mcp_config("files", json(R"({"command":"npx","args":["-y","x"],
      "env":{"KEY":"a${TOKEN}b"},"pass_env":["Q"],"directory":"/d","timeout":"5s","call_timeout":"2m",
      "max_restarts":0,"tools":["t"],"trust_annotations":false,"roots":["/a b","file:///c"]})"),
                                            {{"TOKEN", "xyz"}})
                               .value();
  EXPECT_EQ(config.command, "npx");
  EXPECT_EQ(config.env.at("KEY")->reveal(), "axyzb");
  EXPECT_EQ(config.timeout, std::chrono::seconds(5));
  EXPECT_EQ(config.call_timeout, std::chrono::minutes(2));
  EXPECT_THAT(config.roots, ElementsAre(McpRoot{"file:///a%20b"}, McpRoot{"file:///c"}));
  EXPECT_FALSE(config.trust_annotations);
}

TEST(McpConfig, SaysWhatIsWrongAndWhere) {
  const auto problem = [](std::string_view table) {
    return parse_mcp_config("s", json(table), {}).error().message();
  };
  EXPECT_EQ(problem(R"({"comand":"x"})"),
            "mcp.s.comand is not a key of an MCP server (did you mean 'command'?)");
  EXPECT_EQ(problem("{}"), "mcp.s needs either a command or a url");
  EXPECT_EQ(problem(R"({"url":"ftp://x"})"), "mcp.s.url must begin with http:// or https://");
  EXPECT_EQ(problem(R"({"url":"http://x","headers":{"A":"${NOT}"}})"),
            "mcp.s.headers.A speaks of the variable \"NOT\", which is not set");
  EXPECT_EQ(problem(R"({"command":"x","timeout":3})"), "mcp.s.timeout must be a duration such as \"30s\"");
  EXPECT_FALSE(parse_mcp_config("a b", json(R"({"command":"x"})"), {}).ok());
  EXPECT_FALSE(parse_mcp_configs(json(R"({"a":{"command":"x"},"b":{}})"), {}).ok());
}

}  // namespace mcp_values_test
}  // namespace tertulia
