#include "secret_file.h"

#include <algorithm>

namespace tertulia {

Result<OwnSecret> open_secret(Env& env, const Path& directory, const std::string& name) {
  OwnSecret secret{};
  const Path path = directory / name;
  Result<std::string> stored = read_file(env.files(), path, 1'024);
  if (!stored && stored.error().code() != ErrorCode::kNotFound) return std::move(stored).error();
  if (!stored) {
    env.random().fill(secret);
    TERTULIA_TRY(env.files().make_directory(directory));
    TERTULIA_TRY(write_file_atomically(env.files(), path, std::string(secret.begin(), secret.end())));
    return secret;
  }
  if (stored->size() != secret.size()) {
    return Error(ErrorCode::kDamaged,
                 name + " holds no secret of 32 bytes; remove it to have a new one made");
  }
  std::copy(stored->begin(), stored->end(), secret.begin());
  return secret;
}

}  // namespace tertulia
