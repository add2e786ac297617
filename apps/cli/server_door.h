// A ServerDoor: the API of a server that has the data, for commands that cannot open it themselves.
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"
#include "tertulia/base/setting.h"

namespace tertulia::cli {

class ServerDoor {
 public:
  // At `url`, with the key in TERTULIA_API_KEY of the environment, if there is one.
  ServerDoor(std::string url, const Environment& environment);

  // The answer of a route, or its error with the code it names; kClosed if nobody can be reached.
  Result<Json> get(const std::string& path) const { return ask("GET", path, {}); }
  Result<Json> post(const std::string& path, const Json& body) const {
    return ask("POST", path, to_text(body));
  }

 private:
  Result<Json> ask(const std::string& method, const std::string& path, std::string body) const;

  std::string url_;
  std::shared_ptr<const Secret> key_;
};

}  // namespace tertulia::cli
