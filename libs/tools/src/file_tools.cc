#include "tertulia/tools/file_tools.h"

#include <algorithm>
#include <utility>

#include <re2/re2.h>

#include "tertulia/base/base64.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

#include "file_root.h"

namespace tertulia {
namespace {

// How many directory entries one search or listing looks at.
constexpr std::size_t kVisited = 100'000;
constexpr std::size_t kDepth = 64;
constexpr std::size_t kLineBytes = 300;

struct Files {
  std::shared_ptr<const FileRoot> root;
  FileToolsOptions options;
};
using FilesPtr = std::shared_ptr<const Files>;

bool is_text(std::string_view content) { return content.find('\0') == content.npos && is_utf8(content); }

Result<std::string> read_text(const Files& files, std::string_view path) {
  TERTULIA_TRY_AS(std::string content, files.root->read(path, 0, files.options.file_bytes + 1));
  if (content.size() > files.options.file_bytes)
    return Error(ErrorCode::kTooLarge, in_quotes(path) + " is larger than the " +
                                           std::to_string(files.options.file_bytes) +
                                           " bytes that are read as text; read a part of it with base64");
  if (!is_text(content))
    return Error(ErrorCode::kBadArguments,
                 in_quotes(path) + " is not UTF-8 text; to get its bytes, ask with base64 set to true");
  return content;
}

struct ReadFile {
  std::string path;
  std::optional<std::int64_t> first_line;
  std::optional<std::int64_t> lines;
  std::optional<bool> base64;
  std::optional<std::int64_t> offset;
};
TERTULIA_FIELDS(ReadFile,
                (path, "Relative to the root of the files.", {.min_length = 1, .max_length = 4'096}),
                (first_line, "The first line to give, from 1.", {.minimum = 1}),
                (lines, "How many lines.", {.minimum = 1}),
                (base64, "True: the bytes of the file, for what is not text."),
                (offset, "With base64: the first byte to give, from 0.", {.minimum = 0}))

Result<ToolOutput> read_bytes(const Files& files, const ReadFile& what) {
  const auto offset = static_cast<std::uint64_t>(what.offset.value_or(0));
  TERTULIA_TRY_AS(const struct stat status, files.root->status(what.path));
  TERTULIA_TRY_AS(const std::string bytes,
                  files.root->read(what.path, offset, files.options.read_bytes / 4 * 3));
  return ToolOutput{.text = to_base64(bytes) + "\n[bytes " + std::to_string(offset) + " to " +
                            std::to_string(offset + bytes.size()) + " of " + std::to_string(status.st_size) +
                            "]"};
}

Result<ToolOutput> read_lines(const Files& files, const ReadFile& what) {
  TERTULIA_TRY_AS(const std::string content, read_text(files, what.path));
  const auto first = static_cast<std::size_t>(what.first_line.value_or(1));
  const std::size_t wanted = what.lines ? static_cast<std::size_t>(*what.lines) : SIZE_MAX;
  std::size_t number = 0;
  std::size_t given = 0;
  bool cut = false;
  std::string text;
  for (std::string_view rest = content; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (++number < first || cut || number - first >= wanted) continue;
    const std::size_t room = files.options.read_bytes - text.size();
    cut = line.size() > room;
    // A line that does not fit is given in part only if nothing else could be.
    if (cut && given > 0) continue;
    text += utf8_prefix(line, room);
    ++given;
  }
  if (given == 0 && number > 0)
    return Error(ErrorCode::kBadArguments, "the file has " + std::to_string(number) + " lines");
  if (given == number && !cut) return ToolOutput{.text = std::move(text)};
  if (!text.ends_with('\n')) text += '\n';
  text += "[lines " + std::to_string(first) + " to " + std::to_string(first + given - 1) + " of " +
          std::to_string(number) + (cut ? "; cut because it is long]" : "]");
  return ToolOutput{.text = std::move(text)};
}

std::string joined(std::string_view directory, std::string_view name) {
  if (directory.empty() || directory == ".") return std::string(name);
  return std::string(directory) + (directory.ends_with('/') ? "" : "/") + std::string(name);
}

// Calls `visit(path, entry)` for everything below `path`, in the order of names, directories before what they
// hold, until it says false.
struct Walked {
  // All was seen,
  bool complete = true;
  // but for what could not be read.
  std::size_t unread = 0;

  // Tells the model of it, behind what was found.
  void tell(std::string& text, std::string_view more, std::string_view unread_words) const {
    if (complete && unread == 0) return;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    if (!complete) text += "[there is more; " + std::string(more) + "]\n";
    if (unread > 0) text += "[" + std::string(unread_words) + ": " + std::to_string(unread) + "]\n";
  }
};
template <class Visit>
Result<Walked> walk(const Files& files, const ToolCall& call, const std::string& path, bool recursive,
                    const Visit& visit) {
  std::vector<std::pair<std::string, std::size_t>> open = {{path, 0}};
  std::size_t visited = 0;
  Walked walked;
  while (!open.empty()) {
    const auto [directory, depth] = std::move(open.back());
    open.pop_back();
    TERTULIA_TRY(call.cancel.check());
    const Result<std::vector<DirectoryEntry>> entries = files.root->list(directory, kVisited - visited);
    if (!entries && depth == 0) return entries.error();
    // What went away meanwhile is passed over, and what may not be read is counted.
    if (!entries) {
      if (entries.error().code() != ErrorCode::kNotFound) ++walked.unread;
      continue;
    }
    visited += entries->size();
    std::vector<std::pair<std::string, std::size_t>> below;
    for (const DirectoryEntry& entry : *entries) {
      const std::string full = joined(directory, entry.name);
      if (!visit(full, entry)) {
        walked.complete = false;
        return walked;
      }
      if (recursive && entry.kind == DirectoryEntry::Kind::kDirectory) below.emplace_back(full, depth + 1);
    }
    walked.complete = walked.complete && visited < kVisited && (depth + 1 <= kDepth || below.empty());
    if (visited >= kVisited) return walked;
    if (depth < kDepth) open.insert(open.end(), below.rbegin(), below.rend());
  }
  return walked;
}

Result<ToolOutput> list_files(const Files& files, const ToolCall& call, const std::string& path,
                              bool recursive) {
  using Kind = DirectoryEntry::Kind;
  std::string text;
  std::size_t count = 0;
  TERTULIA_TRY_AS(const Walked walked, walk(files, call, path, recursive,
                                            [&](const std::string& full, const DirectoryEntry& entry) {
                                              if (++count > files.options.entries) return false;
                                              text += printable(full);
                                              if (entry.kind == Kind::kDirectory) text += "/";
                                              if (entry.kind == Kind::kLink)
                                                text += " (symbolic link, not followed)";
                                              if (entry.kind == Kind::kOther)
                                                text += " (neither file nor directory)";
                                              if (entry.kind == Kind::kFile) {
                                                const Result<struct stat> status = files.root->status(full);
                                                if (status)
                                                  text += " (" + std::to_string(status->st_size) + " bytes)";
                                              }
                                              text += "\n";
                                              return true;
                                            }));
  if (text.empty()) text = "The directory is empty.";
  walked.tell(text, "list a directory below", "directories that could not be read");
  return ToolOutput{.text = std::move(text)};
}

// Adds the lines of one file that match. False if there are enough.
bool add_matches(const Files& files, const re2::RE2& pattern, const std::string& path, std::string& text,
                 std::size_t& count, std::size_t& unread) {
  const Result<std::string> content = read_text(files, path);
  if (!content) {
    ++unread;
    return true;
  }
  std::size_t number = 0;
  for (std::string_view rest = *content; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    if (!re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern)) continue;
    if (++count > files.options.matches) return false;
    text += printable(path) + ":" + std::to_string(number) + ": " + printable(line, kLineBytes) + "\n";
  }
  return true;
}

struct SearchFiles {
  std::string pattern;
  std::optional<std::string> path;
  std::optional<bool> regex;
  std::optional<bool> ignore_case;
};
TERTULIA_FIELDS(SearchFiles,
                (pattern, "The text to look for within a line.", {.min_length = 1, .max_length = 1'000}),
                (path, "The directory to search. Left out: all of them.", {.max_length = 4'096}),
                (regex, "True: the pattern is a regular expression."),
                (ignore_case, "True: capital and small letters are the same."))

Result<ToolOutput> search_files(const Files& files, const SearchFiles& what, const ToolCall& call) {
  re2::RE2::Options options;
  options.set_literal(!what.regex.value_or(false));
  options.set_case_sensitive(!what.ignore_case.value_or(false));
  options.set_log_errors(false);
  options.set_max_mem(8 << 20);
  const re2::RE2 pattern(what.pattern, options);
  if (!pattern.ok())
    return Error(ErrorCode::kBadArguments,
                 "the pattern is no regular expression: " + printable(pattern.error(), 200));
  std::string text;
  std::size_t count = 0;
  std::size_t unread = 0;
  std::optional<Error> cancelled;
  TERTULIA_TRY_AS(Walked walked, walk(files, call, what.path.value_or(""), true,
                                      [&](const std::string& full, const DirectoryEntry& entry) {
                                        if (entry.kind != DirectoryEntry::Kind::kFile) return true;
                                        if (const Result<void> wanted = call.cancel.check(); !wanted) {
                                          cancelled = wanted.error();
                                          return false;
                                        }
                                        return add_matches(files, pattern, full, text, count, unread);
                                      }));
  if (cancelled) return *cancelled;
  walked.unread += unread;
  if (text.empty()) text = "Nothing matches.";
  walked.tell(text, "search a directory below, or for something rarer",
              "not searched, because they are too large, no text, or not to be read");
  return ToolOutput{.text = std::move(text)};
}

struct WriteFile {
  std::string path;
  std::string content;
  std::optional<bool> must_be_new;
};
TERTULIA_FIELDS(WriteFile,
                (path, "Relative to the root of the files.", {.min_length = 1, .max_length = 4'096}),
                (content, "The whole content of the file."),
                (must_be_new, "True: a file that exists is not replaced."))

Result<ToolOutput> write_file(const Files& files, const WriteFile& what) {
  if (what.content.size() > files.options.write_bytes)
    return Error(ErrorCode::kTooLarge, "the content has " + std::to_string(what.content.size()) +
                                           " bytes; at most " + std::to_string(files.options.write_bytes) +
                                           " can be written");
  TERTULIA_TRY(files.root->write(what.path, what.content, what.must_be_new.value_or(false)));
  return ToolOutput{.text = "wrote " + std::to_string(what.content.size()) + " bytes"};
}

// A file that holds what was to be written was written, or need not be. Otherwise somebody else may have
// changed it since, and it cannot be told.
Result<std::optional<ToolOutput>> probe_write(const Files& files, const ToolCall& call) {
  WriteFile what;
  if (const auto problem = JsonType<WriteFile>::read(call.arguments, what))
    return Error(ErrorCode::kBadArguments, problem->text());
  TERTULIA_TRY_AS(const std::string content, files.root->read(what.path, 0, files.options.write_bytes + 1));
  if (content != what.content)
    return Error(ErrorCode::kToolFailed, "the file holds something else than the call was to write");
  return std::optional(ToolOutput{.text = "wrote " + std::to_string(content.size()) + " bytes"});
}

void add_reading(Toolkit& kit, const FilesPtr& files) {
  const ToolOptions read_only{.tool_class = ToolClass::kReadOnly};
  kit.add(
      "read_file",
      "Gives the content of a text file, or the lines asked for. A note in brackets says when there is more.",
      [files](const ReadFile& what) {
        return what.base64.value_or(false) ? read_bytes(*files, what) : read_lines(*files, what);
      },
      read_only);
  kit.add(
      "list_files", "Lists the files and directories in a directory, with their sizes.",
      {{"path", "The directory. Left out: the root of the files.", {.max_length = 4'096}},
       {"recursive", "True: also what is below."}},
      [files](const std::optional<std::string>& path, std::optional<bool> recursive, const ToolCall& call) {
        return list_files(*files, call, path.value_or(""), recursive.value_or(false));
      },
      read_only);
  kit.add(
      "search_files", "Finds the lines of text files that hold a text, as path:line: text.",
      [files](const SearchFiles& what, const ToolCall& call) { return search_files(*files, what, call); },
      read_only);
}

}  // namespace

Result<Toolkit> file_tools(const Path& root, FileToolsOptions options) {
  TERTULIA_TRY_AS(std::shared_ptr<const FileRoot> opened, FileRoot::open(root));
  const auto files = std::make_shared<const Files>(Files{.root = std::move(opened), .options = options});
  Toolkit kit("files");
  add_reading(kit, files);
  if (options.read_only) return kit;
  kit.add("write_file", "Writes a text file, replacing what it held. Missing directories are made.",
          [files](const WriteFile& what) { return write_file(*files, what); },
          {.probe = [files](const ToolCall& call) { return probe_write(*files, call); }});
  return kit;
}

}  // namespace tertulia
