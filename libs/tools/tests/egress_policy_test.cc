#include "tertulia/tools/egress_policy.h"

#include <array>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tertulia {
namespace egress_policy_test {

using ::testing::HasSubstr;
using ::testing::Not;

// Spellings by which a model, or who talks to it, may try to reach what is not public.
const std::vector<std::string> kRefused = {
    // plainly
    "http://127.0.0.1/",
    "http://127.1.2.3/",
    "https://127.0.0.1:443/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    // as other numbers
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7F.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://00/",
    "http://127.0.0.01/",
    "http://127.0.0.0x1/",
    "http://3232235777/",
    "http://425.510.425.510/",
    "http://127.0.0.1.0x/",
    "http://4294967297/",
    // as IPv6
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[::FFFF:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[::a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::1]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[5f00::1]/",
    "http://[100::1]/",
    "http://[4000::1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1",
    "http://[]/",
    "http://[127.0.0.1]/",
    "http://[v1.x]/",
    "http://[::1]x/",
    "http://::1/",
    // by names
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://foo.localhost/",
    "http://metadata.google.internal/",
    "http://printer.local/",
    "http://router/",
    "http://nas.lan/",
    "http://box.home.arpa/",
    "http://127.0.0.1./",
    "http://example.com./",
    "http://example..com/",
    "http://.example.com/",
    "http://1.0.0.127.in-addr.arpa/",
    // with something in front, within or behind
    "http://user@example.com/",
    "http://user:pass@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1/",
    "http://@example.com/",
    "http://127.0.0.1%00.example.com/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%2f@example.com/",
    "http://exa%6dple.com/",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http://example.com\\.127.0.0.1/",
    "http://example.com\r\nHost: x/",
    "http://example.com/\r\nX: y",
    "http://example.com/\n",
    "\thttp://example.com/",
    " http://example.com/",
    "http://exam ple.com/",
    "http://example.com/a b",
    "http://example.com\t/",
    std::string("http://127.0.0.1\0.example.com/", 30),
    "http://example.com/\x7f",
    "http://exa\xffmple.com/",
    // beyond ASCII
    "http://１２７.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://ｌocalhost/",
    "http://loc\xc2\xad"
    "alhost/",
    "http://bücher.example/",
    "http://example.com\xef\xbc\x8f@127.0.0.1/",
    "http://\xe2\x80\x8b"
    "127.0.0.1/",
    // without a host, or with another port
    "http://",
    "http:///",
    "http:///127.0.0.1/",
    "http://?x",
    "http://#x",
    "http://:80/",
    "http://example.com:/",
    "http://example.com:22/",
    "http://example.com:0/",
    "http://example.com:080/",
    "http://example.com:65616/",
    "http://example.com:+80/",
    "http://example.com:80:80/",
    "http://example.com:6379/",
    "http://example.com:８0/",
    // otherwise
    "",
    "//127.0.0.1/",
    "/etc/passwd",
    "example.com",
    "http:example.com",
    "http:/127.0.0.1/",
    "file:///etc/passwd",
    "FILE://localhost/etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "ldap://example.com/",
    "unix:///var/run/docker.sock",
    "jar:http://example.com!/",
    "httpx://example.com/",
    "ht\ntp://example.com/",
    "http+unix://x/",
    "ws://example.com/",
    "http://-/",
    "http://a_very.local/",
    "http://example.com{}/",
    "http://<example>/",
};

TEST(EgressPolicy, RefusesEverySpellingOfWhatIsNotPublic) {
  const EgressPolicy policy;
  EXPECT_GE(kRefused.size(), 150U);
  for (const std::string& url : kRefused) {
    const Result<EgressTarget> target = policy.check_url(url);
    ASSERT_FALSE(target.ok()) << "allowed: " << url << " as " << target->url();
    EXPECT_EQ(target.error().code(), ErrorCode::kUrlNotAllowed) << url;
  }
  EXPECT_FALSE(policy.check_url("http://example.com/" + std::string(9'000, 'a')).ok());
  EXPECT_FALSE(policy.check_url("http://" + std::string(64, 'a') + ".com/").ok());
}

TEST(EgressPolicy, AllowsPublicAddressesAndHandsOnOneSpelling) {
  const EgressPolicy policy;
  const std::vector<std::pair<std::string, std::string>> allowed = {
      {"http://example.com", "http://example.com/"},
      {"HTTPS://Example.COM:443/a?b=c#d", "https://example.com/a?b=c"},
      {"http://example.com:443/", "http://example.com:443/"},
      {"https://example.com?q=1", "https://example.com/?q=1"},
      {"http://example.com/@user:x", "http://example.com/@user:x"},
      {"http://example.com/caf\xc3\xa9", "http://example.com/caf%C3%A9"},
      {"http://8.8.8.8/", "http://8.8.8.8/"},
      {"http://172.15.0.1/", "http://172.15.0.1/"},
      {"http://172.32.0.1/", "http://172.32.0.1/"},
      {"http://[2606:4700::1111]/", "http://[2606:4700::1111]/"},
      {"http://[64:ff9b::808:808]/", "http://[64:ff9b::808:808]/"},
      {"http://[::ffff:8.8.8.8]/", "http://[::ffff:8.8.8.8]/"},
      {"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"},
      {"http://127.0.0.1.example.com/", "http://127.0.0.1.example.com/"},
      {"http://a_b.example.com/%2e%2e/", "http://a_b.example.com/%2e%2e/"},
  };
  for (const auto& [url, text] : allowed) {
    const Result<EgressTarget> target = policy.check_url(url);
    ASSERT_TRUE(target.ok()) << url << ": " << target.error().message();
    EXPECT_EQ(target->url(), text);
    // What is handed on is judged the same, and stays as it is.
    EXPECT_EQ(policy.check_url(text).value(), *target);
  }
}

Result<void> check(const EgressPolicy& policy, const std::string& address, std::uint16_t port = 80) {
  std::array<std::uint8_t, 16> bytes{};
  const bool v6 = address.find(':') != std::string::npos;
  EXPECT_EQ(inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()), 1) << address;
  return policy.check_address(std::span(bytes).first(v6 ? 16 : 4), port);
}

TEST(EgressPolicy, JudgesTheFirstAndLastAddressOfEachNetwork) {
  const EgressPolicy policy;
  const std::vector<std::array<std::string, 4>> edges = {
      // before, first, last, after; an empty one is not public either
      {"", "0.0.0.0", "0.255.255.255", "1.0.0.0"},
      {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
      {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
      {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
      {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
      {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
      {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
      {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
      {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
      {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
      {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
      {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
      {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
      {"223.255.255.255", "224.0.0.0", "255.255.255.255", ""},
      {"", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "2000::"},
      {"2000:ffff::", "2001::", "2001:1ff:ffff::", "2001:200::"},
      {"2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::"},
      {"2002:9ff:ffff::", "2002:a00::", "2002:aff:ffff::", "2002:b00::"},
      {"3ffd::", "3ffe::", "3fff:fff:ffff::", "3fff:1000::"},
      {"3fff:ffff::", "4000::", "ffff:ffff::", ""},
      {"64:ff9b::9ff:ffff", "64:ff9b::a00:0", "64:ff9b::aff:ffff", "64:ff9b::b00:0"},
      {"::ffff:9.255.255.255", "::ffff:10.0.0.0", "::ffff:10.255.255.255", "::ffff:11.0.0.0"},
  };
  for (const auto& [before, first, last, after] : edges) {
    for (const std::string& address : {first, last}) EXPECT_FALSE(check(policy, address).ok()) << address;
    for (const std::string& address : {before, after})
      EXPECT_TRUE(address.empty() || check(policy, address).ok()) << address;
  }
  EXPECT_FALSE(policy.check_address({}, 80).ok());
  EXPECT_FALSE(check(policy, "8.8.8.8", 22).ok());
}

TEST(EgressPolicy, RulesAllowAndDenyHosts) {
  const EgressPolicy policy = EgressPolicy::make({.allow_hosts = {"Example.com", "*.example.org", "box"},
                                                  .deny_hosts = {"secret.example.org"},
                                                  .schemes = {"https"}})
                                  .value();
  for (const char* url :
       {"https://example.com/", "https://a.example.org/", "https://a.b.example.org/", "https://box/"})
    EXPECT_TRUE(policy.check_url(url).ok()) << url;
  for (const char* url : {"http://example.com/", "https://www.example.com/", "https://example.org/",
                          "https://secret.example.org/", "https://badexample.org/", "https://8.8.8.8/"})
    EXPECT_EQ(policy.check_url(url).error().code(), ErrorCode::kUrlNotAllowed) << url;
}

TEST(EgressPolicy, RulesAllowAndDenyNetworks) {
  const EgressPolicy policy = EgressPolicy::make({.ports = {8080},
                                                  .allow_networks = {"10.1.0.0/16", "::1"},
                                                  .deny_networks = {"10.1.2.0/24", "8.8.0.0/16"}})
                                  .value();
  EXPECT_TRUE(check(policy, "10.1.0.1", 8080).ok());
  EXPECT_TRUE(check(policy, "::ffff:10.1.0.1", 8080).ok());
  EXPECT_TRUE(check(policy, "::1", 8080).ok());
  for (const char* address : {"10.1.2.3", "::ffff:10.1.2.3", "10.2.0.1", "8.8.8.8", "64:ff9b::a01:1", "::2"})
    EXPECT_FALSE(check(policy, address, 8080).ok()) << address;
  EXPECT_TRUE(policy.check_url("http://10.1.0.1:8080/").ok());
}

TEST(EgressPolicy, RefusesRulesThatAreNone) {
  for (const char* pattern : {"", "*.", "http://x", "a*b", "*.*", "x/y", "[1.2.3.4"})
    EXPECT_EQ(EgressPolicy::make({.allow_hosts = {pattern}}).error().code(), ErrorCode::kBadConfig)
        << pattern;
  for (const char* network :
       {"", "10", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "::/129", "x/8", "10.0.0.0/-1"})
    EXPECT_EQ(EgressPolicy::make({.allow_networks = {network}}).error().code(), ErrorCode::kBadConfig)
        << network;
  EXPECT_EQ(EgressPolicy::make({.schemes = {"ftp"}}).error().code(), ErrorCode::kBadConfig);
}

TEST(EgressPolicy, ItsSentencesSayWhatToDoAndHideTheQuery) {
  const Result<EgressTarget> target = EgressPolicy().check_url("http://10.0.0.1/?key=sesame");
  EXPECT_EQ(target.error().message(), "address 10.0.0.1 is not allowed: it is a private address");
  EXPECT_THAT(EgressPolicy().check_url("http://u:sesame@example.com/").error().message(),
              Not(HasSubstr("sesame")));
}

}  // namespace egress_policy_test
}  // namespace tertulia
