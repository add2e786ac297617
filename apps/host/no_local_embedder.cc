// Stands in for minilm where the program is built without it.
#include "local_embedder.h"

namespace tertulia {

Result<std::shared_ptr<Embedder>> local_embedder() {
  return Error(
      ErrorCode::kBadConfig,
      "this program was built without the embedder minilm (TERTULIA_MINILM=OFF); use static or http");
}

}  // namespace tertulia
