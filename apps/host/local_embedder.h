// The embedder `minilm`, where the program is built with it (TERTULIA_MINILM).
#pragma once

#include <memory>

#include "tertulia/base/result.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

// kBadConfig where it is built without.
Result<std::shared_ptr<Embedder>> local_embedder();

}  // namespace tertulia
