// A document on its way into memory: its bytes, and the plain text or markdown that they say.
//
// HTML and PDF are read by other programs, one process for each document, with limits and without network or
// files: what somebody put into a document to break its reader breaks that process. HTML is read by
// tertulia-extract, PDF by pdftotext (the package poppler-utils). Images are never decoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/file_system.h"
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

// What reading one document may cost.
struct ReadingLimits {
  // By the clock. Default: 30 s.
  Duration time = std::chrono::seconds(30);
  // On a processor. Default: 20 s.
  std::chrono::seconds cpu{20};
  // Bytes of memory. Default: 1 GiB.
  std::uint64_t memory = std::uint64_t{1} << 30;
  // Bytes of text. Default: 32 MiB.
  std::size_t text = std::size_t{32} << 20;
};

// HTML becomes markdown without scripts, styles and navigation; a PDF the text of its pages. kBadUnicode for
// text that is not UTF-8; kDamaged for what cannot be read; kNotPermitted for a PDF that asks for a password;
// kTooDeep; kTooLarge {limit} for what is over a limit, its own or those of reading it; kNotFound if the
// program that reads it is not installed. Blocks; `cancel` ends it at once.
Result<std::string> text_of(const Document& document, const CancelToken& cancel = {},
                            const ReadingLimits& limits = {});

// The program that reads HTML and its first arguments. Before the first document is read.
// Default: tertulia-extract beside the running program, in ../libexec/tertulia, or where it was installed.
struct DocumentHelper {
  Path program{};
  std::vector<std::string> arguments{};
};
void use_document_helper(DocumentHelper helper);

}  // namespace tertulia
