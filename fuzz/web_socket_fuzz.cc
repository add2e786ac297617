// Frames as bytes, in pieces of any size: the same pieces or one must be read as the same messages, and what
// is answered must be the same frames.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/utf8.h"

#include "http/socket_wire.h"
#include "http/upgrade.h"

namespace {

using tertulia::server::SocketWire;

constexpr std::size_t kMostBytes = 1U << 12U;

// What became of the bytes, as text.
std::string read_in_pieces(std::string_view bytes, std::size_t piece, bool close_first) {
  SocketWire wire(kMostBytes);
  if (close_first) wire.close(tertulia::server::CloseCode::kGoingAway, "first");
  std::vector<std::string> messages;
  while (!bytes.empty()) {
    wire.read(bytes.substr(0, piece), messages);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  std::string text = wire.finished() ? "finished" : "open";
  for (const std::string& message : messages) {
    if (message.size() > kMostBytes || !tertulia::is_utf8(message)) std::abort();
    (void)tertulia::server::shown_key(message);
    text.append("\n").append(message);
  }
  // Once the end was said, only one close frame may have been.
  if (close_first && !messages.empty()) std::abort();
  return text.append("\n").append(wire.take_output());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool close_first = (data[0] & 0x80U) != 0;
  const std::string whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1), close_first);
  const std::string pieces = read_in_pieces(bytes, data[0] % 31U + 1U, close_first);
  if (whole != pieces) std::abort();
  return 0;
}
