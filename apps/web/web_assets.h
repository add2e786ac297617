// The files of the chat page and of the widget, held in the program. They are made by apps/web/build.mjs at
// build time.
#pragma once

#include <span>
#include <string_view>

namespace tertulia {

struct WebAsset {
  // As a browser asks for it: "/", "/assets/index-4f2a.js", "/widget.js".
  std::string_view path;
  // "text/html; charset=utf-8" and the like.
  std::string_view type;
  // Of the bytes, in quotes.
  std::string_view etag;
  std::string_view bytes;
  // The same, compressed; empty where that is hardly smaller.
  std::string_view gzip;
  // The path changes with the bytes, so a browser may keep it for ever.
  bool immutable = false;
};

// Sorted by path; empty if the program was built without npm. Lives as long as the program.
std::span<const WebAsset> web_assets();
// Null if there is none.
const WebAsset* find_web_asset(std::string_view path);

}  // namespace tertulia
