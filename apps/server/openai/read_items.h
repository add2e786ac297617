// Reading what clients send: the messages of chat completions, and the items of responses.
#pragma once

#include <functional>
#include <string>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

#include "openai/assembler.h"

namespace tertulia::server {

// Finds what an item_reference names, and gives it as the client was told it.
using FindItem = std::function<Result<Json>(const std::string& id)>;

// One message of a chat. Errors of Fields and Assembler; kUnsupportedParameter for kinds that are not known.
Result<void> read_chat_message(const Json& message, const std::string& param, Assembler& out);

// One item of a response's input.
Result<void> read_item(const Json& item, const std::string& param, const FindItem& find, Assembler& out);

// The `input` of a response: text, or items.
Result<void> read_input_items(const Json& input, const FindItem& find, Assembler& out);

// The content of a message or of an output, as one text. Only text parts are allowed.
Result<std::string> read_text_content(const Json& content, const std::string& param);

}  // namespace tertulia::server
