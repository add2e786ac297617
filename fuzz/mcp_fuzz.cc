// Any bytes as what an MCP server writes: read whole or in pieces they give the same messages, nothing is
// kept beyond the limit, and whatever is a list of tools or the result of a call becomes what an agent can
// use.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/check.h"
#include "tertulia/tools/toolkit.h"

#include "mcp/content.h"
#include "mcp/rpc.h"
#include "mcp/tool_list.h"

namespace {

using namespace tertulia;

std::vector<std::string> read(std::string_view bytes, std::size_t step, RpcCounts& counts) {
  std::vector<std::string> heard;
  RpcReader reader({.bytes = 4'096, .depth = 32, .values = 10'000, .batch = 16});
  reader.allow_batches(true);
  const RpcHandlers handlers{
      .on_message =
          [&](const RpcMessage& message) {
            heard.push_back(message.method + to_text(message.body) + message.error.message);
          },
      .on_lost_answer =
          [&](std::int64_t id, const Error& why) {
            TERTULIA_CHECK(!why.message().empty(), "a loss has a reason");
            heard.push_back(std::to_string(id));
          }};
  for (std::size_t at = 0; at < bytes.size(); at += step) reader.feed(bytes.substr(at, step), handlers);
  counts = reader.counts();
  return heard;
}

void use(const Json& value) {
  if (const JsonArray* list = value.as_array()) {
    for (const McpToolInfo& tool : read_tool_list({.name = "fuzz"}, *list).tools)
      TERTULIA_CHECK(check_definition(tool.definition).ok(), "a definition is one that a registry takes");
    (void)output_of_content(*list);
  }
  (void)output_of_result(value, nullptr);
  (void)contents_of(value);
  (void)prompt_text_of(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RpcCounts whole;
  RpcCounts pieces;
  const auto one = read(bytes, size + 1, whole);
  const auto other = read(bytes, 1 + size % 7, pieces);
  TERTULIA_CHECK(one == other, "where the bytes are cut changes nothing");
  TERTULIA_CHECK(whole.garbage == pieces.garbage && whole.messages == pieces.messages, "nor what is counted");
  if (const Result<Json> value = parse_json(bytes)) use(*value);
  return 0;
}
