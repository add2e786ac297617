#include "tertulia/text/word_pieces.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "tertulia/base/utf8.h"

#include "fold_tables.h"
#include "nfc.h"

namespace tertulia {
namespace {

// A word with more characters than this is not looked up, as the models were trained.
constexpr std::size_t kLongestWord = 100;

enum class Kind : std::uint8_t { kDropped, kSpace, kAlone, kLetter };

struct Range {
  Code first;
  Code end;
  Kind kind;
};

// Everything beyond ASCII, sorted by code point.
class FoldTable {
 public:
  static const FoldTable& get() {
    static const FoldTable table;
    return table;
  }

  Kind kind(Code code) const {
    auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                  [](Code value, const Range& range) { return value < range.first; });
    if (after == ranges_.begin() || code >= std::prev(after)->end) return Kind::kLetter;
    return std::prev(after)->kind;
  }

  // Calls `emit` for each code point that stands for `code`.
  template <class Emit>
  void fold(Code code, const Emit& emit) const {
    if (code - 0xAC00U < 11'172U) {
      const Code syllable = code - 0xAC00U;
      emit(0x1100U + syllable / 588U);
      emit(0x1161U + syllable % 588U / 28U);
      if (syllable % 28U != 0) emit(0x11A7U + syllable % 28U);
      return;
    }
    auto found = std::lower_bound(folds_.begin(), folds_.end(), std::pair<Code, std::size_t>(code, 0));
    if (found == folds_.end() || found->first != code) return emit(code);
    const std::size_t count = kFolds[found->second] & 7U;
    for (std::size_t i = 1; i <= count; ++i) emit(kFolds[found->second + i]);
  }

 private:
  FoldTable() {
    for (std::size_t i = 0; i < kFoldRangesSize; i += 2) {
      const Code first = kFoldRanges[i];
      ranges_.push_back(
          {first, first + (kFoldRanges[i + 1] >> 2U), static_cast<Kind>(kFoldRanges[i + 1] & 3U)});
    }
    Code code = 0x80;
    for (std::size_t i = 0; i < kFoldsSize; i += 1 + (kFolds[i] & 7U)) {
      code += kFolds[i] >> 3U;
      folds_.emplace_back(code, i);
    }
  }

  std::vector<Range> ranges_;
  // A code point and where in kFolds it stands.
  std::vector<std::pair<Code, std::size_t>> folds_;
};

bool is_ideograph(Code code) {
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

// Of well-formed UTF-8.
Code next_code(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  Code code = size == 1 ? lead : lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) code = code << 6U | (byte(at + i) & 0x3FU);
  at += size;
  return code;
}

Kind ascii_kind(Code code) {
  if (code == ' ' || code == '\t' || code == '\n' || code == '\r') return Kind::kSpace;
  if (code < 0x20 || code == 0x7F) return Kind::kDropped;
  const bool is_word =
      (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  return is_word ? Kind::kLetter : Kind::kAlone;
}

Kind kind_of(Code code) { return code < 0x80 ? ascii_kind(code) : FoldTable::get().kind(code); }

class WordSplitter {
 public:
  void add(Code code) {
    const Kind kind = kind_of(code);
    if (kind == Kind::kDropped) return;
    if (kind == Kind::kSpace) return flush();
    const bool ideograph = is_ideograph(code);
    if (ideograph) flush();
    if (code < 0x80) {
      put(code >= 'A' && code <= 'Z' ? code + 32 : code, kind);
    } else {
      FoldTable::get().fold(code, [&](Code folded) { put(folded, kind_of(folded)); });
    }
    if (ideograph) flush();
  }

  std::vector<std::string> take() {
    flush();
    return std::move(words_);
  }

 private:
  void put(Code code, Kind kind) {
    if (kind == Kind::kDropped) return;
    if (kind == Kind::kSpace) return flush();
    if (kind == Kind::kAlone) flush();
    append_utf8(word_, code);
    if (kind == Kind::kAlone) flush();
  }

  void flush() {
    if (!word_.empty()) words_.push_back(std::exchange(word_, {}));
  }

  std::string word_;
  std::vector<std::string> words_;
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::vector<std::string> folded_words(std::string_view text) {
  std::string clean;
  if (!is_utf8(text)) {
    clean = sanitize_utf8(text);
    text = clean;
  }
  WordSplitter splitter;
  for (std::size_t at = 0; at < text.size();) splitter.add(next_code(text, at));
  return splitter.take();
}

struct WordPieces::Table {
  // Pieces that begin a word, and those that go on within one, without their "##".
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> first;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> inner;
  std::size_t longest = 0;
  std::size_t size = 0;
  std::uint32_t unknown = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool encode(std::string_view word, std::vector<std::uint32_t>& ids) const {
    const auto characters = std::count_if(word.begin(), word.end(), starts_character);
    if (static_cast<std::size_t>(characters) > kLongestWord) return false;
    for (std::size_t from = 0; from < word.size();) {
      const auto& pieces = from == 0 ? first : inner;
      std::size_t length = std::min(word.size() - from, longest);
      auto found = pieces.end();
      for (; length > 0; --length) {
        if (from + length < word.size() && !starts_character(word[from + length])) continue;
        found = pieces.find(word.substr(from, length));
        if (found != pieces.end()) break;
      }
      if (length == 0) return false;
      ids.push_back(found->second);
      from += length;
    }
    return true;
  }
};

WordPieces::WordPieces(std::unique_ptr<const Table> table) : table_(std::move(table)) {}
WordPieces::WordPieces(WordPieces&&) noexcept = default;
WordPieces& WordPieces::operator=(WordPieces&&) noexcept = default;
WordPieces::~WordPieces() = default;

Result<WordPieces> WordPieces::from_lines(std::string_view lines) {
  auto table = std::make_unique<Table>();
  std::uint32_t id = 0;
  while (!lines.empty()) {
    const std::size_t cut = std::min(lines.find('\n'), lines.size());
    std::string_view piece = lines.substr(0, cut);
    lines.remove_prefix(std::min(cut + 1, lines.size()));
    const bool inner = piece.size() > 2 && piece.starts_with("##");
    if (inner) piece.remove_prefix(2);
    (inner ? table->inner : table->first).emplace(piece, id++);
    table->longest = std::max(table->longest, piece.size());
  }
  table->size = id;
  const std::array<std::pair<std::string_view, std::uint32_t*>, 3> special = {
      {{"[UNK]", &table->unknown}, {"[CLS]", &table->begin}, {"[SEP]", &table->end}}};
  for (const auto& [name, place] : special) {
    auto found = table->first.find(name);
    if (found == table->first.end()) {
      return Error(ErrorCode::kDamaged, "the vocabulary of word pieces has no piece " + std::string(name));
    }
    *place = found->second;
  }
  return WordPieces(std::move(table));
}

std::size_t WordPieces::size() const { return table_->size; }
std::uint32_t WordPieces::unknown() const { return table_->unknown; }
std::uint32_t WordPieces::begin() const { return table_->begin; }
std::uint32_t WordPieces::end() const { return table_->end; }

std::vector<std::uint32_t> WordPieces::encode(std::string_view text, std::size_t limit) const {
  std::vector<std::uint32_t> ids;
  for (const std::string& word : folded_words(text)) {
    const std::size_t before = ids.size();
    if (!table_->encode(word, ids)) {
      ids.resize(before);
      ids.push_back(table_->unknown);
    }
    if (limit > 0 && ids.size() >= limit) {
      ids.resize(limit);
      break;
    }
  }
  return ids;
}

}  // namespace tertulia
