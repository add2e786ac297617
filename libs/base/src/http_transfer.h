// One exchange of the HTTP client: its libcurl handle, its limits and its timers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tertulia/base/curl_library.h"
#include "tertulia/base/http_client.h"
#include "tertulia/base/secret_mask.h"

namespace tertulia {

// Used by the loop's thread only, once it was handed over.
class HttpTransfer {
 public:
  HttpTransfer(std::uint64_t number, HttpRequest request, HttpHandlers handlers);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  std::uint64_t number() const { return number_; }
  CURL* handle() const { return handle_; }
  // `cancel` is looked at once more when the transfer begins: it may have come before the order did.
  void hold(CancelToken cancel, CancelRegistration registration) {
    cancel_ = std::move(cancel);
    registration_ = std::move(registration);
  }

  // Makes the libcurl handle. An end if the request cannot be sent at all.
  // It adds itself to `hurried` when it is to be given less time than was arranged for.
  std::optional<HttpEnd> prepare(const HttpClientOptions& options, std::vector<HttpTransfer*>& hurried);

  // When somebody should look whether it takes too long, and when that was last arranged for.
  std::optional<Instant> next_due(Instant now) const;
  std::optional<Instant> timer;
  // How it ends if it has taken too long.
  std::optional<HttpEnd> expired(Instant now) const;

  // What libcurl's result means.
  HttpEnd outcome(CURLcode code);
  // Tells the handlers. Once.
  void end(HttpEnd end);

 private:
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t size, void* self);
  static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_connected(void* self, char* ip, char* local_ip, int port, int local_port);

  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  bool tell_body(std::string_view bytes);
  bool stop(HttpEnd end);
  template <class Take>
  bool guarded(Take take) noexcept;
  bool finish_head();
  void linger();
  void add_headers();
  void set_method();
  void set_route(const HttpClientOptions& options);
  bool may_connect(const sockaddr& address);
  std::optional<Instant> silence_due() const;
  std::string host() const;

  const std::uint64_t number_;
  HttpRequest request_;
  HttpHandlers handlers_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* known_hosts_ = nullptr;
  CancelToken cancel_;
  CancelRegistration registration_;

  // What was sent does not come back to those who asked.
  SecretMask mask_;
  HttpHead head_;
  bool head_told_ = false;
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  // Why a handler or a limit stopped it.
  std::optional<HttpEnd> stopped_;
  Instant begun_{};
  bool connected_ = false;
  bool lingers_ = false;
  std::vector<HttpTransfer*>* hurried_ = nullptr;
  Instant last_sign_{};
};

}  // namespace tertulia
