#include "tertulia/tools/egress_policy.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

#include "ascii.h"
#include "egress_network.h"

namespace tertulia {
namespace {

constexpr std::size_t kUrlBytes = 8'192;
constexpr std::size_t kHostBytes = 253;
constexpr std::size_t kLabelBytes = 63;

Error refused(const std::string& sentence) { return {ErrorCode::kUrlNotAllowed, sentence}; }

bool is_below(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.';
}

// Of "example.com", "*.example.com" or "*".
bool matches(std::string_view pattern, std::string_view host) {
  if (pattern == "*") return true;
  if (pattern.starts_with("*.")) return is_below(host, pattern.substr(2));
  return pattern == host;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view host) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, host); });
}

// A name that only a local network can know.
bool is_local_name(std::string_view host) {
  if (host.find('.') == host.npos) return true;
  for (const std::string_view domain : {"localhost", "local", "localdomain", "internal", "intranet", "lan",
                                        "home", "corp", "private", "home.arpa", "in-addr.arpa", "ip6.arpa"}) {
    if (is_below(host, domain) || host == domain) return true;
  }
  return false;
}

// Labels of letters, digits, hyphens and underscores, between single dots.
bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > kHostBytes) return false;
  std::size_t label = 0;
  for (const char c : host) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
    } else if (ascii::is_letter(c) || ascii::is_digit(c) || c == '-' || c == '_') {
      if (++label > kLabelBytes) return false;
    } else {
      return false;
    }
  }
  return label > 0;
}

// The last label decides whether a resolver takes a host for a number: 0x7f.1, 0177.0.0.1, 2130706433.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') == host.npos ? 0 : host.rfind('.') + 1);
  return std::ranges::all_of(last, ascii::is_digit) || last.starts_with("0x");
}

Result<void> check_characters(std::string_view url) {
  if (url.size() > kUrlBytes)
    return refused("the address has " + std::to_string(url.size()) + " bytes; at most " +
                   std::to_string(kUrlBytes) + " are allowed");
  if (!is_utf8(url)) return refused("the address is not UTF-8 text");
  const bool plain = std::ranges::none_of(url, [](char c) {
    return (c >= 0 && c <= ' ') || c == 0x7f ||
           std::string_view("\\\"<>^`{|}").find(c) != std::string_view::npos;
  });
  if (!plain)
    return refused(
        "the address holds a blank, a control character, a backslash or one of \" < > ^ ` { | }; escape it "
        "with a percent sign");
  return {};
}

std::string escaped(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || text.front() == '0' || problem != std::errc() || end != text.data() + text.size())
    return refused("the port of the address is not a number from 1 to 65535");
  return port;
}

// "host", "host:port", "[address]", "[address]:port".
Result<void> read_authority(std::string_view text, EgressTarget& target) {
  if (text.find('@') != text.npos)
    return refused("the address holds a user name or password in front of the host; leave it out");
  if (text.empty()) return refused("the address has no host");
  std::size_t end = text.find(':');
  if (text.front() == '[') {
    end = text.find(']');
    if (end == text.npos) return refused("the address has a '[' without a ']'");
    ++end;
  }
  target.host = ascii::lower(text.substr(0, end));
  std::string_view rest = end == text.npos ? "" : text.substr(end);
  target.port = target.scheme == "https" ? 443 : 80;
  if (rest.empty()) return {};
  if (rest.front() != ':') return refused("something other than a port follows the host of the address");
  TERTULIA_TRY_AS(target.port, parse_port(rest.substr(1)));
  return {};
}

Result<void> check_networks(const std::vector<std::string>& texts, std::vector<Network>& networks) {
  for (const std::string& text : texts) {
    const std::optional<Network> network = parse_network(text);
    if (!network)
      return Error(ErrorCode::kBadConfig, in_quotes(text) + " is no network; write one as 10.1.0.0/16");
    networks.push_back(*network);
  }
  return {};
}

Result<void> check_pattern(const std::string& pattern) {
  const std::string_view name = pattern.starts_with("*.") ? std::string_view(pattern).substr(2) : pattern;
  const bool literal = pattern.size() > 2 && pattern.front() == '[' && pattern.back() == ']' &&
                       parse_address(std::string_view(pattern).substr(1, pattern.size() - 2));
  if (pattern == "*" || is_host_name(name) || literal) return {};
  return Error(ErrorCode::kBadConfig,
               in_quotes(pattern) + " is no pattern for hosts; write example.com, *.example.com or *");
}

bool contains(const std::vector<Network>& networks, AddressBytes address) {
  return std::ranges::any_of(networks, [&](const Network& network) {
    return network.contains(address) || network.contains(unmapped(address));
  });
}

std::string port_list(const std::vector<std::uint16_t>& ports) {
  std::string text;
  for (const std::uint16_t port : ports) text += (text.empty() ? "" : ", ") + std::to_string(port);
  return text.empty() ? "none" : text;
}

}  // namespace

