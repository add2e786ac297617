#include "local_embedder.h"

#include "tertulia/model/minilm_embedder.h"

namespace tertulia {

Result<std::shared_ptr<Embedder>> local_embedder() { return minilm_embedder(); }

}  // namespace tertulia
