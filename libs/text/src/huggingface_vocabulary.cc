#include "huggingface_vocabulary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tertulia {
namespace {

constexpr std::uint32_t kNoMerge = 0xFFFFFFFF;
constexpr std::int64_t kHighestId = 4'000'000;

Error damaged(const std::string& what) { return Error(ErrorCode::kDamaged, what); }

// Bytes are written as printable characters: those that are printable in Latin-1 as themselves, the others
// from U+0100 on.
class ByteLetters {
 public:
  ByteLetters() {
    bytes_.fill(-1);
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      bytes_[printable ? byte : next++] = static_cast<std::int16_t>(byte);
    }
  }

  std::optional<std::string> bytes_of(std::string_view letters) const {
    std::string out;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      unsigned code = static_cast<unsigned char>(letters[i]);
      if (code >= 0x80) {
        if (code < 0xC2 || code > 0xC5 || i + 1 == letters.size()) return std::nullopt;
        code = (code & 0x1FU) << 6U | (static_cast<unsigned char>(letters[++i]) & 0x3FU);
      }
      if (code >= bytes_.size() || bytes_[code] < 0) return std::nullopt;
      out.push_back(static_cast<char>(bytes_[code]));
    }
    return out;
  }

 private:
  std::array<std::int16_t, 0x144> bytes_{};
};

// Words are the entries of the vocabulary in the order of the file.
class Reader {
 public:
  Result<void> read(const Json& model) {
    const JsonObject* object = model.as_object();
    const Json* vocab = object ? object->find("vocab") : nullptr;
    const Json* merges = object ? object->find("merges") : nullptr;
    if (!vocab || !vocab->as_object() || !merges || !merges->as_array()) {
      return Error(ErrorCode::kMissingField, "the model has no 'vocab' object or no 'merges' list");
    }
    TERTULIA_TRY(read_words(*vocab->as_object()));
    return read_merges(*merges->as_array());
  }

