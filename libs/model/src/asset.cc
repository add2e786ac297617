#include "tertulia/model/asset.h"

#include <algorithm>
#include <array>
#include <string>

namespace tertulia {
namespace {

constexpr std::uint64_t kImageTokens = 1'600;
constexpr std::uint64_t kLeastFileTokens = 1'500;
constexpr std::uint64_t kBytesPerTextToken = 4;
constexpr std::uint64_t kBytesPerFileToken = 50;

constexpr std::array<std::string_view, 4> kImageTypes = {"image/png", "image/jpeg", "image/gif",
                                                         "image/webp"};
constexpr std::array<std::string_view, 6> kTextTypes = {"application/json", "application/xml",
                                                        "application/yaml", "application/javascript",
                                                        "application/toml", "application/sql"};

}  // namespace

bool is_asset(const Part& part) { return part.kind == PartKind::kImage || part.kind == PartKind::kFile; }

bool is_text_type(std::string_view media_type) {
  return media_type.starts_with("text/") || media_type.ends_with("+json") || media_type.ends_with("+xml") ||
         std::ranges::find(kTextTypes, media_type) != kTextTypes.end();
}

Result<void> check_asset(const Part& part, std::size_t bytes) {
  const bool image = part.kind == PartKind::kImage;
  if (image && std::ranges::find(kImageTypes, part.name) == kImageTypes.end()) {
    return Error(ErrorCode::kUnsupportedParameter,
                 "models take images of the types image/png, image/jpeg, image/gif and image/webp, not '" +
                     std::string(part.name) + "': convert it, or send it as a file")
        .with("param", "media_type");
  }
  const std::size_t limit = image ? kImageBytes : kFileBytes;
  if (bytes <= limit) return {};
  return Error(ErrorCode::kTooLarge, std::string(image ? "an image" : "a file") + " for a model has " +
                                         std::to_string(bytes) + " bytes, and the limit is " +
                                         std::to_string(limit) + ": send a smaller one")
      .with("limit", static_cast<std::int64_t>(limit))
      .with("actual", static_cast<std::int64_t>(bytes));
}

std::size_t bytes_in_address(std::string_view address) {
  if (!address.starts_with("data:")) return 0;
  const std::size_t comma = address.find(',');
  if (comma == std::string_view::npos) return 0;
  const std::size_t length = address.size() - comma - 1;
  return address.substr(0, comma).ends_with(";base64") ? length / 4 * 3 : length;
}

std::uint64_t tokens_of(const Part& part, std::size_t asset_bytes, const Tokenizer& tokenizer) {
  if (part.kind == PartKind::kImage) return kImageTokens;
  if (part.kind != PartKind::kFile) return tokenizer.count(part.text);
  const std::uint64_t bytes = std::max(asset_bytes, bytes_in_address(part.text));
  if (is_text_type(part.name) && bytes > 0) return bytes / kBytesPerTextToken + 1;
  return std::max(kLeastFileTokens, bytes / kBytesPerFileToken);
}

}  // namespace tertulia
