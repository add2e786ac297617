#include "embedder/minilm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <oneapi/dnnl/dnnl.hpp>

#include "embedder/onnx_tensors.h"

// oneDNN asks OpenMP how many threads it may use; these are the two questions of it that are needed.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace tertulia {
namespace {

constexpr std::size_t kHidden = MiniLm::kHidden;
constexpr std::size_t kHeads = MiniLm::kHeads;
constexpr std::size_t kHeadSize = kHidden / kHeads;
constexpr float kEpsilon = 1e-12F;

// The calling thread computes by itself for as long as this lives: callers bring their own threads.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// A matrix inside a larger one: rows of `stride` floats.
struct Matrix {
  const float* data;
  std::size_t stride;
};

// out = scale * one × other, or × the transpose of other; `beta` of what was in out is kept.
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, float scale, Matrix one, Matrix other,
              bool transposed, float beta, float* out, std::size_t out_stride) {
  dnnl_sgemm('N', transposed ? 'T' : 'N', static_cast<dnnl_dim_t>(rows), static_cast<dnnl_dim_t>(columns),
             static_cast<dnnl_dim_t>(inner), scale, one.data, static_cast<dnnl_dim_t>(one.stride), other.data,
             static_cast<dnnl_dim_t>(other.stride), beta, out, static_cast<dnnl_dim_t>(out_stride));
}

// Fills every row of `out` with `bias` and adds states × weight.
void apply(const std::vector<float>& weight, const std::vector<float>& bias, const std::vector<float>& states,
           std::size_t inputs, std::vector<float>& out) {
  const std::size_t rows = states.size() / inputs;
  const std::size_t outputs = bias.size();
  out.resize(rows * outputs);
  for (std::size_t i = 0; i < rows; ++i)
    std::copy(bias.begin(), bias.end(), out.begin() + static_cast<std::ptrdiff_t>(i * outputs));
  multiply(rows, outputs, inputs, 1, {states.data(), inputs}, {weight.data(), outputs}, false, 1, out.data(),
           outputs);
}

