// The vocabulary and merges of a tokenizer.json as a Bpe.
#pragma once

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

#include "bpe_tokenizer.h"

namespace tertulia {

// Fills `parts.bpe` and `parts.ids`. With `whole_first` a piece that is a token is taken whole, though
// merging might cut it otherwise.
Result<void> read_huggingface_vocabulary(const Json& model, const JsonArray& added, bool whole_first,
                                         BpeTokenizerParts& parts);

}  // namespace tertulia
