#include <cmath>

#include "tertulia/model/embedder.h"

#include "embedder/static_table.h"

namespace tertulia {
namespace {

class StaticEmbedder final : public Embedder {
 public:
  StaticEmbedder() : table_(StaticTable::get()) {
    info_ = {.name = "static-minilm-1",
             .dimensions = table_.dimensions(),
             .max_tokens = 0,
             .batch = 256,
             .unrelated = 0.35F,
             .fitting = 0.45F,
             .same = 0.75F};
  }

  const EmbedderInfo& info() const override { return info_; }

  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    if (auto cancelled = call.cancel.check(); !cancelled) return done(std::move(cancelled).error());
    std::vector<Vector> vectors;
    vectors.reserve(call.texts.size());
    for (const std::string& text : call.texts) vectors.push_back(vector_of(text));
    done(std::move(vectors));
  }

 private:
  Vector vector_of(std::string_view text) const {
    Vector sum(table_.dimensions());
    for (const std::uint32_t piece : table_.pieces().encode(text)) table_.add(piece, sum);
    float square = 0;
    for (const float value : sum) square += value * value;
    if (square == 0) return sum;
    const float length = std::sqrt(square);
    for (float& value : sum) value /= length;
    return sum;
  }

  const StaticTable& table_;
  EmbedderInfo info_;
};

}  // namespace

std::shared_ptr<Embedder> static_embedder() {
  static const std::shared_ptr<Embedder> embedder = std::make_shared<StaticEmbedder>();
  return embedder;
}

}  // namespace tertulia
