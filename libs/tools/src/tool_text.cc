#include "tool_text.h"

#include <algorithm>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxAssetName = 128;
constexpr std::size_t kMaxMediaType = 100;
constexpr std::string_view kUnknownMedia = "application/octet-stream";

// How long the control character at `at` is; 0 if there is none. C1 controls are two bytes, C2 80 to C2 9F.
std::size_t control_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == 0xC2U && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0U) return 2;
  if (byte == '\t' || byte == '\n' || byte == '\r') return 0;
  return byte < 0x20U || byte == 0x7FU ? 1 : 0;
}

// Takes the control characters out of well-formed text and counts them.
std::size_t remove_controls(std::string& text) {
  std::size_t removed = 0;
  std::size_t to = 0;
  for (std::size_t from = 0; from < text.size();) {
    if (const std::size_t length = control_at(text, from)) {
      ++removed;
      from += length;
    } else {
      text[to++] = text[from++];
    }
  }
  text.resize(to);
  return removed;
}

// What was done to the text, in brackets, for its end.
class Notes {
 public:
  void add(std::string sentence) { text_ += "\n[" + std::move(sentence) + "]"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string asset_name(std::string_view tool, std::string_view key, std::string_view ending) {
  const std::string_view number = key.substr(key.rfind('/') + 1);
  std::string name = std::string(tool) + "-output";
  if (!number.empty()) name += "-" + std::string(number);
  return name + std::string(ending);
}

bool is_media_type(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$&^_.+-/;= ").find(c) != std::string_view::npos;
  };
  const std::size_t slash = text.find('/');
  return text.size() <= kMaxMediaType && slash != std::string_view::npos && slash > 0 &&
         slash + 1 < text.size() && std::all_of(text.begin(), text.end(), fits);
}

// Names and types come from tools: neither paths nor control characters, and never empty.
void fit_label(ToolAsset& asset) {
  std::string name = printable(utf8_prefix(sanitize_utf8(asset.name), kMaxAssetName));
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\\', '_');
  if (name.empty() || name.front() == '.') name.insert(0, "asset");
  asset.name = std::move(name);
  if (!is_media_type(asset.media_type)) asset.media_type = kUnknownMedia;
}

// Leaves out the assets that do not fit any more.
void fit_assets(ToolAnswer& answer, std::size_t limit, Notes& notes) {
  std::size_t used = 0;
  std::size_t left_out = 0;
  std::vector<ToolAsset> kept;
  for (ToolAsset& asset : answer.assets) {
    if (asset.bytes.size() > limit - used) {
      ++left_out;
      continue;
    }
    used += asset.bytes.size();
    fit_label(asset);
    kept.push_back(std::move(asset));
  }
  answer.assets = std::move(kept);
  if (left_out > 0) {
    notes.add("assets left out: " + std::to_string(left_out) + ", because together they have more than " +
              std::to_string(limit) + " bytes");
  }
}

// The output as an asset, and what to say of where it is.
std::string keep_whole(ToolAnswer& answer, std::string name, std::string_view media, std::string bytes,
                       std::size_t limit) {
  if (bytes.size() > limit) return "the whole was too large to be kept";
  std::string words = "the whole is asset '" + name + "'";
  // First, so that it is not the one that finds no room.
  answer.assets.insert(answer.assets.begin(), {std::move(name), std::string(media), std::move(bytes)});
  return words;
}

// Text with a NUL is some other kind of data.
void refuse_binary(ToolAnswer& answer, std::size_t at, std::string name, std::size_t limit) {
  std::string bytes = std::move(answer.text);
  const std::string kept = keep_whole(answer, std::move(name), kUnknownMedia, std::move(bytes), limit);
  answer.text = "the tool ran, but what it gave back is not text (a NUL at offset " + std::to_string(at) +
                "); " + kept + "; do not repeat the call because of this";
  answer.outcome = ToolOutcome::kError;
  answer.code = ErrorCode::kToolFailed;
}

void clean(std::string& text, Notes& notes) {
  if (!is_utf8(text)) {
    text = sanitize_utf8(text);
    notes.add("bytes that are not UTF-8 were replaced");
  }
  if (const std::size_t removed = remove_controls(text)) {
    notes.add(std::to_string(removed) +
              (removed == 1 ? " control character was" : " control characters were") + " left out");
  }
}

}  // namespace

void fit_answer(ToolAnswer& answer, std::string_view name, std::string_view key, const ToolLimits& limits) {
  Notes notes;
  if (const std::size_t nul = answer.text.find('\0'); nul != std::string::npos) {
    refuse_binary(answer, nul, asset_name(name, key, ".bin"), limits.asset_bytes);
  }
  clean(answer.text, notes);
  answer.detail = printable(answer.detail, 1'000);
  const std::size_t bytes = answer.text.size();
  const bool too_long = bytes + notes.text().size() > limits.result_bytes;
  std::string whole;
  if (too_long) {
    whole = keep_whole(answer, asset_name(name, key, ".txt"), "text/plain; charset=utf-8", answer.text,
                       limits.asset_bytes);
  }
  fit_assets(answer, limits.asset_bytes, notes);
  std::string end = notes.text();
  if (too_long) {
    // The room for the notes is taken from the text, so that all of it keeps the limit.
    const std::size_t marker = 120 + whole.size() + end.size();
    const std::size_t room = limits.result_bytes > marker ? limits.result_bytes - marker : 0;
    const std::string_view shown = utf8_prefix(answer.text, room);
    end.insert(0, "\n[cut: " + std::to_string(shown.size()) + " of " + std::to_string(bytes) +
                      " bytes are shown; " + whole + "]");
    answer.text.resize(shown.size());
  }
  answer.text += end;
}

}  // namespace tertulia
