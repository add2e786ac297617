#include "bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "nfc.h"
#include "piece_counter.h"

namespace tertulia {
namespace {

// Calls `visit(begin, end)` for each piece of the text.
template <Pattern pattern, class Visit>
void for_each_piece(std::string_view text, Visit&& visit) {
  const PieceScanner<pattern> scanner(CharClasses::get());
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = scanner.next(at, end);
    visit(std::string_view(at, static_cast<std::size_t>(next - at)), static_cast<std::size_t>(end - at));
    at = next;
  }
}

template <class Visit>
void for_each_piece(Pattern pattern, std::string_view text, Visit&& visit) {
  switch (pattern) {
    case Pattern::kCl100k:
      return for_each_piece<Pattern::kCl100k>(text, visit);
    case Pattern::kO200k:
      return for_each_piece<Pattern::kO200k>(text, visit);
    case Pattern::kQwen:
      return for_each_piece<Pattern::kQwen>(text, visit);
  }
}

// What short pieces lately cost. Words repeat so much that this small table, which stays in the nearest
// memory, answers for most of the large ones. Tokenizers share it and are told apart by their serials.
class RecentPieces {
 public:
  // The cost of the piece, from `count` if it is not here.
  template <class Count>
  std::size_t cost(std::uint32_t serial, std::string_view piece, std::size_t room, Count&& count) {
    const Bpe::ShortKey key = Bpe::short_key(piece, room);
    const std::uint64_t hash = (key.low ^ key.high) * 0x9E3779B97F4A7C15U;
    Entry& entry = entries_[hash >> (64U - kBits)];
    if (entry.key != key || entry.serial != serial) {
      entry = {key, static_cast<std::uint32_t>(count()), serial};
    }
    return entry.tokens;
  }

  // This thread's. On the heap: a thread that never counts does not pay for it.
  static RecentPieces& of_this_thread() {
    thread_local const std::unique_ptr<RecentPieces> recent = std::make_unique<RecentPieces>();
    return *recent;
  }

 private:
  // 192 KiB a thread. A quarter of it makes English a third slower.
  static constexpr unsigned kBits = 13;
  struct Entry {
    Bpe::ShortKey key;
    std::uint32_t tokens = 0;
    std::uint32_t serial = 0;  // of no tokenizer
  };
  std::array<Entry, 1U << kBits> entries_{};
};

std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeTokenizerParts parts) : parts_(std::move(parts)), serial_(next_serial()) {
  if (parts_.ids.empty()) return;
  tokens_.assign(std::size_t{*std::ranges::max_element(parts_.ids)} + 1, kNoToken);
  for (std::size_t i = 0; i < parts_.ids.size(); ++i) tokens_[parts_.ids[i]] = static_cast<Token>(i);
}

Token BpeTokenizer::token_of(std::uint32_t id) const {
  if (parts_.ids.empty()) return id < parts_.bpe.size() ? id : kNoToken;
  return id < tokens_.size() ? tokens_[id] : kNoToken;
}

std::size_t BpeTokenizer::count(std::string_view text) const {
  std::string normal;
  if (parts_.normalizes) text = nfc(text, normal);
  std::size_t total = 0;
  const Bpe& bpe = parts_.bpe;
  RecentPieces& recent = RecentPieces::of_this_thread();
  for_each_piece(parts_.pattern, text, [&](std::string_view piece, std::size_t room) {
    const auto count_piece = [&] { return bpe.find(piece, room) != kNoToken ? 1 : bpe.count_merged(piece); };
    total +=
        piece.size() <= Bpe::kShortKeyBytes ? recent.cost(serial_, piece, room, count_piece) : count_piece();
  });
  return total;
}

Result<std::vector<std::uint32_t>> BpeTokenizer::encode(std::string_view text) const {
  std::string normal;
  if (parts_.normalizes) text = nfc(text, normal);
  std::vector<std::uint32_t> out;
  out.reserve(text.size() / 4 + 1);
  const Bpe& bpe = parts_.bpe;
  for_each_piece(parts_.pattern, text, [&](std::string_view piece, std::size_t room) {
    const Token whole = bpe.find(piece, room);
    if (whole != kNoToken) {
      out.push_back(whole);
    } else {
      bpe.encode_merged(piece, out);
    }
  });
  if (!parts_.ids.empty()) {
    for (std::uint32_t& id : out) id = parts_.ids[id];
  }
  return out;
}

Result<std::string> BpeTokenizer::decode(std::span<const std::uint32_t> ids) const {
  std::string out;
  out.reserve(ids.size() * 4);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Token token = token_of(ids[i]);
    if (token == kNoToken) {
      return Error(ErrorCode::kOutOfRange, "token id " + std::to_string(ids[i]) + " at index " +
                                               std::to_string(i) + " is not in the vocabulary " + parts_.name)
          .with("index", static_cast<std::int64_t>(i));
    }
    out += parts_.bpe.bytes_of(token);
  }
  return out;
}

std::unique_ptr<StreamCounter> BpeTokenizer::new_stream() const { return make_piece_counter(*this); }

}  // namespace tertulia
