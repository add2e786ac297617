#include "tertulia/conversation/session.h"

namespace tertulia {

Result<void> patch_metadata(JsonObject& metadata, const JsonObject& patch) {
  JsonObject merged = metadata;
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      merged.erase(key);
    } else {
      merged.set(key, value);
    }
  }
  const std::size_t size = merged.empty() ? 0 : to_text(Json(merged)).size();
  if (size > kMaxMetadataBytes) {
    return Error(ErrorCode::kTooLarge, "The metadata of a session would have " + std::to_string(size) +
                                           " bytes as JSON; the limit is " +
                                           std::to_string(kMaxMetadataBytes) +
                                           ". Nothing was changed: keep large things as attachments.")
        .with("limit", static_cast<std::int64_t>(kMaxMetadataBytes))
        .with("actual", static_cast<std::int64_t>(size));
  }
  metadata = std::move(merged);
  return {};
}

}  // namespace tertulia
