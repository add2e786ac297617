// How a provider is reached; the same for all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/secret.h"

namespace tertulia {

struct ProviderOptions {
  // Without a slash at its end; empty: the provider's own.
  std::string base_url{};
  // Null: no key is sent, as local servers like it.
  std::shared_ptr<const Secret> key{};
  // Sent with every request, beside what the protocol asks for. Not for secrets.
  std::vector<std::pair<std::string, std::string>> headers{};
  // None: as HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY say. Empty: no proxy. Else its address.
  std::optional<std::string> proxy{};
  // Certificates to trust instead of the system's, as PEM.
  std::string ca_file{};
  // Until there is a connection, TLS included. Default: 10 s.
  Duration connect_timeout = std::chrono::seconds(10);
  // Used where a call gives none. Default: 2 min.
  Duration idle_timeout = std::chrono::minutes(2);
  // Whether the models take images, and files such as PDF. None: as is known of them by their names.
  std::optional<bool> images{};
  std::optional<bool> files{};
};

}  // namespace tertulia
