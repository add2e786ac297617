#include "embedder/minilm.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tertulia/model/minilm_embedder.h"

#include "embedder/onnx_tensors.h"
#include "tree.h"

namespace tertulia {
namespace minilm_test {

float cosine(const Vector& one, const Vector& other) {
  float sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
  return sum;
}

std::string oracle_file(const std::string& name) {
  std::ifstream file(trial::test_data() / "minilm" / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(MiniLmEmbedder, VectorsAreThoseOfTheReference) {
  const auto sentences = lines_of(oracle_file("sentences.txt"));
  const std::string bytes = oracle_file("vectors.f32");
  const auto embedder = minilm_embedder().value();
  const std::size_t count = bytes.size() / sizeof(float) / MiniLm::kHidden;
  const auto vectors =
      embed(*embedder, {sentences.begin(), sentences.begin() + static_cast<std::ptrdiff_t>(count)}).value();
  ASSERT_EQ(count, sentences.size());
  ASSERT_EQ(vectors.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    Vector expected(MiniLm::kHidden);
    std::memcpy(expected.data(), bytes.data() + i * MiniLm::kHidden * sizeof(float),
                MiniLm::kHidden * sizeof(float));
    EXPECT_GE(cosine(vectors[i], expected), 0.9999F) << sentences[i];
  }
}

TEST(MiniLmEmbedder, ABatchGivesWhatEachTextGivesAlone) {
  const auto embedder = minilm_embedder().value();
  const std::string longest(4'000, 'x');
  const std::vector<std::string> texts = {"one", "a longer text about trains", longest + " tail", ""};
  const auto together = embed(*embedder, texts).value();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GE(cosine(together[i], embed(*embedder, {texts[i]}).value().front()), 0.99999F);
  }
}

TEST(MiniLmEmbedder, SaysWhenTheWeightsAreMissingOrOthers) {
  EXPECT_EQ(minilm_embedder("/nowhere/model.onnx").error().code(), ErrorCode::kNotFound);
  const std::string other = testing::TempDir() + "/other.onnx";
  std::ofstream(other) << "not a model";
  const auto refused = minilm_embedder(other);
  EXPECT_EQ(refused.error().code(), ErrorCode::kDamaged);
  std::filesystem::remove(other);
}

TEST(OnnxTensors, WhatIsNoModelIsRefused) {
  for (const std::string_view bytes :
       {"", "x", "\x3a\x7f", "\x3a\x02\x2a\x05", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    EXPECT_EQ(read_onnx_tensors(bytes).error().code(), ErrorCode::kDamaged);
  }
}

}  // namespace minilm_test
}  // namespace tertulia
