// Whether scores say rightly what belongs to a question.
#pragma once

#include <memory>
#include <string>

#include "tertulia/model/embedder.h"

namespace tertulia::bench {

// Prints the shares of questions that pass the default `semantic_min_score`, by meaning alone and with words.
void measure_scores(const std::string& name, const std::shared_ptr<Embedder>& embedder);

}  // namespace tertulia::bench
