#include "tertulia/model/minilm_embedder.h"

#include <algorithm>

#include "tertulia/base/env.h"
#include "tertulia/base/sha256.h"

#include "embedder/minilm.h"
#include "embedder/static_table.h"

namespace tertulia {
namespace {

constexpr std::string_view kWeightsHash = "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1";
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;
// Tokens that are computed together: enough for the kernels, little enough for the caches.
constexpr std::size_t kBatchTokens = 512;

class MiniLmEmbedder final : public Embedder {
 public:
  explicit MiniLmEmbedder(MiniLm model) : model_(std::move(model)) {
    info_ = {.name = "all-MiniLM-L6-v2",
             .dimensions = MiniLm::kHidden,
             .max_tokens = MiniLm::kMaxTokens,
             .batch = 64,
             .unrelated = 0.1F,
             .fitting = 0.28F,
             .same = 0.6F};
  }

  const EmbedderInfo& info() const override { return info_; }

  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    std::vector<Vector> vectors;
    std::vector<std::vector<std::uint32_t>> batch;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < call.texts.size(); ++i) {
      batch.push_back(ids_of(call.texts[i]));
      tokens += batch.back().size();
      if (tokens < kBatchTokens && i + 1 < call.texts.size()) continue;
      if (auto cancelled = call.cancel.check(); !cancelled) return done(std::move(cancelled).error());
      for (Vector& vector : model_.embed(batch)) vectors.push_back(std::move(vector));
      batch.clear();
      tokens = 0;
    }
    done(std::move(vectors));
  }

 private:
  static std::vector<std::uint32_t> ids_of(std::string_view text) {
    const WordPieces& pieces = StaticTable::get().pieces();
    // The model was made for so many pieces: of a longer text (chunks of documents have up to 512 tokens) the
    // vector is that of its beginning, and the rest is found by its words. EmbedderInfo::max_tokens says so.
    std::vector<std::uint32_t> ids = pieces.encode(text, MiniLm::kMaxTokens - 2);
    ids.insert(ids.begin(), pieces.begin());
    ids.push_back(pieces.end());
    return ids;
  }

  MiniLm model_;
  EmbedderInfo info_;
};

// Where the weights are if nobody says so: installed with the library or by its package, or where the build
// found them.
Result<std::string> read_weights(const std::string& path) {
  FileSystem& files = real_env().files();
  if (!path.empty()) return read_file(files, path, kMostBytes);
  for (const char* place : {TERTULIA_MINILM_INSTALLED, "/usr/share/tertulia/all-MiniLM-L6-v2.onnx"}) {
    if (auto installed = read_file(files, place, kMostBytes)) return installed;
  }
  return read_file(files, TERTULIA_MINILM_BUILT, kMostBytes);
}

}  // namespace

Result<std::shared_ptr<Embedder>> minilm_embedder(const std::string& path) {
  Result<std::string> bytes = read_weights(path);
  if (!bytes) return std::move(bytes).error().in("read the weights of all-MiniLM-L6-v2");
  if (sha256_hex(*bytes) != kWeightsHash) {
    return Error(
        ErrorCode::kDamaged,
        "these are not the weights of all-MiniLM-L6-v2 that this was written for; install them again");
  }
  TERTULIA_TRY_AS(MiniLm model, MiniLm::read(*bytes));
  return std::shared_ptr<Embedder>(std::make_shared<MiniLmEmbedder>(std::move(model)));
}

}  // namespace tertulia
