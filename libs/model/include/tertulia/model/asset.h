// Images and files in requests: how large they may be, and what they are taken to cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/text/tokenizer.h"

namespace tertulia {

// What every provider takes.
inline constexpr std::size_t kImageBytes = std::size_t{5} << 20;
inline constexpr std::size_t kFileBytes = std::size_t{20} << 20;
// Of all images and files in one request; the newest come first.
inline constexpr std::size_t kRequestAssetBytes = std::size_t{24} << 20;

// An image or a file.
bool is_asset(const Part& part);
// Text of some kind, as its type says: models that take no files are shown what it says.
bool is_text_type(std::string_view media_type);

// Whether a part of a new message can be given to models. kTooLarge {limit, actual}; kUnsupportedParameter
// {param: media_type} for an image that is neither PNG, JPEG, GIF nor WebP.
Result<void> check_asset(const Part& part, std::size_t bytes);

// What stands in a `data:` address; 0 if it is none.
std::size_t bytes_in_address(std::string_view address);

// What a part costs. Text is counted. Nobody but the provider can count an image or a file, so that is an
// estimate: 1,600 tokens for an image, the most that providers charge for one that they have scaled down; a
// token for 4 bytes of a text file, and for 50 of another, but at least 1,500.
std::uint64_t tokens_of(const Part& part, std::size_t asset_bytes, const Tokenizer& tokenizer);

}  // namespace tertulia
