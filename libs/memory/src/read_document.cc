#include "read_document.h"

#include <array>
#include <csignal>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "tertulia/base/printable.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/confined_program.h"

namespace tertulia {
namespace {

using Why = ConfinedOutcome::Why;

constexpr const char* kPdfToText = "/usr/bin/pdftotext";
// What a program that reads says when it refuses (libs/memory/extract/extract_main.h).
constexpr int kRefused = 65;
constexpr std::size_t kMaxSentence = 400;

struct ChosenHelper {
  Mutex mutex;
  DocumentHelper helper TERTULIA_GUARDED_BY(mutex);
};

ChosenHelper& chosen_helper() {
  static ChosenHelper one;
  return one;
}

Path own_directory() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
}

Result<DocumentHelper> find_helper() {
  {
    ChosenHelper& chosen = chosen_helper();
    const MutexLock lock(chosen.mutex);
    if (!chosen.helper.program.empty()) return chosen.helper;
  }
  const Path own = own_directory();
  const std::array<Path, 4> places = {
      own / "tertulia-extract", own.parent_path() / "libexec" / "tertulia" / "tertulia-extract",
      Path(TERTULIA_LIBEXEC) / "tertulia-extract", Path("/usr/libexec/tertulia/tertulia-extract")};
  for (const Path& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return DocumentHelper{.program = place};
  }
  return Error(ErrorCode::kNotFound,
               "the program tertulia-extract, which reads HTML, is not installed; looked for " +
                   places[0].string() + ", " + places[1].string() + ", " + places[2].string() + " and " +
                   places[3].string());
}

Error too_much(const std::string& what, std::int64_t limit) {
  return Error(ErrorCode::kTooLarge, "the document is too much to read: " + what + "; save it as text first")
      .with("limit", limit);
}

// Why there is no text; nothing if the program ended by itself.
Result<void> check_end(const ConfinedOutcome& end, const CancelToken& cancel, const ReadingLimits& limits) {
  switch (end.why) {
    case Why::kExited:
      return {};
    case Why::kTime: {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits.time).count();
      return too_much("reading it takes longer than " + std::to_string(seconds) + " s", seconds);
    }
    case Why::kOutput:
      return too_much("its text is longer than " + std::to_string(limits.text) + " bytes",
                      static_cast<std::int64_t>(limits.text));
    case Why::kCancelled:
      TERTULIA_TRY(cancel.check());
      return Error(ErrorCode::kCancelled, "reading the document was cancelled");
    case Why::kLost:
      return Error(ErrorCode::kDamaged, "the program that read the document was killed");
    case Why::kSignal:
      break;
  }
  if (end.value == SIGXCPU || end.value == SIGKILL) {
    return too_much("reading it takes more than " + std::to_string(limits.cpu.count()) + " s of a processor",
                    limits.cpu.count());
  }
  return Error(ErrorCode::kDamaged, "the program that read the document ended with signal " +
                                        std::to_string(end.value) + ", which out of memory (" +
                                        std::to_string(limits.memory) +
                                        " bytes) or a broken document causes");
}

Result<ConfinedOutcome> read_with(const Path& program, std::vector<std::string> arguments,
                                  std::string_view bytes, const CancelToken& cancel,
                                  const ReadingLimits& limits) {
  const ConfinedProgram what{.program = program,
                             .arguments = std::move(arguments),
                             .input = bytes,
                             .limits = {.time = limits.time,
                                        .cpu = limits.cpu,
                                        .address_space = limits.memory,
                                        .file_size = 0,
                                        .processes = 4,
                                        .open_files = 64,
                                        .output_bytes = limits.text}};
  TERTULIA_TRY(cancel.check());
  TERTULIA_TRY_AS(ConfinedOutcome end, run_confined(what, cancel));
  TERTULIA_TRY(check_end(end, cancel, limits));
  return end;
}

// What it said is only as good as the process that a document was given to.
Error refusal_of(const ConfinedOutcome& end) {
  const std::size_t tab = end.errors.find('\t');
  if (end.value == kRefused && tab != std::string::npos) {
    const std::string_view code = std::string_view(end.errors).substr(0, tab);
    std::string sentence = sanitize_utf8(std::string_view(end.errors).substr(tab + 1, kMaxSentence));
    while (sentence.ends_with('\n')) sentence.pop_back();
    if (code == name_of(ErrorCode::kTooDeep)) return {ErrorCode::kTooDeep, printable(sentence)};
  }
  return {ErrorCode::kDamaged, "the page cannot be read; save it as text first"};
}

}  // namespace

void use_document_helper(DocumentHelper helper) {
  ChosenHelper& chosen = chosen_helper();
  const MutexLock lock(chosen.mutex);
  chosen.helper = std::move(helper);
}

Result<std::string> read_html(std::string_view bytes, const CancelToken& cancel,
                              const ReadingLimits& limits) {
  if (bytes.empty()) return std::string();
  TERTULIA_TRY_AS(DocumentHelper helper, find_helper());
  helper.arguments.emplace_back("html");
  TERTULIA_TRY_AS(ConfinedOutcome end,
                  read_with(helper.program, std::move(helper.arguments), bytes, cancel, limits));
  if (end.value != 0) return refusal_of(end);
  return sanitize_utf8(end.output);
}

Result<std::string> read_pdf(std::string_view bytes, const CancelToken& cancel, const ReadingLimits& limits) {
  if (::access(kPdfToText, X_OK) != 0) {
    return Error(ErrorCode::kNotFound,
                 "PDFs are read by pdftotext, which is not there: install poppler-utils, or give the text");
  }
  TERTULIA_TRY_AS(ConfinedOutcome end,
                  read_with(kPdfToText, {"-q", "-enc", "UTF-8", "-", "-"}, bytes, cancel, limits));
  if (end.value != 0 && bytes.find("/Encrypt") != std::string_view::npos) {
    return Error(ErrorCode::kNotPermitted, "the PDF asks for a password; save it without one first");
  }
  if (end.value != 0) {
    return Error(ErrorCode::kDamaged,
                 "this is not a PDF that can be read; open and save it again, or give its text");
  }
  // A form feed ends each page.
  std::string text;
  std::string_view left = end.output;
  while (!left.empty()) {
    const std::size_t page = std::min(left.find('\f'), left.size());
    if (page > 0 && !text.empty()) text += "\n\n";
    text += left.substr(0, page);
    left.remove_prefix(std::min(page + 1, left.size()));
  }
  return sanitize_utf8(text);
}

}  // namespace tertulia
