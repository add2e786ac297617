// all-MiniLM-L6-v2 in this process. In a library of its own, because it brings oneDNN with it:
//
//   target_link_libraries(app PRIVATE tertulia::tertulia tertulia::minilm)
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/result.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

// Computes on the calling thread. The weights are read once, from `path` or, if that is empty, from where the
// build or the installation put them. kNotFound if they are not there, kDamaged if they are not those this
// was written for.
Result<std::shared_ptr<Embedder>> minilm_embedder(const std::string& path = {});

}  // namespace tertulia
