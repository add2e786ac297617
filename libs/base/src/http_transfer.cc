#include "http_transfer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

#include "tertulia/base/done.h"
#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/run_safely.h"

namespace tertulia {
namespace {

constexpr Duration kLinger = std::chrono::seconds(1);
constexpr std::size_t kLingerBytes = std::size_t{64} << 10;

Instant now() { return real_env().clock().instant(); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

// A header that could end its line would let its value add others.
bool is_plain(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

void free_wiped(curl_slist* list) {
  for (curl_slist* node = list; node != nullptr; node = node->next) {
    volatile char* byte = node->data;
    while (*byte != '\0') *byte++ = '\0';
  }
  curl().slist_free_all(list);
}

}  // namespace

HttpTransfer::HttpTransfer(std::uint64_t number, HttpRequest request, HttpHandlers handlers)
    : number_(number), request_(std::move(request)), handlers_(std::move(handlers)) {}

HttpTransfer::~HttpTransfer() {
  if (handle_ == nullptr) return;
  curl().easy_cleanup(handle_);
  free_wiped(headers_);
  curl().slist_free_all(known_hosts_);
}

std::optional<HttpEnd> HttpTransfer::prepare(const HttpClientOptions& options,
                                             std::vector<HttpTransfer*>& hurried) {
  hurried_ = &hurried;
  begun_ = last_sign_ = now();
  if (cancel_.cancelled())
    return HttpEnd{.how = HttpEnd::How::kCancelled, .sentence = "the request was cancelled"};
  const bool plain = std::ranges::all_of(request_.headers, [](const HttpHeader& header) {
    return is_plain(header.name) && is_plain(header.value);
  });
  const bool plain_secrets = std::ranges::all_of(request_.secret_headers, [](const HttpSecretHeader& header) {
    return header.secret != nullptr && is_plain(header.secret->reveal());
  });
  if (!plain || !plain_secrets)
    return HttpEnd{.how = HttpEnd::How::kBadUrl, .sentence = "a header of the request holds a line break"};
  if (const auto& library = loaded_curl(); !library)
    return HttpEnd{
        .how = HttpEnd::How::kStopped, .sentence = library.error().message(), .error = library.error()};
  handle_ = curl().easy_init();
  if (handle_ == nullptr)
    return HttpEnd{.how = HttpEnd::How::kUnreachable, .sentence = "libcurl is out of memory"};
  curl().easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  if (curl().easy_setopt(handle_, CURLOPT_URL, request_.url.c_str()) != CURLE_OK)
    return HttpEnd{.how = HttpEnd::How::kBadUrl, .sentence = "the address is not one"};
  curl().easy_setopt(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl().easy_setopt(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl().easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, 0x7fffffffL);
  curl().easy_setopt(handle_, CURLOPT_BUFFERSIZE, 8L << 10);
  if (!options.ca_file.empty()) curl().easy_setopt(handle_, CURLOPT_CAINFO, options.ca_file.c_str());
  set_route(options);
  set_method();
  add_headers();
  curl().easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  curl().easy_setopt(handle_, CURLOPT_HEADERDATA, this);
  curl().easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
  curl().easy_setopt(handle_, CURLOPT_WRITEDATA, this);
  curl().easy_setopt(handle_, CURLOPT_PREREQFUNCTION, &HttpTransfer::on_connected);
  curl().easy_setopt(handle_, CURLOPT_PREREQDATA, this);
  return std::nullopt;
}

void HttpTransfer::set_route(const HttpClientOptions& options) {
  if (options.proxy) curl().easy_setopt(handle_, CURLOPT_PROXY, options.proxy->c_str());
  for (const std::string& host : options.known_hosts)
    known_hosts_ = curl().slist_append(known_hosts_, host.c_str());
  if (known_hosts_ != nullptr) curl().easy_setopt(handle_, CURLOPT_RESOLVE, known_hosts_);
  if (!request_.allow_address) return;
  curl().easy_setopt(handle_, CURLOPT_PROXY, "");
  // A connection that somebody else has opened was not judged.
  curl().easy_setopt(handle_, CURLOPT_FRESH_CONNECT, 1L);
  curl().easy_setopt(handle_, CURLOPT_FORBID_REUSE, 1L);
  curl().easy_setopt(handle_, CURLOPT_OPENSOCKETFUNCTION, &HttpTransfer::on_open_socket);
  curl().easy_setopt(handle_, CURLOPT_OPENSOCKETDATA, this);
}

void HttpTransfer::set_method() {
  if (request_.method == "POST") {
    curl().easy_setopt(handle_, CURLOPT_POST, 1L);
  } else if (request_.method == "HEAD") {
    curl().easy_setopt(handle_, CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET") {
    curl().easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  if (request_.body.empty() && request_.method != "POST") return;
  curl().easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  curl().easy_setopt(handle_, CURLOPT_POSTFIELDS, request_.body.c_str());
}

bool HttpTransfer::may_connect(const sockaddr& address) {
  // Refused once is refused for all: a name with one forbidden address is not to be trusted with the others.
  if (stopped_) return false;
  std::array<std::uint8_t, 16> bytes{};
  std::size_t size = 0;
  std::uint16_t port = 0;
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    size = sizeof v4.sin_addr;
    std::memcpy(bytes.data(), &v4.sin_addr, size);
    port = ntohs(v4.sin_port);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    size = sizeof v6.sin6_addr;
    std::memcpy(bytes.data(), &v6.sin6_addr, size);
    port = ntohs(v6.sin6_port);
  }
  const Result<void> allowed = request_.allow_address(std::span(bytes).first(size), port);
  if (allowed) return true;
  return stop(
      {.how = HttpEnd::How::kStopped, .sentence = allowed.error().message(), .error = allowed.error()});
}

curl_socket_t HttpTransfer::on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  if (purpose != CURLSOCKTYPE_IPCXN || !transfer.may_connect(address->addr)) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void HttpTransfer::add_headers() {
  for (const HttpHeader& header : request_.headers) {
    // libcurl takes "Name:" as "leave it out" and "Name;" as "send it empty".
    const std::string line = header.value.empty() ? header.name + ";" : header.name + ": " + header.value;
    headers_ = curl().slist_append(headers_, line.c_str());
  }
  for (const HttpSecretHeader& header : request_.secret_headers) {
    std::string line = header.name + ": " + header.prefix;
    line += header.secret->reveal();
    if (names_secret(header.name)) mask_.add(header.secret->reveal());
    headers_ = curl().slist_append(headers_, line.c_str());
    wipe(line);
  }
  // No waiting for "100 Continue" before a large body.
  headers_ = curl().slist_append(headers_, "Expect:");
  curl().easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
}

// When the patience with the connection, or with the silence on it, ends.
std::optional<Instant> HttpTransfer::silence_due() const {
  if (!connected_) return begun_ + request_.connect_timeout;
  if (request_.idle_timeout <= Duration::zero()) return std::nullopt;
  return last_sign_ + request_.idle_timeout;
}

std::optional<Instant> HttpTransfer::next_due(Instant time) const {
  std::optional<Instant> due = silence_due();
  const auto earlier = [&](Instant other) { due = due ? std::min(*due, other) : other; };
  // Signs of life move no timer; it looks when it fires, and once while there is no connection yet, since the
  // silence on it may end before the patience with it would.
  if (!connected_ && request_.idle_timeout > Duration::zero()) earlier(time + request_.idle_timeout);
  if (request_.deadline.instant()) earlier(*request_.deadline.instant());
  return due;
}

std::optional<HttpEnd> HttpTransfer::expired(Instant time) const {
  if (request_.deadline.instant() && *request_.deadline.instant() <= time)
    return HttpEnd{.how = HttpEnd::How::kDeadline,
                   .sentence = "the deadline has passed while waiting for " + host()};
  const std::optional<Instant> silence = silence_due();
  if (!silence || *silence > time) return std::nullopt;
  if (!connected_)
    return HttpEnd{.how = HttpEnd::How::kConnectTimeout,
                   .sentence = "no connection to " + host() + " in time"};
  return HttpEnd{.how = HttpEnd::How::kIdle, .sentence = host() + " has been silent for too long"};
}

std::string HttpTransfer::host() const {
  std::string_view url = request_.url;
  if (const std::size_t scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const std::size_t user = url.rfind('@'); user != url.npos) url.remove_prefix(user + 1);
  return printable(url, 80);
}

HttpEnd HttpTransfer::outcome(CURLcode code) {
  if (stopped_) return *std::move(stopped_);
  if (code == CURLE_OK) {
    // A body without a byte: the head has not been told by it.
    if (finish_head() && (lingers_ || tell_body(mask_.rest()))) return {};
    return *std::move(stopped_);
  }
  const std::string sentence = host() + ": " + printable(curl().easy_strerror(code), 120);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      // Also what libcurl says of an answer that is not HTTP.
      return {.how = connected_ ? HttpEnd::How::kCut : HttpEnd::How::kBadUrl, .sentence = sentence};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PROXY:
      return {.how = HttpEnd::How::kUnreachable, .sentence = sentence};
    case CURLE_OPERATION_TIMEDOUT:
      return {.how = HttpEnd::How::kConnectTimeout, .sentence = sentence};
    default:
      return {.how = HttpEnd::How::kCut, .sentence = sentence};
  }
}

void HttpTransfer::end(HttpEnd end) {
  // Nobody may cancel it any more, and nothing is called after this.
  registration_ = {};
  const auto on_end = std::exchange(handlers_.on_end, nullptr);
  if (on_end) run_safely("whoever waits for an answer over HTTP", [&] { on_end(std::move(end)); });
}

// libcurl knows no exceptions: one ends the transfer.
template <class Take>
bool HttpTransfer::guarded(Take take) noexcept {
  try {
    return take();
  } catch (...) {
    const Error error = error_thrown("whoever listens to " + host());
    return stop({.how = HttpEnd::How::kStopped, .sentence = error.message(), .error = error});
  }
}

int HttpTransfer::on_connected(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  // libcurl is about to send it again.
  if (transfer.connected_ && transfer.request_.once) {
    transfer.stop({.how = HttpEnd::How::kCut,
                   .sentence = transfer.host() + " closed a kept connection before it answered"});
  }
  transfer.connected_ = true;
  transfer.last_sign_ = now();
  // An allowed address may have answered while a forbidden one of the same name was refused.
  return transfer.stopped_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

std::size_t HttpTransfer::on_header(char* bytes, std::size_t one, std::size_t size, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  return transfer.guarded([&] { return transfer.take_header({bytes, one * size}); }) ? one * size : 0;
}

std::size_t HttpTransfer::on_body(char* bytes, std::size_t one, std::size_t size, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  return transfer.guarded([&] { return transfer.take_body({bytes, one * size}); }) ? one * size : 0;
}

bool HttpTransfer::stop(HttpEnd end) {
  if (!stopped_) stopped_ = std::move(end);
  return false;
}

bool HttpTransfer::take_header(std::string_view line) {
  last_sign_ = now();
  header_bytes_ += line.size();
  if (header_bytes_ > request_.header_limit)
    return stop({.how = HttpEnd::How::kTooLarge, .sentence = host() + " sent more headers than allowed"});
  if (line.starts_with("HTTP/") && !head_told_) {
    // Also after a "100 Continue".
    head_ = {};
    const std::size_t space = line.find(' ');
    if (space != line.npos) std::from_chars(line.data() + space + 1, line.data() + line.size(), head_.status);
    return true;
  }
  line = trimmed(line);
  // Behind the head there may be trailers, which nobody needs.
  if (head_told_) return true;
  if (line.empty()) return head_.status < 200 || finish_head();
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return true;
  head_.headers.push_back(
      {.name = std::string(line.substr(0, colon)), .value = mask_.whole(trimmed(line.substr(colon + 1)))});
  return true;
}

bool HttpTransfer::finish_head() {
  if (head_told_) return true;
  head_told_ = true;
  if (Result<void> more = handlers_.on_head ? handlers_.on_head(head_) : Result<void>(); !more)
    return stop({.how = HttpEnd::How::kStopped, .sentence = more.error().message(), .error = more.error()});
  const std::string_view encoding = head_.header("content-encoding");
  if (!encoding.empty() && encoding != "identity")
    return stop(
        {.how = HttpEnd::How::kCut, .sentence = host() + " sent a compressed body, which was not asked for"});
  return true;
}

bool HttpTransfer::take_body(std::string_view bytes) {
  last_sign_ = now();
  body_bytes_ += bytes.size();
  if (body_bytes_ > request_.body_limit)
    return stop({.how = HttpEnd::How::kTooLarge, .sentence = host() + " sent a larger body than allowed"});
  if (lingers_) return true;
  if (!(mask_.empty() ? tell_body(bytes) : tell_body(mask_.next(bytes)))) return false;
  if (handlers_.is_enough && handlers_.is_enough()) linger();
  return true;
}

bool HttpTransfer::tell_body(std::string_view bytes) {
  if (bytes.empty() || !handlers_.on_body) return true;
  const Result<void> more = handlers_.on_body(bytes);
  if (more) return true;
  return stop({.how = HttpEnd::How::kStopped, .sentence = more.error().message(), .error = more.error()});
}

// What was asked for is there: says so, and only waits for the connection to become free.
void HttpTransfer::linger() {
  lingers_ = true;
  request_.deadline = min(request_.deadline, Deadline::at(now() + kLinger));
  request_.body_limit = body_bytes_ + kLingerBytes;
  hurried_->push_back(this);
  end({});
}

}  // namespace tertulia
