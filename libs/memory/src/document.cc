#include "tertulia/memory/document.h"

#include <algorithm>
#include <array>

#include "tertulia/base/utf8.h"

#include "read_document.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{256} << 20U;

}  // namespace

std::string_view name_of(DocumentFormat format) {
  switch (format) {
    case DocumentFormat::kText:
      return "text";
    case DocumentFormat::kMarkdown:
      return "markdown";
    case DocumentFormat::kHtml:
      return "html";
    case DocumentFormat::kPdf:
      return "pdf";
  }
  return "invalid";
}

DocumentFormat format_of(std::string_view file_name) {
  std::string ending(file_name.substr(std::min(file_name.rfind('.'), file_name.size())));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (ending == ".md" || ending == ".markdown") return DocumentFormat::kMarkdown;
  if (ending == ".html" || ending == ".htm") return DocumentFormat::kHtml;
  if (ending == ".pdf") return DocumentFormat::kPdf;
  return DocumentFormat::kText;
}

Result<std::string> text_of(const Document& document, const CancelToken& cancel,
                            const ReadingLimits& limits) {
  if (document.bytes.size() > kMaxDocumentBytes) {
    return Error(ErrorCode::kTooLarge, "a document has at most 256 MiB; cut it into parts")
        .with("limit", static_cast<std::int64_t>(kMaxDocumentBytes))
        .with("actual", static_cast<std::int64_t>(document.bytes.size()));
  }
  if (document.format == DocumentFormat::kPdf) return read_pdf(document.bytes, cancel, limits);
  if (const auto bad = find_bad_utf8(document.bytes)) {
    return Error(ErrorCode::kBadUnicode, "the document is not UTF-8; convert it first")
        .with("offset", static_cast<std::int64_t>(*bad));
  }
  if (document.format == DocumentFormat::kHtml) return read_html(document.bytes, cancel, limits);
  return document.bytes;
}

}  // namespace tertulia
