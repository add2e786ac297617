#include "tertulia/base/secret_mask.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/json.h"
#include "tertulia/base/secret.h"

namespace tertulia {
namespace {

std::string percent_encoded(std::string_view text, std::string_view digits) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += digits[byte >> 4U];
      encoded += digits[byte & 15U];
    }
  }
  return encoded;
}

// As it stands between the quotes of a JSON text, and the same with escaped slashes.
std::string in_json(std::string_view text, bool slashes) {
  std::string quoted;
  JsonWriter(quoted).string(text);
  std::string inner = quoted.substr(1, quoted.size() - 2);
  wipe(quoted);
  if (!slashes) return inner;
  for (std::size_t at = inner.find('/'); at != std::string::npos; at = inner.find('/', at + 2))
    inner.insert(at, "\\");
  return inner;
}

}  // namespace

bool names_secret(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 8> kWords = {"auth", "key",    "token",      "secret",
                                                      "pass", "cookie", "credential", "signature"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

SecretMask::~SecretMask() {
  for (std::string& form : forms_) wipe(form);
  wipe(held_);
}

void SecretMask::add_form(std::string form) {
  if (form.size() < kLeastBytes || std::ranges::find(forms_, form) != forms_.end()) {
    wipe(form);
    return;
  }
  forms_.push_back(std::move(form));
  std::ranges::sort(
      forms_, [](const std::string& one, const std::string& other) { return one.size() > other.size(); });
}

void SecretMask::add_forms(std::string_view secret) {
  if (secret.size() < kLeastBytes) return;
  add_form(std::string(secret));
  add_form(percent_encoded(secret, "0123456789ABCDEF"));
  add_form(percent_encoded(secret, "0123456789abcdef"));
  std::string base64 = to_base64(secret);
  std::string web = base64;
  std::ranges::replace(web, '+', '-');
  std::ranges::replace(web, '/', '_');
  for (std::string* form : {&base64, &web}) {
    // Its last letters depend on what comes behind.
    while (form->ends_with('=')) form->pop_back();
    if (secret.size() % 3 != 0) form->pop_back();
    add_form(std::move(*form));
  }
  add_form(in_json(secret, false));
  add_form(in_json(secret, true));
}

void SecretMask::add(std::string_view value) {
  const std::size_t space = value.find(' ');
  const std::string_view scheme = value.substr(0, std::min(space, value.size()));
  const bool has_scheme =
      space != std::string_view::npos && value.find(' ', space + 1) == std::string_view::npos;
  if (!has_scheme) return add_forms(value);
  const std::string_view token = value.substr(space + 1);
  add_forms(token);
  if (scheme != "Basic" && scheme != "basic") return;
  std::optional<std::string> pair = from_base64(token);
  if (!pair) return;
  add_forms(*pair);
  add_forms(std::string_view(*pair).substr(std::min(pair->find(':') + 1, pair->size())));
  wipe(*pair);
}

std::string SecretMask::whole(std::string_view text) const {
  std::string masked(text);
  for (const std::string& form : forms_) {
    for (std::size_t at = masked.find(form); at != std::string::npos;
         at = masked.find(form, at + kMasked.size())) {
      masked.replace(at, form.size(), kMasked);
    }
  }
  return masked;
}

std::size_t SecretMask::begun_in(std::string_view text) const {
  std::size_t most = 0;
  for (const std::string& form : forms_) {
    const std::size_t longest = std::min(form.size() - 1, text.size());
    for (std::size_t size = longest; size > most; --size) {
      if (text.ends_with(std::string_view(form).substr(0, size))) most = size;
    }
  }
  return most;
}

std::string SecretMask::next(std::string_view bytes) {
  if (forms_.empty()) return std::string(bytes);
  held_ += bytes;
  std::string masked = whole(held_);
  const std::size_t held = begun_in(masked);
  wipe(held_);
  held_ = masked.substr(masked.size() - held);
  masked.resize(masked.size() - held);
  return masked;
}

std::string SecretMask::rest() { return std::exchange(held_, {}); }

}  // namespace tertulia