// Of each row: mean 0, spread 1, then weighed and shifted.
void normalise(std::vector<float>& states, const std::vector<float>& weight, const std::vector<float>& bias) {
  for (std::size_t at = 0; at < states.size(); at += kHidden) {
    float* row = states.data() + at;
    float mean = 0;
    for (std::size_t i = 0; i < kHidden; ++i) mean += row[i];
    mean /= kHidden;
    float spread = 0;
    for (std::size_t i = 0; i < kHidden; ++i) spread += (row[i] - mean) * (row[i] - mean);
    const float scale = 1 / std::sqrt(spread / kHidden + kEpsilon);
    for (std::size_t i = 0; i < kHidden; ++i) row[i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
}

void softmax(float* row, std::size_t count) {
  const float largest = *std::max_element(row, row + count);
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += row[i] = std::exp(row[i] - largest);
  for (std::size_t i = 0; i < count; ++i) row[i] /= sum;
}

// Each text looks at itself only.
void attend(const std::vector<float>& query_key_value, std::size_t first, std::size_t length,
            std::vector<float>& scores, std::vector<float>& out) {
  constexpr std::size_t kStride = 3 * kHidden;
  const float scale = 1 / std::sqrt(static_cast<float>(kHeadSize));
  scores.resize(length * length);
  for (std::size_t head = 0; head < kHeads; ++head) {
    const float* query = query_key_value.data() + first * kStride + head * kHeadSize;
    multiply(length, length, kHeadSize, scale, {query, kStride}, {query + kHidden, kStride}, true, 0,
             scores.data(), length);
    for (std::size_t i = 0; i < length; ++i) softmax(scores.data() + i * length, length);
    multiply(length, kHeadSize, length, 1, {scores.data(), length}, {query + 2 * kHidden, kStride}, false, 0,
             out.data() + first * kHidden + head * kHeadSize, kHidden);
  }
}

void gelu(std::vector<float>& states) {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc shape({static_cast<dnnl_dim_t>(states.size())}, dnnl::memory::data_type::f32,
                                 dnnl::memory::format_tag::a);
  const dnnl::eltwise_forward::desc what(dnnl::prop_kind::forward_inference,
                                         dnnl::algorithm::eltwise_gelu_erf, shape, 0.0F, 0.0F);
  const dnnl::eltwise_forward work(dnnl::eltwise_forward::primitive_desc(what, engine));
  dnnl::memory memory(shape, engine, states.data());
  work.execute(stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
  stream.wait();
}

void add(std::vector<float>& states, const std::vector<float>& more) {
  for (std::size_t i = 0; i < states.size(); ++i) states[i] += more[i];
}

Vector mean_of(const float* states, std::size_t length) {
  Vector mean(kHidden);
  for (std::size_t row = 0; row < length; ++row) {
    for (std::size_t i = 0; i < kHidden; ++i) mean[i] += states[row * kHidden + i];
  }
  float square = 0;
  for (const float value : mean) square += value * value;
  const float scale = square == 0 ? 0 : 1 / std::sqrt(square);
  for (float& value : mean) value *= scale;
  return mean;
}

}  // namespace

// Notes the first problem and goes on with zeros, so that loading reads straight.
struct MiniLm::Loader {
  std::map<std::string, OnnxTensor, std::less<>> tensors;
  std::string missing{};

  std::string_view bytes_of(const std::string& name, std::size_t size) {
    auto found = tensors.find(name);
    if (found != tensors.end() && found->second.bytes.size() == size) return found->second.bytes;
    if (missing.empty()) missing = name;
    return {};
  }

  std::vector<float> floats(const std::string& name, std::size_t count) {
    const std::string_view bytes = bytes_of(name, count * sizeof(float));
    std::vector<float> values(count);
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  // (value - zero) * scale. Tables have one scale and a zero, unsigned; matrices have a scale for each
  // column, signed, with zero as it is.
  std::vector<float> table(const std::string& name, std::size_t count) {
    const float scale = floats(name + "_scale", 1).front();
    const auto point = tensors.find(name + "_zero_point");
    const std::string_view bytes = bytes_of(name + "_quantized", count);
    if (point == tensors.end() && missing.empty()) missing = name + "_zero_point";
    std::vector<float> values(count);
    if (!missing.empty()) return values;
    const OnnxTensor& tensor = point->second;
    const float zero =
        tensor.bytes.empty() ? static_cast<float>(tensor.number) : byte_of(tensor.bytes.front());
    for (std::size_t i = 0; i < count; ++i) values[i] = (byte_of(bytes[i]) - zero) * scale;
    return values;
  }

  std::vector<float> matrix(const std::string& name, std::size_t rows, std::size_t columns) {
    const std::vector<float> scales = floats(name + "_scale", columns);
    const std::string_view bytes = bytes_of(name + "_quantized", rows * columns);
    std::vector<float> values(rows * columns);
    if (!missing.empty()) return values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<signed char>(bytes[i])) * scales[i % columns];
    }
    return values;
  }

  static float byte_of(char byte) { return static_cast<float>(static_cast<unsigned char>(byte)); }

  Norm norm(const std::string& name) {
    return {floats(name + ".weight", kHidden), floats(name + ".bias", kHidden)};
  }

  Linear linear(int number, const std::string& bias, std::size_t inputs, std::size_t outputs) {
    return {matrix("onnx::MatMul_" + std::to_string(number), inputs, outputs), floats(bias, outputs)};
  }

  Layer layer(int index) {
    // The file names its matrices by numbers, thirteen apart from layer to layer.
    const int base = 787 + 13 * index;
    const std::string name = "encoder.layer." + std::to_string(index) + ".";
    Layer layer;
    layer.attention.weight.resize(kHidden * 3 * kHidden);
    const std::array<std::pair<int, std::string>, 3> parts = {
        {{base, "query"}, {base + 1, "key"}, {base + 4, "value"}}};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Linear one = linear(parts[part].first, name + "attention.self." + parts[part].second + ".bias",
                                kHidden, kHidden);
      for (std::size_t row = 0; row < kHidden; ++row) {
        std::copy_n(one.weight.begin() + static_cast<std::ptrdiff_t>(row * kHidden), kHidden,
                    layer.attention.weight.begin() + static_cast<std::ptrdiff_t>((row * 3 + part) * kHidden));
      }
      layer.attention.bias.insert(layer.attention.bias.end(), one.bias.begin(), one.bias.end());
    }
    layer.attention_out = linear(base + 10, name + "attention.output.dense.bias", kHidden, kHidden);
    layer.attention_norm = norm(name + "attention.output.LayerNorm");
    layer.inner = linear(base + 11, name + "intermediate.dense.bias", kHidden, kInner);
    layer.outer = linear(base + 12, name + "output.dense.bias", kInner, kHidden);
    layer.norm = norm(name + "output.LayerNorm");
    return layer;
  }
};

