#include "trace/trace_parent.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tertulia/base/env.h"

namespace tertulia::server {
namespace trace_parent_test {

std::optional<RequestTrace> read(std::string_view header) {
  return trace_parent_in(header, real_env().random());
}

TEST(TraceParent, GivesTheTraceAndTheSpanOfTheClient) {
  const auto trace = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace[0], 0x4b);
  EXPECT_EQ(trace->trace[15], 0x36);
  EXPECT_EQ(trace->parent[1], 0xf0);
  EXPECT_NE(trace->own, SpanId());
  EXPECT_TRUE(read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));
  // A version that is not known yet may say more.
  EXPECT_TRUE(read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-else"));
}

TEST(TraceParent, IsPassedOverWhereItIsNotWellFormed) {
  for (const char* header : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                             "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                             "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                             "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                             "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                             "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
                             "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01what"}) {
    EXPECT_FALSE(read(header)) << header;
  }
}

TEST(TraceParent, BelongsToTheThreadForAsLongAsItsScope) {
  const auto trace = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_EQ(TraceScope::current(), nullptr);
  {
    const TraceScope outer(trace);
    EXPECT_EQ(TraceScope::current(), &*trace);
    {
      const TraceScope inner(std::nullopt);
      EXPECT_EQ(TraceScope::current(), nullptr);
    }
    EXPECT_EQ(TraceScope::current(), &*trace);
  }
  EXPECT_EQ(TraceScope::current(), nullptr);
}

}  // namespace trace_parent_test
}  // namespace tertulia::server
