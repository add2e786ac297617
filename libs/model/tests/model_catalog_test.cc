#include "tertulia/model/model_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "talk.h"

namespace tertulia {
namespace model_catalog_test {

using testing::HasSubstr;

TEST(ModelCatalog, KnowsLimitsAndTokenizers) {
  EXPECT_EQ(known_model("gpt-4o-mini").context_tokens, 128'000U);
  EXPECT_EQ(known_model("openai/gpt-4.1-nano").context_tokens, 1'047'576U);
  EXPECT_EQ(known_model("gpt-5-mini").max_output_tokens, 128'000U);
  EXPECT_EQ(known_model("gpt-4-0613").context_tokens, 8'192U);
  EXPECT_EQ(known_model("claude-sonnet-4-5").max_output_tokens, 64'000U);
  EXPECT_EQ(known_model("Llama-3.1-8B-Instruct").context_tokens, 131'072U);
  EXPECT_EQ(known_model("qwen2.5:7b").context_tokens, 32'768U);
  EXPECT_EQ(known_model("gpt-4o").tokenizer->name(), "o200k_base");
  EXPECT_TRUE(known_model("claude-opus-4").tokenizer->is_estimate());
  EXPECT_TRUE(known_model("never-heard-of").tokenizer->is_estimate());
  EXPECT_EQ(known_model("o10").context_tokens, 32'768U);
}

TEST(ModelCatalog, MakesTheOfflineModelOfNothing) {
  const ConfiguredModel made = make_model({}).value();
  EXPECT_EQ(made.name, "offline");
  EXPECT_TRUE(respond(*made.model, {.request = {.view = talk::view_of({talk::user("Hi")})}}).ok());
}

TEST(ModelCatalog, MakesProvidersByName) {
  const Environment keys{{"OPENAI_API_KEY", "k"}, {"ANTHROPIC_API_KEY", "k"}};
  EXPECT_EQ(make_model({.name = "openai/gpt-4o", .environment = keys}).value().name, "gpt-4o");
  EXPECT_EQ(make_model({.name = "gpt-4o", .environment = keys}).value().name, "gpt-4o");
  EXPECT_EQ(make_model({.name = "claude-sonnet-4-5", .environment = keys}).value().name, "claude-sonnet-4-5");
  EXPECT_TRUE(make_model({.name = "openai-responses/gpt-5", .environment = keys, .store = true})
                  .value()
                  .model->info("gpt-5")
                  .service_threads);
  EXPECT_EQ(make_model(
                {.name = "openai-compatible/org/llama3.1", .provider = {.base_url = "http://127.0.0.1:1/v1"}})
                .value()
                .name,
            "org/llama3.1");
}

TEST(ModelCatalog, TellsTheProviderOfAName) {
  const auto both = [](std::string_view name) {
    const ModelName parsed = parse_model_name(name).value();
    return parsed.provider + " " + parsed.model;
  };
  EXPECT_EQ(both("gpt-4o"), "openai gpt-4o");
  EXPECT_EQ(both("claude-sonnet-4-5"), "anthropic claude-sonnet-4-5");
  EXPECT_EQ(both("openai-compatible/org/llama3.1"), "openai-compatible org/llama3.1");
  EXPECT_EQ(both("offline"), "offline offline");
}

TEST(ModelCatalog, SaysWhatIsMissing) {
  const auto problem = [](const ModelConfig& config) { return make_model(config).error(); };
  EXPECT_EQ(problem({.name = "openai/gpt-4o"}).code(), ErrorCode::kModelKey);
  EXPECT_THAT(problem({.name = "anthropic/claude-x"}).message(), HasSubstr("ANTHROPIC_API_KEY"));
  EXPECT_EQ(problem({.name = "openai-compatible/x"}).code(), ErrorCode::kBadConfig);
  EXPECT_THAT(problem({.name = "antropic/claude"}).message(), HasSubstr("did you mean 'anthropic'?"));
  EXPECT_THAT(problem({.name = "openai"}).message(), HasSubstr("no model"));
  EXPECT_EQ(problem({.name = "what"}).code(), ErrorCode::kModelNotFound);
}

}  // namespace model_catalog_test
}  // namespace tertulia
