#include "self_check.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "core/key_file.h"
#include "http/transport.h"
#include "server.h"

namespace tertulia::server {
namespace {

using State = SelfCheck::State;
using boost::asio::ip::tcp;

// A file that others may read, and should not. A configuration that holds a secret and that others may read
// has been refused before.
void look_at_modes(const std::vector<Path>& secrets, Env& env, std::vector<SelfCheck>& found) {
  for (const Path& path : secrets) {
    const auto info = env.files().info(path);
    if (!info || !info->world_readable) continue;
    found.push_back({State::kBad, "keys",
                     "every account of this machine may read '" + path.string() + "'; try: chmod 600 it"});
  }
}

void look_at_keys(const Config& config, bool loopback, Env& env, std::vector<SelfCheck>& found) {
  const Path directory = config.path("data");
  look_at_modes({key_path(directory), directory / "visitor.key"}, env, found);
  const Result<std::vector<ApiKey>> keys = read_keys(env.files(), directory);
  if (!keys) {
    found.push_back({State::kBad, "keys", keys.error().message(), keys.error().code()});
    return;
  }
  const Time now = env.clock().now();
  const auto valid =
      std::count_if(keys->begin(), keys->end(), [now](const ApiKey& key) { return key.valid_at(now); });
  if (valid == 0 && !loopback) {
    found.push_back({State::kBad, "keys",
                     "server.address can be reached by others, but there is no key; make one with: tertulia "
                     "keys create"});
  } else if (valid == 0 && config.boolean("server.key_required")) {
    found.push_back({State::kNote, "keys",
                     "server.key_required is set, but there is no key; make one with: tertulia keys create"});
  } else {
    found.push_back({State::kFine, "keys",
                     valid == 0 ? "none; this machine needs none" : std::to_string(valid) + " valid"});
  }
}

SelfCheck look_at_port(const ServerOptions& options) {
  const std::string where = options.http.address + " port " + std::to_string(options.http.port);
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(options.http.address, failed);
  if (failed) return {State::kBad, "port", "server.address '" + options.http.address + "' is no address"};
  boost::asio::io_context io;
  tcp::acceptor acceptor(io);
  const tcp::endpoint endpoint(address, options.http.port);
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(1, failed);
  if (failed == boost::asio::error::address_in_use) {
    return {State::kNote, "port",
            where + " is in use: by a server that runs already, or choose another with server.port"};
  }
  if (failed) return {State::kBad, "port", "cannot listen on " + where + ": " + failed.message()};
  return {State::kFine, "port", where + " is free"};
}

void look_at_tls(const ServerOptions& options, Env& env, std::vector<SelfCheck>& found) {
  if (options.http.tls_certificate.empty()) return;
  const auto loaded = TlsContext::load(options.http.tls_certificate, options.http.tls_key);
  if (!loaded) {
    found.push_back({State::kBad, "tls", loaded.error().message()});
    return;
  }
  const std::size_t before = found.size();
  look_at_modes({options.http.tls_key}, env, found);
  if (found.size() == before)
    found.push_back({State::kFine, "tls", "'" + options.http.tls_certificate + "'"});
}

// A clock that was set back makes keys live longer, and ids out of order.
SelfCheck look_at_clock(const Config& config, Env& env) {
  constexpr Time kBeforeThisProgram = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  constexpr Duration kSlack = std::chrono::minutes(5);
  const Time now = env.clock().now();
  if (now < kBeforeThisProgram) {
    return {State::kBad, "clock",
            "the clock stands before 2026; set it, or keys and certificates cannot be judged"};
  }
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(config.path("data"), problem)) {
    std::error_code unreadable;
    const auto written = std::chrono::file_clock::to_sys(entry.last_write_time(unreadable));
    if (unreadable || std::chrono::floor<Duration>(written) <= now + kSlack) continue;
    return {State::kNote, "clock",
            "'" + entry.path().string() + "' was written later than it is now: the clock was set back"};
  }
  return {State::kFine, "clock", "right, as far as the data can tell"};
}

}  // namespace

std::vector<SelfCheck> check_server(const Config& config, Env& env) {
  std::vector<SelfCheck> found;
  const ServerOptions options = server_options(config);
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(options.http.address, failed);
  found.push_back(look_at_port(options));
  look_at_keys(config, failed || address.is_loopback(), env, found);
  look_at_tls(options, env, found);
  found.push_back(look_at_clock(config, env));
  return found;
}

}  // namespace tertulia::server
