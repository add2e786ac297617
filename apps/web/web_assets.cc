#include "web_assets.h"

#include <algorithm>

namespace tertulia {

const WebAsset* find_web_asset(std::string_view path) {
  const std::span<const WebAsset> all = web_assets();
  const auto at = std::ranges::lower_bound(all, path, {}, &WebAsset::path);
  return at != all.end() && at->path == path ? &*at : nullptr;
}

}  // namespace tertulia
