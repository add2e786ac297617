// A Tokenizer made of a splitting pattern, a vocabulary and, for some, a normal form.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/text/tokenizer.h"

#include "bpe.h"
#include "piece_scanner.h"

namespace tertulia {

struct BpeTokenizerParts {
  std::string name;
  Pattern pattern = Pattern::kO200k;
  // Text is brought into NFC first.
  bool normalizes = false;
  Bpe bpe;
  // What the outside calls each token of `bpe`; empty if it is the same.
  std::vector<std::uint32_t> ids;
};

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeTokenizerParts parts);

  std::string_view name() const override { return parts_.name; }
  std::size_t count(std::string_view text) const override;
  Result<std::vector<std::uint32_t>> encode(std::string_view text) const override;
  Result<std::string> decode(std::span<const std::uint32_t> ids) const override;
  std::unique_ptr<StreamCounter> new_stream() const override;

  Pattern pattern() const { return parts_.pattern; }
  bool normalizes() const { return parts_.normalizes; }
  const Bpe& bpe() const { return parts_.bpe; }

 private:
  Token token_of(std::uint32_t id) const;

  BpeTokenizerParts parts_;
  // Never used again by another tokenizer, unlike an address.
  std::uint32_t serial_;
  // The way back from `ids`.
  std::vector<Token> tokens_;
};

}  // namespace tertulia
