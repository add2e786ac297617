// A SecretMask: takes the secrets that were sent to somebody out of what comes back from there. An error that
// quotes the key it refuses would otherwise reach users, events, the store and its exports.
//
//   SecretMask mask;
//   mask.add("Authorization", "Bearer sk-…");
//   mask.whole(text)                           of a text that is there at once
//   mask.next(bytes) … mask.rest()             of a stream
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// "Authorization", "x-api-key", "GITHUB_TOKEN": whether what has this name is to be kept from others.
bool names_secret(std::string_view name);

// Its memory is overwritten when it is destroyed.
class SecretMask {
 public:
  // Shorter ones stand in ordinary words, too; nobody should use them.
  static constexpr std::size_t kLeastBytes = 8;
  static constexpr std::string_view kMasked = "[secret]";

  SecretMask() = default;
  ~SecretMask();
  SecretMask(const SecretMask&) = delete;
  SecretMask& operator=(const SecretMask&) = delete;

  // As it is, behind its scheme ("Bearer ", "Basic "), percent-encoded, in base 64 and as it stands in JSON.
  void add(std::string_view value);
  bool empty() const { return forms_.empty(); }

  std::string whole(std::string_view text) const;

  // What can be told so far: the end of it is held back while it may be the beginning of a secret.
  std::string next(std::string_view bytes);
  // What was held back.
  std::string rest();

 private:
  void add_forms(std::string_view secret);
  void add_form(std::string form);
  // How many bytes at the end of `text` a secret could begin with.
  std::size_t begun_in(std::string_view text) const;

  // The longest first.
  std::vector<std::string> forms_;
  std::string held_;
};

}  // namespace tertulia
