#include "tertulia/memory/vector_index.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "dot.h"
#include "vector_graph.h"

namespace tertulia {
namespace {

// How many more than asked for are compared again as floats: int8 may confuse what lies close together.
constexpr std::size_t kRerank = 4;

bool nearer(const Near& one, const Near& other) {
  return one.cosine != other.cosine ? one.cosine > other.cosine : one.label < other.label;
}

// Leaves the `count` nearest of `all`, nearest first.
void keep_nearest(std::vector<Near>& all, std::size_t count) {
  if (all.size() > count) {
    const auto cut = all.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(all.begin(), cut, all.end(), nearer);
    all.erase(cut, all.end());
  }
  std::sort(all.begin(), all.end(), nearer);
}

}  // namespace

struct VectorIndex::Impl {
  explicit Impl(const VectorIndexOptions& given) : options(given) {}

  const float* floats_of(std::uint32_t label) const { return floats.data() + label * options.dimensions; }
  std::int8_t* bytes_of(std::uint32_t label) { return bytes.data() + label * options.dimensions; }
  bool holds(std::uint32_t label) const { return label < there.size() && there[label]; }

  void make_room(std::uint32_t label) {
    if (label < there.size()) return;
    const std::size_t room = std::size_t{label} + 1;
    there.resize(room);
    steps.resize(room);
    floats.resize(room * options.dimensions);
    if (!graph) bytes.resize(room * options.dimensions);
  }

  void build_graph() {
    graph.emplace(options, there.size() * 2);
    for (std::uint32_t label = 0; label < there.size(); ++label) {
      if (there[label]) graph->add(label, quantised({floats_of(label), options.dimensions}));
    }
    bytes = {};
  }

  // The best `wanted` that pass the filter, as int8 tells it, in no order. Few are kept on the way: whoever
  // is below what enough others have is passed over, and the filter, which may cost more than a vector, not
  // asked.
  std::vector<Near> scan(const Quantised& query, std::size_t wanted,
                         const std::function<bool(std::uint32_t)>& filter,
                         std::vector<float>* cosines) const {
    std::vector<Near> best;
    if (cosines) cosines->assign(there.size(), 0);
    float least = -std::numeric_limits<float>::infinity();
    const std::size_t dimensions = options.dimensions;
    const std::int8_t* row = bytes.data();
    for (std::uint32_t label = 0; label < there.size(); ++label, row += dimensions) {
      if (!there[label]) continue;
      const std::int32_t dot = dot_int8(query.values.data(), row, dimensions);
      const float cosine = static_cast<float>(dot) * steps[label] * query.step;
      if (cosines) (*cosines)[label] = cosine;
      if (cosine < least || (filter && !filter(label))) continue;
      best.push_back({label, cosine});
      if (best.size() < 2 * wanted) continue;
      const auto cut = best.begin() + static_cast<std::ptrdiff_t>(wanted);
      std::nth_element(best.begin(), cut, best.end(), nearer);
      least = cut->cosine;
      best.erase(cut, best.end());
    }
    return best;
  }

  // A walk knows nothing of filters: it is repeated, wider, until enough pass.
  std::vector<Near> walk(const Quantised& query, std::size_t wanted,
                         const std::function<bool(std::uint32_t)>& filter) const {
    std::vector<Near> passed;
    for (std::size_t width = std::max(wanted, options.search_width);; width *= 4) {
      passed.clear();
      for (const std::uint32_t label : graph->near(query, std::min(width, count))) {
        if (!filter || filter(label)) passed.push_back({label, 0});
      }
      if (passed.size() >= wanted || width >= count) return passed;
    }
  }

  VectorIndexOptions options;
  std::size_t count = 0;
  std::vector<char> there;
  std::vector<float> steps;
  std::vector<float> floats;
  // Empty once there is a graph, which has its own.
  std::vector<std::int8_t> bytes;
  std::optional<VectorGraph> graph;
};

VectorIndex::VectorIndex(const VectorIndexOptions& options) : impl_(std::make_unique<Impl>(options)) {}
VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;
VectorIndex& VectorIndex::operator=(VectorIndex&&) noexcept = default;
VectorIndex::~VectorIndex() = default;

Result<void> VectorIndex::add(std::uint32_t label, std::span<const float> vector) {
  const std::size_t dimensions = impl_->options.dimensions;
  if (vector.size() != dimensions) {
    return Error(ErrorCode::kOutOfRange, "a vector of " + std::to_string(vector.size()) +
                                             " numbers does not belong into an index of vectors of " +
                                             std::to_string(dimensions))
        .with("dimensions", static_cast<std::int64_t>(dimensions));
  }
  impl_->make_room(label);
  if (!std::exchange(impl_->there[label], 1)) ++impl_->count;
  std::copy(vector.begin(), vector.end(),
            impl_->floats.begin() + static_cast<std::ptrdiff_t>(label * dimensions));
  const Quantised small = quantised(vector);
  impl_->steps[label] = small.step;
  if (impl_->graph) {
    impl_->graph->add(label, small);
  } else {
    std::copy(small.values.begin(), small.values.end(), impl_->bytes_of(label));
    if (impl_->count >= impl_->options.graph_from) impl_->build_graph();
  }
  return {};
}

bool VectorIndex::remove(std::uint32_t label) {
  if (!impl_->holds(label)) return false;
  impl_->there[label] = 0;
  --impl_->count;
  // Not only unreachable: gone from RAM.
  const std::size_t dimensions = impl_->options.dimensions;
  std::fill_n(impl_->floats.begin() + static_cast<std::ptrdiff_t>(label * dimensions), dimensions, 0.0F);
  if (impl_->graph) {
    impl_->graph->remove(label);
  } else {
    std::fill_n(impl_->bytes_of(label), dimensions, std::int8_t{0});
  }
  return true;
}

std::size_t VectorIndex::size() const { return impl_->count; }
bool VectorIndex::contains(std::uint32_t label) const { return impl_->holds(label); }
bool VectorIndex::is_graph() const { return impl_->graph.has_value(); }

std::vector<Near> VectorIndex::nearest(std::span<const float> vector, std::size_t count,
                                       const std::function<bool(std::uint32_t)>& filter,
                                       std::vector<float>* cosines) const {
  if (count == 0 || impl_->count == 0 || vector.size() != impl_->options.dimensions) return {};
  const Quantised query = quantised(vector);
  std::vector<Near> found =
      impl_->graph ? impl_->walk(query, count, filter) : impl_->scan(query, count * kRerank, filter, cosines);
  for (Near& near : found) {
    near.cosine = dot_float(vector.data(), impl_->floats_of(near.label), vector.size());
  }
  keep_nearest(found, count);
  return found;
}

float VectorIndex::cosine(std::span<const float> vector, std::uint32_t label) const {
  if (vector.size() != impl_->options.dimensions || !impl_->holds(label)) return 0;
  return dot_float(vector.data(), impl_->floats_of(label), vector.size());
}

}  // namespace tertulia
