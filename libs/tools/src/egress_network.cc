#include "egress_network.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include <arpa/inet.h>

#include "tertulia/base/check.h"

namespace tertulia {
namespace {

struct Special {
  const char* network;
  const char* why;
};

// The special-purpose registries of IANA, and what was assigned and taken back.
constexpr Special kSpecialV4[] = {
    {"0.0.0.0/8", "an address of this host"},
    {"10.0.0.0/8", "a private address"},
    {"100.64.0.0/10", "an address behind a carrier's translation"},
    {"127.0.0.0/8", "a loopback address"},
    {"169.254.0.0/16", "a link-local address"},
    {"172.16.0.0/12", "a private address"},
    {"192.0.0.0/24", "an address of protocol assignments"},
    {"192.0.2.0/24", "an address of documentation"},
    {"192.31.196.0/24", "an address of AS112"},
    {"192.52.193.0/24", "an address of multicast tunnels"},
    {"192.88.99.0/24", "an address of 6to4 relays"},
    {"192.168.0.0/16", "a private address"},
    {"192.175.48.0/24", "an address of AS112"},
    {"198.18.0.0/15", "an address of benchmarks"},
    {"198.51.100.0/24", "an address of documentation"},
    {"203.0.113.0/24", "an address of documentation"},
    {"224.0.0.0/4", "a multicast address"},
    {"240.0.0.0/4", "a reserved address"},
};
// Only 2000::/3 is given out at all; these are the exceptions within it.
constexpr Special kSpecialV6[] = {
    {"2001::/23", "an address of protocol assignments"}, {"2001:db8::/32", "an address of documentation"},
    {"2620:4f:8000::/48", "an address of AS112"},        {"3ffe::/16", "an address of the former 6bone"},
    {"3fff::/20", "an address of documentation"},
};
// Outside of it: for the sentence only.
constexpr Special kNamedV6[] = {
    {"::1/128", "a loopback address"},       {"::/128", "an address of this host"},
    {"::/96", "an IPv4-compatible address"}, {"64:ff9b:1::/48", "an address of local translation"},
    {"100::/64", "an address of a sink"},    {"5f00::/16", "an address of segment routing"},
    {"fc00::/7", "a private address"},       {"fe80::/10", "a link-local address"},
    {"fec0::/10", "a site-local address"},   {"ff00::/8", "a multicast address"},
};

struct Compiled {
  Network network;
  std::string_view why;
};

template <std::size_t N>
std::vector<Compiled> compiled(const Special (&list)[N]) {
  std::vector<Compiled> networks;
  for (const Special& special : list) {
    const std::optional<Network> network = parse_network(special.network);
    TERTULIA_CHECK(network.has_value(), special.network);
    networks.push_back({*network, special.why});
  }
  return networks;
}

std::optional<std::string_view> why_in(const std::vector<Compiled>& list, AddressBytes address) {
  for (const Compiled& entry : list) {
    if (entry.network.contains(address)) return entry.why;
  }
  return std::nullopt;
}

bool starts_with(AddressBytes address, std::initializer_list<std::uint8_t> prefix) {
  return address.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), address.begin());
}

}  // namespace

bool Network::contains(AddressBytes address) const {
  if (address.size() != size) return false;
  const std::size_t whole = bits / 8;
  if (!std::equal(bytes.begin(), bytes.begin() + whole, address.begin())) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((bytes[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

std::optional<Network> parse_address(std::string_view text) {
  Network network;
  const std::string terminated(text);
  // inet_pton takes four plain decimal numbers only: no octal, no hexadecimal, no shorter forms, no zones.
  if (terminated.size() != std::strlen(terminated.c_str())) return std::nullopt;
  if (inet_pton(AF_INET, terminated.c_str(), network.bytes.data()) == 1) {
    network.size = 4;
  } else if (inet_pton(AF_INET6, terminated.c_str(), network.bytes.data()) == 1) {
    network.size = 16;
  } else {
    return std::nullopt;
  }
  network.bits = static_cast<unsigned>(network.size * 8);
  return network;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  std::optional<Network> network = parse_address(text.substr(0, slash));
  if (!network || slash == text.npos) return network;
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (digits.empty() || problem != std::errc() || end != digits.data() + digits.size() ||
      bits > network->bits)
    return std::nullopt;
  for (unsigned bit = bits; bit < network->bits; ++bit) {
    if ((network->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  }
  network->bits = bits;
  return network;
}

std::string address_text(AddressBytes address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.size() != 4 && address.size() != 16) return "an unknown kind of address";
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

AddressBytes unmapped(AddressBytes address) {
  const bool mapped =
      address.size() == 16 && starts_with(address, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
  return mapped ? address.subspan(12) : address;
}

std::optional<std::string_view> not_public(AddressBytes address) {
  static const std::vector<Compiled> v4 = compiled(kSpecialV4);
  static const std::vector<Compiled> v6 = compiled(kSpecialV6);
  static const std::vector<Compiled> named = compiled(kNamedV6);
  address = unmapped(address);
  if (address.size() == 4) return why_in(v4, address);
  if (address.size() != 16) return "not an address of the internet";
  if (starts_with(address, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
    return why_in(v4, address.subspan(12));
  if (starts_with(address, {0x20, 0x02})) return why_in(v4, address.subspan(2, 4));
  if (address[0] >> 5 == 1) return why_in(v6, address);
  return why_in(named, address).value_or("not a public address");
}

}  // namespace tertulia