struct EgressPolicy::Compiled {
  EgressRules rules;
  std::vector<Network> allowed;
  std::vector<Network> denied;

  Result<void> check_name(const std::string& host) const;
  Result<void> check_host(const std::string& host, const EgressPolicy& policy, std::uint16_t port) const;
};

std::string EgressTarget::url() const {
  const bool own = port == (scheme == "https" ? 443 : 80);
  return scheme + "://" + host + (own ? "" : ":" + std::to_string(port)) + path;
}

EgressPolicy::EgressPolicy() : rules_(std::make_shared<const Compiled>()) {}
EgressPolicy::EgressPolicy(std::shared_ptr<const Compiled> rules) : rules_(std::move(rules)) {}

Result<EgressPolicy> EgressPolicy::make(EgressRules rules) {
  auto compiled = std::make_shared<Compiled>();
  for (std::vector<std::string>* patterns : {&rules.allow_hosts, &rules.deny_hosts}) {
    for (std::string& pattern : *patterns) {
      TERTULIA_TRY(check_pattern(pattern));
      pattern = ascii::lower(pattern);
    }
  }
  for (const std::string& scheme : rules.schemes) {
    if (scheme != "http" && scheme != "https")
      return Error(ErrorCode::kBadConfig, in_quotes(scheme) + " is neither \"http\" nor \"https\"");
  }
  TERTULIA_TRY(check_networks(rules.allow_networks, compiled->allowed));
  TERTULIA_TRY(check_networks(rules.deny_networks, compiled->denied));
  compiled->rules = std::move(rules);
  return EgressPolicy(std::move(compiled));
}

Result<void> EgressPolicy::Compiled::check_name(const std::string& host) const {
  if (!is_host_name(host))
    return refused(
        "the host of the address is not spelled plainly: write a name of letters, digits, hyphens "
        "and single dots, or an address such as 192.0.2.1 or [2001:db8::1]");
  if (ends_in_number(host))
    return refused(
        "the host of the address is a number in disguise; write four decimal numbers from 0 to 255");
  if (is_local_name(host) && std::ranges::find(rules.allow_hosts, host) == rules.allow_hosts.end())
    return refused("host " + in_quotes(host) + " is a name of a local network, which is not allowed");
  return {};
}

Result<void> EgressPolicy::Compiled::check_host(const std::string& host, const EgressPolicy& policy,
                                                std::uint16_t port) const {
  const bool bracketed = host.front() == '[';
  const std::optional<Network> literal =
      parse_address(bracketed ? std::string_view(host).substr(1, host.size() - 2) : std::string_view(host));
  if (bracketed && (!literal || literal->size != 16))
    return refused("what stands in brackets is not an IPv6 address without a zone");
  if (!literal) TERTULIA_TRY(check_name(host));
  if (matches_any(rules.deny_hosts, host) || !matches_any(rules.allow_hosts, host))
    return refused("host " + in_quotes(host) + " is not allowed by the policy");
  if (literal) return policy.check_address(std::span(literal->bytes).first(literal->size), port);
  return {};
}

Result<EgressTarget> EgressPolicy::check_url(std::string_view url) const {
  TERTULIA_TRY(check_characters(url));
  const std::size_t colon = url.find("://");
  EgressTarget target;
  target.scheme = ascii::lower(url.substr(0, colon == url.npos ? 0 : colon));
  if (target.scheme != "http" && target.scheme != "https")
    return refused("the address does not begin with http:// or https://");
  if (std::ranges::find(rules_->rules.schemes, target.scheme) == rules_->rules.schemes.end())
    return refused("addresses that begin with " + target.scheme + ":// are not allowed by the policy");
  url.remove_prefix(colon + 3);
  url = url.substr(0, url.find('#'));
  const std::size_t end = std::min(url.find_first_of("/?"), url.size());
  TERTULIA_TRY(read_authority(url.substr(0, end), target));
  if (std::ranges::find(rules_->rules.ports, target.port) == rules_->rules.ports.end())
    return refused("port " + std::to_string(target.port) +
                   " is not allowed by the policy; allowed: " + port_list(rules_->rules.ports));
  TERTULIA_TRY(rules_->check_host(target.host, *this, target.port));
  target.path = escaped(url.substr(end));
  if (!target.path.starts_with('/')) target.path.insert(0, "/");
  return target;
}

Result<void> EgressPolicy::check_address(std::span<const std::uint8_t> address, std::uint16_t port) const {
  if (std::ranges::find(rules_->rules.ports, port) == rules_->rules.ports.end())
    return refused("port " + std::to_string(port) + " is not allowed by the policy");
  if (contains(rules_->denied, address))
    return refused("address " + address_text(address) + " is not allowed by the policy");
  if (contains(rules_->allowed, address)) return {};
  if (const std::optional<std::string_view> why = not_public(address))
    return refused("address " + address_text(address) + " is not allowed: it is " + std::string(*why));
  return {};
}

}  // namespace tertulia