  Result<void> build(const JsonArray& added, bool whole_first, BpeTokenizerParts& parts) {
    find_last_merges();
    Bpe::Builder builder(words_.size());
    std::vector<Token> tokens(words_.size(), kNoToken);
    const auto note = [&](std::uint32_t word) {
      tokens[word] = static_cast<Token>(parts.ids.size());
      parts.ids.push_back(words_[word].id);
    };
    for (std::uint32_t word : byte_words_) {
      if (!builder.add_literal(words_[word].bytes)) return damaged("the vocabulary is too large");
      note(word);
    }
    std::vector<std::uint32_t> by_merge;
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
      if (words_[word].merge != kNoMerge) by_merge.push_back(word);
    }
    std::ranges::sort(by_merge, {}, [&](std::uint32_t word) { return words_[word].merge; });
    // Numbered before they are added: some files merge tokens that only later merges make.
    for (std::uint32_t word : by_merge) note(word);
    for (std::uint32_t word : by_merge) {
      const Merge& merge = merges_[words_[word].merge];
      if (!builder.add_merge(tokens[merge.left], tokens[merge.right], words_[word].bytes)) {
        return damaged("the vocabulary is too large");
      }
    }
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
      if (tokens[word] != kNoToken) continue;
      if (!builder.add_literal(words_[word].bytes, !whole_first))
        return damaged("the vocabulary is too large");
      note(word);
    }
    TERTULIA_TRY(add_names(added, builder, parts.ids));
    if (!builder.finish(parts.bpe)) return damaged("the vocabulary lacks a part of a token");
    return {};
  }

 private:
  struct Word {
    std::string bytes;
    std::uint32_t id;
    std::uint32_t merge = kNoMerge;  // the last step of encoding it, if merging makes it at all
  };
  struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t result;
  };

  Result<void> read_words(const JsonObject& vocab) {
    const ByteLetters letters;
    words_.reserve(vocab.size());
    byte_words_.fill(kNoMerge);
    for (const auto& [text, id] : vocab) {
      std::optional<std::string> bytes = letters.bytes_of(text);
      const std::int64_t* number = id.as_int();
      if (!bytes || bytes->empty() || !number || *number < 0 || *number > kHighestId) {
        return damaged("the vocabulary entry '" + text.substr(0, 80) + "' is not bytes with an id up to " +
                       std::to_string(kHighestId));
      }
      const auto word = static_cast<std::uint32_t>(words_.size());
      if (bytes->size() == 1) byte_words_[static_cast<unsigned char>((*bytes)[0])] = word;
      words_.push_back({*std::move(bytes), static_cast<std::uint32_t>(*number)});
    }
    if (std::ranges::find(byte_words_, kNoMerge) != byte_words_.end()) {
      return damaged("the vocabulary lacks a single byte");
    }
    by_bytes_.reserve(words_.size());
    for (std::uint32_t word = 0; word < words_.size(); ++word) by_bytes_.emplace(words_[word].bytes, word);
    return {};
  }

  std::uint32_t word_of(const ByteLetters& letters, std::string_view text) const {
    const std::optional<std::string> bytes = letters.bytes_of(text);
    auto found = bytes ? by_bytes_.find(*bytes) : by_bytes_.end();
    return found == by_bytes_.end() ? kNoMerge : found->second;
  }

  // Either "left right" or ["left", "right"].
  static std::pair<std::string_view, std::string_view> sides_of(const Json& merge) {
    if (const std::string* text = merge.as_string()) {
      const std::size_t space = text->find(' ');
      if (space == std::string::npos) return {};
      return {std::string_view(*text).substr(0, space), std::string_view(*text).substr(space + 1)};
    }
    const JsonArray* pair = merge.as_array();
    if (!pair || pair->size() != 2 || !(*pair)[0].as_string() || !(*pair)[1].as_string()) return {};
    return {*(*pair)[0].as_string(), *(*pair)[1].as_string()};
  }

  Result<void> read_merges(const JsonArray& merges) {
    const ByteLetters letters;
    merges_.reserve(merges.size());
    by_pair_.reserve(merges.size());
    for (const Json& merge : merges) {
      const auto [left_text, right_text] = sides_of(merge);
      const std::uint32_t left = word_of(letters, left_text);
      const std::uint32_t right = word_of(letters, right_text);
      auto result = by_bytes_.end();
      if (left != kNoMerge && right != kNoMerge)
        result = by_bytes_.find(words_[left].bytes + words_[right].bytes);
      if (result == by_bytes_.end()) {
        return damaged("merge " + std::to_string(merges_.size()) +
                       " joins or makes what is not in the vocabulary");
      }
      by_pair_.emplace(std::uint64_t{left} << 32U | right, static_cast<std::uint32_t>(merges_.size()));
      merges_.push_back({left, right, result->second});
    }
    return {};
  }

  // A file may list several merges for one token. Only the one that encoding the token's own bytes ends with
  // can ever happen: two tokens that together are its bytes have come about just as they do there.
  void find_last_merges() {
    std::vector<std::uint32_t> row;
    for (Word& word : words_) {
      row.clear();
      for (char byte : word.bytes) row.push_back(byte_words_[static_cast<unsigned char>(byte)]);
      std::uint32_t last = kNoMerge;
      while (row.size() > 1) {
        std::uint32_t best = kNoMerge;
        std::size_t where = 0;
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
          auto found = by_pair_.find(std::uint64_t{row[i]} << 32U | row[i + 1]);
          if (found == by_pair_.end() || found->second >= best) continue;
          best = found->second;
          where = i;
        }
        last = best;
        if (best == kNoMerge) break;
        row[where] = merges_[best].result;
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(where) + 1);
      }
      word.merge = last;
    }
  }

  // Added tokens are there to be decoded, not to be found in text.
  static Result<void> add_names(const JsonArray& added, Bpe::Builder& builder,
                                std::vector<std::uint32_t>& ids) {
    const std::unordered_set<std::uint32_t> known(ids.begin(), ids.end());
    for (const Json& token : added) {
      const JsonObject* object = token.as_object();
      const Json* id = object ? object->find("id") : nullptr;
      const Json* content = object ? object->find("content") : nullptr;
      const bool well_formed = id && id->as_int() && *id->as_int() >= 0 && *id->as_int() <= kHighestId &&
                               content && content->as_string() && !content->as_string()->empty();
      if (!well_formed) return damaged("an added token is not an id with a name");
      const auto number = static_cast<std::uint32_t>(*id->as_int());
      if (known.contains(number)) continue;
      if (!builder.add_literal(*content->as_string(), true)) return damaged("the vocabulary is too large");
      ids.push_back(number);
    }
    return {};
  }

  std::vector<Word> words_;
  std::array<std::uint32_t, 256> byte_words_{};
  std::unordered_map<std::string_view, std::uint32_t> by_bytes_;
  std::vector<Merge> merges_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_pair_;
};

}  // namespace

Result<void> read_huggingface_vocabulary(const Json& model, const JsonArray& added, bool whole_first,
                                         BpeTokenizerParts& parts) {
  Reader reader;
  TERTULIA_TRY(reader.read(model));
  return reader.build(added, whole_first, parts);
}

}  // namespace tertulia
