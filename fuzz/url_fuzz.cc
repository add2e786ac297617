// Any bytes as an address: refused, or understood by the policy and by the library that connects in the same
// way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "tertulia/base/utf8.h"
#include "tertulia/tools/egress_policy.h"
#include "tertulia/tools/fetch_text.h"

namespace {

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  std::string out;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) out = text;
  curl_free(text);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  static const EgressPolicy policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TERTULIA_CHECK(is_utf8(text_of_html(text)), "the text of a page is text");
  const Result<EgressTarget> target = policy.check_url(text);
  if (!target) {
    TERTULIA_CHECK(target.error().code() == ErrorCode::kUrlNotAllowed, "there is one code for all refusals");
    TERTULIA_CHECK(is_utf8(target.error().message()), "an error is text");
    return 0;
  }
  const std::string spelled = target->url();
  const Result<EgressTarget> again = policy.check_url(spelled);
  TERTULIA_CHECK(again.ok() && *again == *target, "what is handed on is judged the same");
  CURLU* url = curl_url();
  TERTULIA_CHECK(curl_url_set(url, CURLUPART_URL, spelled.c_str(), 0) == CURLUE_OK, "it is an address");
  // libcurl writes IPv6 addresses in their shortest form; which one it is was judged before.
  const std::string host = part_of(url, CURLUPART_HOST);
  const bool bracketed = target->host.front() == '[';
  TERTULIA_CHECK(bracketed ? host.front() == '[' : host == target->host, "both see the same host");
  TERTULIA_CHECK(part_of(url, CURLUPART_PORT) == std::to_string(target->port), "both see the same port");
  TERTULIA_CHECK(part_of(url, CURLUPART_SCHEME) == target->scheme, "both see the same scheme");
  TERTULIA_CHECK(part_of(url, CURLUPART_USER).empty(), "nobody is named");
  curl_url_cleanup(url);
  return 0;
}