Result<MiniLm> MiniLm::read(std::string_view onnx) {
  TERTULIA_TRY_AS(auto tensors, read_onnx_tensors(onnx));
  Loader loader{.tensors = std::move(tensors)};
  constexpr std::size_t kWords = 30'522;
  constexpr std::size_t kPlaces = 512;
  MiniLm model;
  model.words_ = loader.table("embeddings.word_embeddings.weight", kWords * kHidden);
  model.places_ = loader.table("embeddings.position_embeddings.weight", kPlaces * kHidden);
  model.kind_ = loader.table("embeddings.token_type_embeddings.weight", 2 * kHidden);
  model.norm_ = loader.norm("embeddings.LayerNorm");
  for (std::size_t i = 0; i < kLayers; ++i) model.layers_[i] = loader.layer(static_cast<int>(i));
  if (!loader.missing.empty()) {
    return Error(ErrorCode::kDamaged,
                 "the model has no weights '" + loader.missing + "' of the form that is needed");
  }
  return model;
}

void MiniLm::embed_words(std::span<const std::vector<std::uint32_t>> texts,
                         std::vector<float>& states) const {
  for (const std::vector<std::uint32_t>& text : texts) {
    for (std::size_t place = 0; place < text.size(); ++place) {
      const float* word = words_.data() + std::size_t{text[place]} * kHidden;
      const float* where = places_.data() + place * kHidden;
      for (std::size_t i = 0; i < kHidden; ++i) states.push_back(word[i] + where[i] + kind_[i]);
    }
  }
}

std::vector<Vector> MiniLm::embed(std::span<const std::vector<std::uint32_t>> texts) const {
  const OneThread one_thread;
  std::vector<float> states;
  embed_words(texts, states);
  normalise(states, norm_.weight, norm_.bias);
  std::vector<float> query_key_value;
  std::vector<float> scores;
  std::vector<float> seen(states.size());
  std::vector<float> inner;
  std::vector<float> out;
  for (const Layer& layer : layers_) {
    apply(layer.attention.weight, layer.attention.bias, states, kHidden, query_key_value);
    std::size_t first = 0;
    for (const std::vector<std::uint32_t>& text : texts) {
      attend(query_key_value, first, text.size(), scores, seen);
      first += text.size();
    }
    apply(layer.attention_out.weight, layer.attention_out.bias, seen, kHidden, out);
    add(states, out);
    normalise(states, layer.attention_norm.weight, layer.attention_norm.bias);
    apply(layer.inner.weight, layer.inner.bias, states, kHidden, inner);
    gelu(inner);
    apply(layer.outer.weight, layer.outer.bias, inner, kInner, out);
    add(states, out);
    normalise(states, layer.norm.weight, layer.norm.bias);
  }
  std::vector<Vector> vectors;
  std::size_t first = 0;
  for (const std::vector<std::uint32_t>& text : texts) {
    vectors.push_back(mean_of(states.data() + first * kHidden, text.size()));
    first += text.size();
  }
  return vectors;
}

}  // namespace tertulia
