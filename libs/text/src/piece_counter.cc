#include "piece_counter.h"

#include <algorithm>
#include <utility>

#include "nfc.h"

namespace tertulia {
namespace {

// Below this a piece is simply encoded again.
constexpr std::size_t kShortPiece = 256;
constexpr std::size_t kForgetAtOnce = 4096;

// The length of a character at the end that lacks bytes; 0 if there is none.
std::size_t cut_off(std::string_view text) {
  for (std::size_t back = 1; back <= std::min(text.size(), std::size_t{3}); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80) continue;
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return needs > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::size_t GrowingPiece::count(const Bpe& bpe, std::string_view text, std::size_t start, std::size_t end,
                                std::size_t& work) {
  if (start != start_) {
    start_ = start;
    size_ = 0;
    tokens_.clear();
  }
  cut(bpe, end);
  if (size_ < end - start) {
    work += bpe.extend_merged(text.substr(start, end - start), size_, tokens_);
    size_ = end - start;
  }
  return tokens_.size();
}

void GrowingPiece::cut(const Bpe& bpe, std::size_t end) {
  const std::size_t most = end > start_ ? end - start_ : 0;
  for (; size_ > most; tokens_.pop_back()) size_ -= bpe.bytes_of(tokens_.back()).size();
}

std::size_t PieceCounter::count_piece(std::size_t start, std::size_t end) {
  const Bpe& bpe = tokenizer_.bpe();
  const std::string_view piece = std::string_view(tail_).substr(start, end - start);
  if (bpe.find(piece) != kNoToken) return 1;
  if (piece.size() <= kShortPiece) {
    work_ += piece.size();
    return bpe.count_merged(piece);
  }
  // Two are kept, each known by its start: the next to be settled, and the one behind it.
  GrowingPiece* growing = &growing_[growing_[0].start() == machine_.start() ? 1 : 0];
  for (GrowingPiece& known : growing_) {
    if (known.start() == start) growing = &known;
  }
  return growing->count(bpe, tail_, start, end, work_);
}

void PieceCounter::append(std::string_view chunk) {
  if (chunk.empty()) return;
  total_.reset();
  raw_ += chunk;
  std::size_t whole = raw_.size() - cut_off(raw_);
  if (tokenizer_.normalizes()) {
    whole = nfc_settled(std::string_view(raw_).substr(0, whole));
    std::string storage;
    tail_ += nfc(std::string_view(raw_).substr(0, whole), storage);
  } else {
    tail_.append(raw_, 0, whole);
  }
  raw_.erase(0, whole);

  std::size_t start = machine_.start();
  ends_.clear();
  work_ += tail_.size() - machine_.at();
  machine_.read(tail_, ends_);
  for (std::size_t end : ends_) {
    settled_ += count_piece(start, end);
    start = end;
  }
  forget_settled();
}

std::size_t PieceCounter::total() {
  if (total_) return *total_;
  // As if the text ended here: a copy of the machine reads what is held back, and all of it is taken back
  // after.
  const std::size_t size = tail_.size();
  std::string storage;
  tail_ += tokenizer_.normalizes() ? nfc(raw_, storage) : raw_;
  work_ += tail_.size() - size;
  PieceMachine ahead = machine_;
  ends_.clear();
  ahead.read(tail_, ends_);
  for (std::size_t end : {ahead.end_if_last(), tail_.size()}) {
    if (ends_.empty() ? end > machine_.start() : end > ends_.back()) ends_.push_back(end);
  }
  std::size_t total = settled_;
  std::size_t start = machine_.start();
  for (std::size_t end : ends_) {
    total += count_piece(start, end);
    start = end;
  }
  tail_.resize(size);
  for (GrowingPiece& growing : growing_) growing.cut(tokenizer_.bpe(), size);
  total_ = total;
  return total;
}

void PieceCounter::forget_settled() {
  const std::size_t settled = machine_.start();
  if (settled < kForgetAtOnce || settled < tail_.size() / 2) return;
  tail_.erase(0, settled);
  machine_.rebase(settled);
  for (GrowingPiece& growing : growing_) growing.rebase(settled);
}

std::unique_ptr<StreamCounter> make_piece_counter(const BpeTokenizer& tokenizer) {
  return std::make_unique<PieceCounter>(tokenizer);
}

}  // namespace tertulia
