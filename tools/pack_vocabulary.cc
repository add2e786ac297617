// Packs vocabularies in the .tiktoken form (base64 of a token, a space, its rank; one a line) into the file
// that docs/formats/vocabulary.md describes.
//
//   pack_vocabulary OUT NAME=FILE...
//
// A token is written as the two tokens that the last step of encoding its own bytes merges. Tokens that
// merging never makes are written as bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packed_vocabulary.h"

namespace {

using tertulia::kNoToken;
using tertulia::Token;
using tertulia::TokenOrigin;
namespace packed = tertulia::packed;

struct Vocabulary {
  std::vector<std::string> tokens;
  std::unordered_map<std::string_view, Token> ranks;
};

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (char c : text.substr(0, text.find('='))) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out.push_back(static_cast<char>(bits >> have & 0xFFU));
    }
  }
  return out;
}

bool read(const std::string& path, Vocabulary& out) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return false;
    std::optional<std::string> token = from_base64(std::string_view(line).substr(0, space));
    if (!token || token->empty() || token->size() > 255 ||
        line.substr(space + 1) != std::to_string(out.tokens.size())) {
      return false;
    }
    out.tokens.push_back(*std::move(token));
  }
  for (std::size_t i = 0; i < out.tokens.size(); ++i) {
    if (!out.ranks.emplace(out.tokens[i], static_cast<Token>(i)).second) return false;
  }
  return in.eof() && out.tokens.size() >= 256 && out.tokens.size() < tertulia::kMaxTokens;
}

// Merges the bytes of `token` until two parts are left; literal if it gets stuck or a part comes after the
// whole.
TokenOrigin origin_of(const Vocabulary& vocabulary, Token token) {
  const std::string_view bytes = vocabulary.tokens[token];
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i <= bytes.size(); ++i) cuts.push_back(i);
  const auto rank = [&](std::size_t from, std::size_t to) {
    auto found = vocabulary.ranks.find(bytes.substr(from, to - from));
    return found == vocabulary.ranks.end() ? kNoToken : found->second;
  };
  while (cuts.size() > 3) {
    Token best = kNoToken;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 2 < cuts.size(); ++i) {
      const Token candidate = rank(cuts[i], cuts[i + 2]);
      if (candidate < best) {
        best = candidate;
        where = i + 1;
      }
    }
    if (best == kNoToken) return {};
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(where));
  }
  if (cuts.size() != 3) return {};
  const TokenOrigin origin{rank(cuts[0], cuts[1]), rank(cuts[1], cuts[2])};
  return origin.left < token && origin.right < token ? origin : TokenOrigin{};
}

void put(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8U * i) & 0xFFU));
}

std::string section_of(const Vocabulary& vocabulary) {
  std::string pairs;
  std::string literals;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const TokenOrigin origin = origin_of(vocabulary, static_cast<Token>(i));
    put(pairs, std::uint64_t{origin.right} << 20U | origin.left, packed::kPairSize);
    if (origin.left != kNoToken) continue;
    literals.push_back(static_cast<char>(vocabulary.tokens[i].size()));
    literals += vocabulary.tokens[i];
  }
  return pairs + literals;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: pack_vocabulary OUT NAME=FILE...\n";
    return 2;
  }
  const auto count = static_cast<std::size_t>(argc - 2);
  std::string header(packed::kMagic);
  put(header, count, 4);
  put(header, 0, 4);
  std::string sections;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    Vocabulary vocabulary;
    if (equals == std::string_view::npos || equals >= packed::kNameSize ||
        !read(std::string(argument.substr(equals + 1)), vocabulary)) {
      std::cerr << "pack_vocabulary: " << argument
                << " is not NAME=FILE with a vocabulary of ranks from 0 on\n";
      return 1;
    }
    const std::string section = section_of(vocabulary);
    header.append(argument.substr(0, equals)).append(packed::kNameSize - equals, '\0');
    put(header, packed::kHeaderSize + count * packed::kEntrySize + sections.size(), 4);
    put(header, section.size(), 4);
    put(header, vocabulary.tokens.size(), 4);
    put(header, 0, 4);
    put(header, packed::checksum(section), 8);
    sections += section;
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << header << sections << std::flush;
  if (!out) {
    std::cerr << "pack_vocabulary: cannot write " << argv[1] << "\n";
    return 1;
  }
  return 0;
}
