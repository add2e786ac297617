#include "vector_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// hnswlib fetches ahead what the link behind the last one of a full list would lead to. What it reads there
// is used for nothing else, and lies in what malloc rounds up to; the address sanitizer rightly sees the end
// of the list passed, so there the library goes without fetching ahead. Everything else of it stays watched.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_MANUAL_VECTORIZATION
#endif
#endif
#include <hnswlib/hnswlib.h>

#include "dot.h"

namespace tertulia {
namespace {

// A point in the graph: the int8 values, then the step as a float.
class Int8Space final : public hnswlib::SpaceInterface<float> {
 public:
  explicit Int8Space(std::size_t dimensions) : dimensions_(dimensions) {}

  std::size_t get_data_size() override { return dimensions_ + sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }
  void* get_dist_func_param() override { return &dimensions_; }

  std::vector<char> point(const Quantised& vector) const {
    std::vector<char> bytes(dimensions_ + sizeof(float));
    std::memcpy(bytes.data(), vector.values.data(), dimensions_);
    std::memcpy(bytes.data() + dimensions_, &vector.step, sizeof(float));
    return bytes;
  }

 private:
  static float distance(const void* one, const void* other, const void* dimensions) {
    const std::size_t count = *static_cast<const std::size_t*>(dimensions);
    const auto* a = static_cast<const std::int8_t*>(one);
    const auto* b = static_cast<const std::int8_t*>(other);
    float step_a = 0;
    float step_b = 0;
    std::memcpy(&step_a, a + count, sizeof step_a);
    std::memcpy(&step_b, b + count, sizeof step_b);
    return 1.0F - static_cast<float>(dot_int8(a, b, count)) * step_a * step_b;
  }

  std::size_t dimensions_;
};

}  // namespace

Quantised quantised(std::span<const float> vector) {
  Quantised result;
  float largest = 0;
  for (const float value : vector) largest = std::max(largest, std::fabs(value));
  result.step = largest / 127.0F;
  result.values.resize(vector.size());
  if (largest == 0) return result;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    result.values[i] = static_cast<std::int8_t>(std::lround(vector[i] / result.step));
  }
  return result;
}

struct VectorGraph::Impl {
  Impl(const VectorIndexOptions& options, std::size_t capacity)
      : space(options.dimensions),
        graph(&space, capacity, options.links, options.build_width),
        width(options.search_width) {
    graph.setEf(width);
  }

  Int8Space space;
  hnswlib::HierarchicalNSW<float> graph;
  std::size_t width;
};

VectorGraph::VectorGraph(const VectorIndexOptions& options, std::size_t capacity)
    : impl_(std::make_unique<Impl>(options, std::max<std::size_t>(capacity, 1'024))) {}
VectorGraph::VectorGraph(VectorGraph&&) noexcept = default;
VectorGraph& VectorGraph::operator=(VectorGraph&&) noexcept = default;
VectorGraph::~VectorGraph() = default;

void VectorGraph::add(std::uint32_t label, const Quantised& vector) {
  auto& graph = impl_->graph;
  if (graph.cur_element_count >= graph.max_elements_) graph.resizeIndex(graph.max_elements_ * 3 / 2);
  graph.addPoint(impl_->space.point(vector).data(), label);
}

void VectorGraph::remove(std::uint32_t label) { impl_->graph.markDelete(label); }

std::vector<std::uint32_t> VectorGraph::near(const Quantised& vector, std::size_t width) const {
  auto found = impl_->graph.searchKnn(impl_->space.point(vector).data(), std::max(width, impl_->width));
  std::vector<std::uint32_t> labels;
  labels.reserve(found.size());
  for (; !found.empty(); found.pop()) labels.push_back(static_cast<std::uint32_t>(found.top().second));
  return labels;
}

}  // namespace tertulia
