// A document on its way into memory: its bytes, and the plain text or markdown that they say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

enum class DocumentFormat : std::uint8_t { kText, kMarkdown, kHtml, kPdf };
std::string_view name_of(DocumentFormat format);
// By the end of a file name: .md, .markdown, .html, .htm, .pdf; everything else is text.
DocumentFormat format_of(std::string_view file_name);

struct Document {
  // Where it is from: a path, an address, a title. One source is in a collection once.
  std::string source;
  DocumentFormat format = DocumentFormat::kText;
  std::string bytes;
};

// HTML becomes markdown without scripts, styles and navigation; a PDF the text of its pages. kBadUnicode for
// text that is not UTF-8, kDamaged for a PDF that cannot be read (or asks for a password), kTooLarge.
Result<std::string> text_of(const Document& document);

}  // namespace tertulia
