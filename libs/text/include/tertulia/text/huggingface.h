// Tokenizers of open models, from the `tokenizer.json` that is published with them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"
#include "tertulia/text/tokenizer.h"

namespace tertulia {

// Reads a byte-level BPE tokenizer (Llama 3, Qwen 2.5 and their kin) from the text of its tokenizer.json;
// `name` is what it will be called. Added tokens are ordinary text when they stand in a text, and decode to
// their names.
//
// Whatever would make the count differ is refused, never guessed: kUnknownTokenizer, naming the part that is
// not known, for other models, splitting patterns, normalizers and options; kMissingField and kWrongType for
// a file of another form, kDamaged for merges that do not fit the vocabulary; and the errors of parse_json.
Result<std::shared_ptr<const Tokenizer>> huggingface_tokenizer(std::string_view json, std::string name);

}  // namespace tertulia
