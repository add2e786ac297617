#include "tertulia/memory/vector_index.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gmock/gmock.h>

namespace tertulia {
namespace vector_index_test {

constexpr std::size_t kDimensions = 48;

std::vector<float> random_vector(std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(kDimensions);
  float square = 0;
  for (float& value : vector) {
    value = normal(random);
    square += value * value;
  }
  for (float& value : vector) value /= std::sqrt(square);
  return vector;
}

std::vector<std::vector<float>> random_vectors(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::vector<float>> vectors;
  for (std::size_t i = 0; i < count; ++i) vectors.push_back(random_vector(random));
  return vectors;
}

// By comparing with all of them.
std::vector<std::uint32_t> true_nearest(const std::vector<std::vector<float>>& vectors,
                                        const std::vector<float>& query, std::size_t count) {
  std::vector<std::pair<float, std::uint32_t>> all;
  for (std::uint32_t i = 0; i < vectors.size(); ++i) {
    float dot = 0;
    for (std::size_t k = 0; k < query.size(); ++k) dot += vectors[i][k] * query[k];
    all.emplace_back(-dot, i);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(all[i].second);
  return labels;
}

std::vector<std::uint32_t> labels_of(const std::vector<Near>& nearest) {
  std::vector<std::uint32_t> labels;
  for (const Near& near : nearest) labels.push_back(near.label);
  return labels;
}

VectorIndex index_of(const std::vector<std::vector<float>>& vectors, std::size_t graph_from) {
  VectorIndex index({.dimensions = kDimensions, .graph_from = graph_from});
  for (std::uint32_t i = 0; i < vectors.size(); ++i) index.add(i, vectors[i]).value();
  return index;
}

TEST(VectorIndex, IsExactWhileSmall) {
  const auto vectors = random_vectors(1'000);
  const VectorIndex index = index_of(vectors, 100'000);
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const std::vector<float> query = random_vector(random);
    EXPECT_EQ(labels_of(index.nearest(query, 10)), true_nearest(vectors, query, 10));
  }
}

TEST(VectorIndex, AGraphFindsNearlyEverything) {
  const auto vectors = random_vectors(2'000);
  const VectorIndex index = index_of(vectors, 500);
  ASSERT_TRUE(index.is_graph());
  std::mt19937 random(3);
  int hits = 0;
  for (int i = 0; i < 50; ++i) {
    const std::vector<float> query = random_vector(random);
    const auto found = labels_of(index.nearest(query, 10));
    for (const std::uint32_t label : true_nearest(vectors, query, 10)) {
      hits += std::count(found.begin(), found.end(), label) > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(hits, 485);
}

TEST(VectorIndex, WhatWasRemovedIsNotFoundAndItsLabelCanBeUsedAgain) {
  for (const std::size_t graph_from : {100'000, 50}) {
    const auto vectors = random_vectors(100);
    VectorIndex index = index_of(vectors, graph_from);
    EXPECT_TRUE(index.remove(7));
    EXPECT_FALSE(index.remove(7));
    EXPECT_EQ(index.size(), 99U);
    for (const Near& near : index.nearest(vectors[7], 99)) EXPECT_NE(near.label, 7U);
    index.add(7, vectors[3]).value();
    const auto nearest = labels_of(index.nearest(vectors[3], 2));
    EXPECT_THAT(nearest, testing::UnorderedElementsAre(3, 7));
  }
}

TEST(VectorIndex, AFilterLeavesEnough) {
  for (const std::size_t graph_from : {100'000, 50}) {
    const auto vectors = random_vectors(400);
    const VectorIndex index = index_of(vectors, graph_from);
    const auto nearest = index.nearest(vectors[0], 5, [](std::uint32_t label) { return label >= 395; });
    EXPECT_EQ(nearest.size(), 5U);
    for (const Near& near : nearest) EXPECT_GE(near.label, 395U);
  }
}

TEST(VectorIndex, RefusesVectorsOfAnotherLength) {
  VectorIndex index({.dimensions = kDimensions});
  EXPECT_EQ(index.add(0, std::vector<float>(3)).error().code(), ErrorCode::kOutOfRange);
  EXPECT_TRUE(index.nearest(std::vector<float>(3), 1).empty());
}

}  // namespace vector_index_test
}  // namespace tertulia
