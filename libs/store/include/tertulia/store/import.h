// Conversations of other programs, taken over as sessions.
//
// A tree of messages becomes a session: its main path the branch `main`, each other leaf a fork at the
// message where it leaves. Each message keeps its id of before in source_id. What does not fit the rules of a
// transcript is adapted, never left out silently, and the report says so: a call without a result gets one
// that says so, a result without a call gets a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/store.h"

namespace tertulia {

enum class ImportFormat : std::uint8_t {
  kArchive,  // our own: import_archive
  kChatGpt,  // conversations.json of a ChatGPT export
  kOasst,    // OpenAssistant trees, one on a line
  kLayout,   // a folder with sessions/<id>/session.json and branches/<id>/branch.json
};
// "archive", "chatgpt", "oasst", "layout".
std::string_view name_of(ImportFormat format);
Result<ImportFormat> import_format_named(std::string_view name);

// What is at `path`, by its first bytes. kNotFound; kForeignData if it is none of them.
Result<ImportFormat> guess_import_format(FileSystem& files, const Path& path);

// How many adaptations a report spells out.
inline constexpr std::size_t kMaxAdaptations = 100;

// Imports what is at `path`. Everything is read and checked first: on any problem nothing was changed, and
// the error is as for import_archive. A session gets the id that its source gives it, so a second import of
// the same thing is kSessionExists.
//
// Limits: one conversation is held in memory, up to 256 MiB of text.
// Blocks: not from inside a completion.
Result<ImportReport> import_from(Store& store, Env& env, const Path& path, ImportFormat format,
                                 const ImportTarget& target, const ArchiveProgress& progress = {});

}  // namespace tertulia
