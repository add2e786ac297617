// all-MiniLM-L6-v2: six layers of attention over word pieces, averaged into one vector a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

// Concurrency: immutable; any thread, any number at a time. Each call computes on its own thread.
class MiniLm {
 public:
  static constexpr std::size_t kHidden = 384;
  static constexpr std::size_t kInner = 1'536;
  static constexpr std::size_t kHeads = 12;
  static constexpr std::size_t kLayers = 6;
  static constexpr std::size_t kMaxTokens = 256;

  // From the bytes of the ONNX file, which are not needed afterwards. kDamaged if a weight is missing or of
  // another form.
  static Result<MiniLm> read(std::string_view onnx);

  // The ids of each text with [CLS] and [SEP], at most kMaxTokens; vectors of length 1.
  std::vector<Vector> embed(std::span<const std::vector<std::uint32_t>> texts) const;

 private:
  struct Norm {
    std::vector<float> weight;
    std::vector<float> bias;
  };
  // A matrix of inputs × outputs, row by row, and what is added.
  struct Linear {
    std::vector<float> weight;
    std::vector<float> bias;
  };
  struct Layer {
    // Query, key and value side by side.
    Linear attention;
    Linear attention_out;
    Norm attention_norm;
    Linear inner;
    Linear outer;
    Norm norm;
  };
  struct Loader;

  void embed_words(std::span<const std::vector<std::uint32_t>> texts, std::vector<float>& states) const;

  std::vector<float> words_;
  std::vector<float> places_;
  std::vector<float> kind_;
  Norm norm_;
  std::array<Layer, kLayers> layers_;
};

}  // namespace tertulia
