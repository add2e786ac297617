#include "tertulia/text/tokenizer.h"

#include <string>
#include <utility>

#include "tertulia/base/check.h"

#include "bpe_tokenizer.h"
#include "packed_vocabulary.h"

namespace tertulia {
namespace {

class WholeTextCounter final : public StreamCounter {
 public:
  explicit WholeTextCounter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void append(std::string_view chunk) override { text_ += chunk; }
  std::size_t total() override { return tokenizer_.count(text_); }

 private:
  const Tokenizer& tokenizer_;
  std::string text_;
};

constexpr std::size_t estimate(std::size_t bytes) { return bytes / 4 + (bytes % 4 != 0 ? 1 : 0); }

class EstimateCounter final : public StreamCounter {
 public:
  void append(std::string_view chunk) override { bytes_ += chunk.size(); }
  std::size_t total() override { return estimate(bytes_); }

 private:
  std::size_t bytes_ = 0;
};

Error no_ids() {
  return Error(
      ErrorCode::kUnknownTokenizer,
      "an estimate has no token ids: ask for a tokenizer by name, or load the model's tokenizer.json");
}

class EstimatingTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "estimate"; }
  bool is_estimate() const override { return true; }
  std::size_t count(std::string_view text) const override { return estimate(text.size()); }
  Result<std::vector<std::uint32_t>> encode(std::string_view) const override { return no_ids(); }
  Result<std::string> decode(std::span<const std::uint32_t>) const override { return no_ids(); }
  std::unique_ptr<StreamCounter> new_stream() const override { return std::make_unique<EstimateCounter>(); }
};

std::shared_ptr<const Tokenizer> unpack(std::string_view name, Pattern pattern) {
  Result<Bpe> bpe = read_vocabulary(embedded_vocabularies(), name);
  TERTULIA_CHECK(bpe.ok(), bpe.error().message());
  return std::make_shared<BpeTokenizer>(
      BpeTokenizerParts{.name = std::string(name), .pattern = pattern, .bpe = *std::move(bpe)});
}

std::shared_ptr<const Tokenizer> o200k_base() {
  static const std::shared_ptr<const Tokenizer> tokenizer = unpack("o200k_base", Pattern::kO200k);
  return tokenizer;
}

std::shared_ptr<const Tokenizer> cl100k_base() {
  static const std::shared_ptr<const Tokenizer> tokenizer = unpack("cl100k_base", Pattern::kCl100k);
  return tokenizer;
}

struct ModelFamily {
  std::string_view prefix;
  std::shared_ptr<const Tokenizer> (*tokenizer)();
};

// The first that fits: a longer name stands before its own beginning.
constexpr ModelFamily kFamilies[] = {
    {"chatgpt-4o", o200k_base},
    {"gpt-4.1", o200k_base},
    {"gpt-4.5", o200k_base},
    {"gpt-4o", o200k_base},
    {"gpt-5", o200k_base},
    {"o1", o200k_base},
    {"o3", o200k_base},
    {"o4", o200k_base},
    {"gpt-3.5", cl100k_base},
    {"gpt-35-turbo", cl100k_base},
    {"gpt-4", cl100k_base},
    {"text-embedding-3", cl100k_base},
    {"text-embedding-ada-002", cl100k_base},
};

// "o1" and "o1-mini" are of the family "o1"; "o10" and "gpt-40" are not of "o1" and "gpt-4".
bool belongs(std::string_view model, std::string_view prefix) {
  if (!model.starts_with(prefix)) return false;
  const char next = model.size() == prefix.size() ? '-' : model[prefix.size()];
  return next == '-' || next == ':' || next == '.' || next == '@';
}

}  // namespace

std::unique_ptr<StreamCounter> Tokenizer::new_stream() const {
  return std::make_unique<WholeTextCounter>(*this);
}

Result<std::shared_ptr<const Tokenizer>> tokenizer_named(std::string_view name) {
  if (name == "o200k_base") return o200k_base();
  if (name == "cl100k_base") return cl100k_base();
  if (name == "estimate") return estimating_tokenizer();
  return Error(ErrorCode::kUnknownTokenizer, "there is no tokenizer named '" +
                                                 std::string(name.substr(0, 80)) +
                                                 "'; there are o200k_base, cl100k_base and estimate")
      .with("known", std::vector<std::string>{"o200k_base", "cl100k_base", "estimate"});
}

std::shared_ptr<const Tokenizer> tokenizer_for_model(std::string_view model) {
  if (const std::size_t slash = model.rfind('/'); slash != std::string_view::npos)
    model.remove_prefix(slash + 1);
  for (const ModelFamily& family : kFamilies) {
    if (belongs(model, family.prefix)) return family.tokenizer();
  }
  return estimating_tokenizer();
}

std::shared_ptr<const Tokenizer> estimating_tokenizer() {
  static const std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<EstimatingTokenizer>();
  return tokenizer;
}

}  // namespace tertulia
