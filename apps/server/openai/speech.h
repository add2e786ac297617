// How a client wants the model to speak, in the words that chats and responses share.
#pragma once

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/model/language_model.h"

#include "openai/fields.h"

namespace tertulia::server {

// temperature, top_p, parallel_tool_calls; kUnsupportedParameter for what would have to be dropped.
Result<void> read_sampling(const Fields& in, ModelOptions& speech);

// {"type":"text"}, {"type":"json_object"} or {"type":"json_schema",…}; the schema stands in a member of its
// own in chats and beside the type in responses. `format` may be null.
Result<void> read_format(const JsonObject* format, const std::string& param, ModelOptions& speech);

}  // namespace tertulia::server
