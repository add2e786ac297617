#include "embedder/onnx_tensors.h"

#include <optional>

namespace tertulia {
namespace {

// The parts of ONNX that hold weights: ModelProto.graph, GraphProto.initializer, and within TensorProto dims,
// data_type, float_data, int32_data, name and raw_data.
constexpr std::uint64_t kGraph = 7;
constexpr std::uint64_t kInitializer = 5;
constexpr std::uint64_t kShape = 1;
constexpr std::uint64_t kType = 2;
constexpr std::uint64_t kFloats = 4;
constexpr std::uint64_t kIntegers = 5;
constexpr std::uint64_t kName = 8;
constexpr std::uint64_t kRaw = 9;

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  // Of a field with a length; empty for numbers.
  std::string_view bytes{};
};

// Reads the fields of a protobuf message one after the other.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  // None if the bytes are no message.
  std::optional<Field> next() {
    const auto key = number();
    if (!key) return std::nullopt;
    Field field{.number = *key >> 3U};
    switch (*key & 7U) {
      case 0: {
        const auto value = number();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return take(8, field);
      case 2: {
        const auto size = number();
        return size ? take(*size, field) : std::nullopt;
      }
      case 5:
        return take(4, field);
      default:
        return std::nullopt;
    }
  }

  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }

 private:
  std::optional<Field> take(std::uint64_t size, Field field) {
    if (size > rest_.size()) return std::nullopt;
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

Error damaged() { return Error(ErrorCode::kDamaged, "this is not an ONNX model that can be read"); }

Result<std::string_view> graph_of(std::string_view file) {
  FieldReader reader(file);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return damaged();
    if (field->number == kGraph) return field->bytes;
  }
  return damaged();
}

struct Named {
  std::string name;
  OnnxTensor tensor;
};

Result<Named> tensor_of(std::string_view bytes) {
  Named named;
  FieldReader reader(bytes);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return damaged();
    if (field->number == kShape && field->bytes.empty()) named.tensor.shape.push_back(field->value);
    if (field->number == kShape && !field->bytes.empty()) {
      FieldReader packed(field->bytes);
      while (!packed.at_end()) {
        const auto size = packed.number();
        if (!size) return damaged();
        named.tensor.shape.push_back(*size);
      }
    }
    if (field->number == kType) named.tensor.type = field->value;
    if (field->number == kName) named.name = field->bytes;
    if (field->number == kRaw || field->number == kFloats) named.tensor.bytes = field->bytes;
    if (field->number == kIntegers) {
      const auto number =
          field->bytes.empty() ? field->value : FieldReader(field->bytes).number().value_or(0);
      named.tensor.number = static_cast<std::int64_t>(number);
    }
  }
  return named;
}

}  // namespace

std::size_t OnnxTensor::count() const {
  std::size_t product = 1;
  for (const std::uint64_t size : shape) product *= size;
  return product;
}

Result<std::map<std::string, OnnxTensor, std::less<>>> read_onnx_tensors(std::string_view file) {
  std::map<std::string, OnnxTensor, std::less<>> tensors;
  TERTULIA_TRY_AS(std::string_view graph, graph_of(file));
  FieldReader reader(graph);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return damaged();
    if (field->number != kInitializer) continue;
    TERTULIA_TRY_AS(Named named, tensor_of(field->bytes));
    tensors.insert_or_assign(std::move(named.name), std::move(named.tensor));
  }
  return tensors;
}

}  // namespace tertulia
