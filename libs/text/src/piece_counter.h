// The StreamCounter of a BpeTokenizer.
//
// Pieces that can no longer change are counted and forgotten. What is left is at most two pieces, and of a
// long one only the last tokens are encoded again when it grows.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe.h"
#include "bpe_tokenizer.h"
#include "piece_machine.h"

namespace tertulia {

// The tokens of one piece that grows, or shrinks by a little.
class GrowingPiece {
 public:
  std::size_t start() const { return start_; }
  // Forgotten bytes in front; a piece among them is never asked for again.
  void rebase(std::size_t count) { start_ -= count; }
  // Keeps only tokens before `end`: what stood behind it was not final.
  void cut(const Bpe& bpe, std::size_t end);

  // The tokens of `text` from `start` to `end`. Adds to `work` the bytes that were looked at.
  std::size_t count(const Bpe& bpe, std::string_view text, std::size_t start, std::size_t end,
                    std::size_t& work);

 private:
  std::size_t start_ = 0;
  std::size_t size_ = 0;
  std::vector<Token> tokens_;
};

class PieceCounter final : public StreamCounter {
 public:
  explicit PieceCounter(const BpeTokenizer& tokenizer)
      : tokenizer_(tokenizer), machine_(tokenizer.pattern()) {}

  void append(std::string_view chunk) override;
  std::size_t total() override;

  // How many bytes were looked at in all: what a test compares instead of time.
  std::size_t work() const { return work_; }
  // How many bytes are kept because they may still change.
  std::size_t kept() const { return tail_.size() + raw_.size(); }

 private:
  std::size_t count_piece(std::size_t start, std::size_t end);
  void forget_settled();

  const BpeTokenizer& tokenizer_;
  // What arrived and may still join with what comes: a cut-off character, or one that NFC may compose.
  std::string raw_;
  // What is final as characters, from the first piece on that is not settled.
  std::string tail_;
  PieceMachine machine_;
  GrowingPiece growing_[2];
  std::size_t settled_ = 0;
  std::optional<std::size_t> total_ = 0;
  std::vector<std::size_t> ends_;
  std::size_t work_ = 0;
};

std::unique_ptr<StreamCounter> make_piece_counter(const BpeTokenizer& tokenizer);

}  // namespace tertulia
