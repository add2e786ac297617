// Networks as bytes, and which addresses are public.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tertulia {

using AddressBytes = std::span<const std::uint8_t>;

struct Network {
  std::array<std::uint8_t, 16> bytes{};
  // 4 or 16.
  std::size_t size = 0;
  unsigned bits = 0;

  bool contains(AddressBytes address) const;
};

// "10.0.0.0/8", "::1/128", or one address; nothing if it is none, or has bits behind its prefix.
std::optional<Network> parse_network(std::string_view text);

// The network of one address in its plain spelling: four decimal numbers, or IPv6 without a zone.
std::optional<Network> parse_address(std::string_view text);

std::string address_text(AddressBytes address);

// The four bytes of an IPv4-mapped address, else the address as it is.
AddressBytes unmapped(AddressBytes address);

// Why the address is not a public one: "a loopback address". Nothing: it is one.
std::optional<std::string_view> not_public(AddressBytes address);

}  // namespace tertulia
