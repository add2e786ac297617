#include "packed_vocabulary.h"

#include <string>

namespace tertulia {
namespace {

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

Error damaged(std::string_view name, std::string_view what) {
  return Error(ErrorCode::kDamaged, "the packed vocabulary '" + std::string(name) + "' " + std::string(what) +
                                        "; build the library again");
}

struct Section {
  std::string_view bytes;
  std::size_t tokens;
};

Result<Section> find_section(std::string_view file, std::string_view name) {
  if (file.size() < packed::kHeaderSize || !file.starts_with(packed::kMagic)) {
    return damaged(name, "is not in a packed vocabulary file");
  }
  const std::size_t count = number_at(file, 8, 4);
  if (count > (file.size() - packed::kHeaderSize) / packed::kEntrySize) return damaged(name, "is cut short");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = packed::kHeaderSize + i * packed::kEntrySize;
    std::string_view entry_name = file.substr(entry, packed::kNameSize);
    entry_name = entry_name.substr(0, entry_name.find('\0'));
    if (entry_name != name) continue;
    const std::size_t offset = number_at(file, entry + 16, 4);
    const std::size_t size = number_at(file, entry + 20, 4);
    const std::size_t tokens = number_at(file, entry + 24, 4);
    if (offset > file.size() || size > file.size() - offset || tokens > size / packed::kPairSize) {
      return damaged(name, "is cut short");
    }
    const Section section{file.substr(offset, size), tokens};
    if (packed::checksum(section.bytes) != number_at(file, entry + 32, 8)) {
      return damaged(name, "does not match its checksum");
    }
    return section;
  }
  return Error(ErrorCode::kUnknownTokenizer, "there is no vocabulary named '" + std::string(name) + "'");
}

}  // namespace

Result<Bpe> read_vocabulary(std::string_view file, std::string_view name) {
  TERTULIA_TRY_AS(const Section section, find_section(file, name));
  std::string_view literals = section.bytes.substr(section.tokens * packed::kPairSize);
  Bpe::Builder builder(section.tokens);
  for (std::size_t i = 0; i < section.tokens; ++i) {
    const std::uint64_t pair = number_at(section.bytes, i * packed::kPairSize, packed::kPairSize);
    const auto left = static_cast<Token>(pair & kNoToken);
    const auto right = static_cast<Token>(pair >> 20U);
    if (left != kNoToken) {
      if (!builder.add_merge(left, right)) return damaged(name, "has a merge of tokens that come later");
      continue;
    }
    const std::size_t size = literals.empty() ? 0 : static_cast<unsigned char>(literals[0]);
    if (size == 0 || size >= literals.size() || !builder.add_literal(literals.substr(1, size))) {
      return damaged(name, "has a token without bytes");
    }
    literals.remove_prefix(1 + size);
  }
  Bpe bpe;
  if (!builder.finish(bpe)) return damaged(name, "lacks a single byte");
  return bpe;
}

}  // namespace tertulia
