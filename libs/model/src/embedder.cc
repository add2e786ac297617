#include "tertulia/model/embedder.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tertulia/base/sha256.h"
#include "tertulia/model/ask_model.h"

namespace tertulia {
namespace {

// What it throws is its answer.
void ask_embedder(Embedder& embedder, EmbedCall call, Done<std::vector<Vector>> done) {
  const Done<std::vector<Vector>> once = first_answer(std::move(done));
  try {
    embedder.embed(std::move(call), once);
  } catch (...) {
    once(model_threw());
  }
}

// One vector for each text, of numbers: an embedder may be anybody's.
Result<void> check_vectors(const std::vector<Vector>& vectors, std::size_t texts) {
  if (vectors.size() != texts) {
    return Error(ErrorCode::kBadStream, "the embedder gave " + std::to_string(vectors.size()) +
                                            " vectors for " + std::to_string(texts) + " texts");
  }
  for (const Vector& vector : vectors) {
    for (const float number : vector) {
      if (!std::isfinite(number))
        return Error(ErrorCode::kBadStream, "the embedder gave a vector with a number that is not finite");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Vector>> embed(Embedder& embedder, EmbedCall call) {
  const std::size_t batch = std::max<std::size_t>(embedder.info().batch, 1);
  std::vector<Vector> all;
  all.reserve(call.texts.size());
  for (std::size_t from = 0; from < call.texts.size(); from += batch) {
    TERTULIA_TRY(call.cancel.check());
    EmbedCall part{.cancel = call.cancel, .deadline = call.deadline};
    const std::size_t end = std::min(from + batch, call.texts.size());
    for (std::size_t i = from; i < end; ++i) part.texts.push_back(std::move(call.texts[i]));
    TERTULIA_TRY_AS(std::vector<Vector> vectors, wait<std::vector<Vector>>([&](auto done) {
                      ask_embedder(embedder, std::move(part), std::move(done));
                    }));
    TERTULIA_TRY(check_vectors(vectors, end - from));
    std::move(vectors.begin(), vectors.end(), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<Vector>> embed(Embedder& embedder, std::vector<std::string> texts) {
  return embed(embedder, EmbedCall{.texts = std::move(texts)});
}

namespace {

// The latest vectors, the one that was used last in front.
class VectorCache {
 public:
  explicit VectorCache(std::size_t entries) : entries_(entries) {}

  std::optional<Vector> find(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    auto found = places_.find(hash);
    if (found == places_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  void put(const std::string& hash, const Vector& vector) {
    const std::lock_guard lock(mutex_);
    if (places_.contains(hash)) return;
    order_.emplace_front(hash, vector);
    places_.emplace(hash, order_.begin());
    if (order_.size() <= entries_) return;
    places_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  using Order = std::list<std::pair<std::string, Vector>>;

  const std::size_t entries_;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> places_;
};

class CachedEmbedder final : public Embedder {
 public:
  CachedEmbedder(std::shared_ptr<Embedder> embedder, std::size_t entries)
      : embedder_(std::move(embedder)), cache_(std::make_shared<VectorCache>(entries)) {}

  const EmbedderInfo& info() const override { return embedder_->info(); }

  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    std::vector<Vector> vectors(call.texts.size());
    std::vector<std::size_t> missing;
    std::vector<std::string> hashes;
    EmbedCall rest{.cancel = call.cancel, .deadline = call.deadline};
    for (std::size_t i = 0; i < call.texts.size(); ++i) {
      std::string hash = sha256_bytes(call.texts[i]);
      if (auto known = cache_->find(hash)) {
        vectors[i] = *std::move(known);
        continue;
      }
      missing.push_back(i);
      hashes.push_back(std::move(hash));
      rest.texts.push_back(std::move(call.texts[i]));
    }
    if (missing.empty()) return done(std::move(vectors));
    embedder_->embed(std::move(rest), [cache = cache_, vectors = std::move(vectors),
                                       missing = std::move(missing), hashes = std::move(hashes),
                                       done = std::move(done)](Result<std::vector<Vector>> fresh) mutable {
      if (!fresh) return done(std::move(fresh).error());
      if (Result<void> right = check_vectors(*fresh, missing.size()); !right)
        return done(std::move(right).error());
      for (std::size_t i = 0; i < missing.size(); ++i) {
        cache->put(hashes[i], (*fresh)[i]);
        vectors[missing[i]] = std::move((*fresh)[i]);
      }
      done(std::move(vectors));
    });
  }

 private:
  std::shared_ptr<Embedder> embedder_;
  std::shared_ptr<VectorCache> cache_;
};

}  // namespace

std::shared_ptr<Embedder> cached_embedder(std::shared_ptr<Embedder> embedder, std::size_t entries) {
  return std::make_shared<CachedEmbedder>(std::move(embedder), std::max<std::size_t>(entries, 1));
}

}  // namespace tertulia
