#include "pdf_text.h"

#include <memory>

#include <poppler-document.h>
#include <poppler-global.h>
#include <poppler-page.h>

namespace tertulia {

Result<std::string> pdf_text(std::string_view bytes) {
  // What it finds odd in a file is not for the log: it may quote the file.
  poppler::set_debug_error_function([](const std::string&, void*) {}, nullptr);
  const std::unique_ptr<poppler::document> document(
      poppler::document::load_from_raw_data(bytes.data(), static_cast<int>(bytes.size())));
  if (!document) {
    return Error(ErrorCode::kDamaged,
                 "this is not a PDF that can be read; open and save it again, or give its text");
  }
  if (document->is_locked()) {
    return Error(ErrorCode::kNotPermitted, "the PDF asks for a password; save it without one first");
  }
  std::string text;
  for (int i = 0; i < document->pages(); ++i) {
    const std::unique_ptr<poppler::page> page(document->create_page(i));
    if (!page)
      return Error(ErrorCode::kDamaged, "page " + std::to_string(i + 1) + " of the PDF cannot be read");
    const poppler::byte_array utf8 = page->text().to_utf8();
    if (utf8.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text.append(utf8.data(), utf8.size());
  }
  return text;
}

}  // namespace tertulia
