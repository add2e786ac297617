// Images and files of a story.
#include <utility>

#include "tertulia/base/uuid.h"

#include "world.h"

namespace tertulia {

// upload ID TYPE: BYTES · upload ID TYPE of N bytes
void World::upload(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  const std::string id = words.word();
  std::string type = words.word();
  if (type.ends_with(':')) type.pop_back();
  std::string bytes;
  if (words.take("of")) {
    bytes.assign(words.required_number(), 'x');
    if (!words.take("bytes")) words.fail("'upload ID TYPE of N bytes' is meant");
  } else {
    (void)words.take(":");
    bytes = words.rest();
  }
  asset_types_[id] = type;
  Record record{.stream = {.kind = RecordKind::kAsset, .branch = {}, .scope = id},
                .number = 1,
                .time = real_env().clock().now(),
                .key = id,
                .name = type,
                .payload = std::move(bytes)};
  const Result<void> written =
      note(*home_.store(), {.key = key_of(how.session), .changes = {AddRecord{std::move(record)}}});
  if (!written) open_error_ = written.error();
}

// discard ID: somebody deletes it.
void World::discard(Words& words, const Line& /*line*/) {
  const Asked how = asked(words);
  const std::string id = words.word();
  const DropRecords drop{.stream = {.kind = RecordKind::kAsset, .branch = {}, .scope = id}, .up_to = 0};
  const Result<void> written = note(*home_.store(), {.key = key_of(how.session), .changes = {drop}});
  if (!written) open_error_ = written.error();
}

// What is said, with what is shown.
Input World::input_of(const Asked& asked, std::string text) {
  if (asked.shows.empty()) return {.text = std::move(text)};
  MessageDraft draft{.id = MessageId(UuidMaker(real_env().clock(), real_env().random()).make()),
                     .time = real_env().clock().now()};
  if (!text.empty()) draft.parts.push_back(Part::text_of(text));
  for (const std::string& id : asked.shows) {
    const std::string& type = asset_types_[id];
    const bool image = type.starts_with("image/");
    draft.parts.push_back({.kind = image ? PartKind::kImage : PartKind::kFile,
                           .name = type.empty() ? std::string_view("text/plain") : std::string_view(type),
                           .call_id = id,
                           .text = image ? std::string_view() : std::string_view(id)});
  }
  return {.messages = {Message::make(draft).value()}};
}

// expect asset ID: BYTES · expect left out ID
bool World::expect_asset(ModelStep& step, Words& words) {
  const bool left_out = words.take("left out");
  if (!left_out && !words.take("asset")) return false;
  std::string id = words.word();
  if (id.ends_with(':')) id.pop_back();
  const std::string bytes = left_out ? std::string() : words.rest();
  step.expect([id, bytes](const ModelRequest& request) -> Result<void> {
    const auto found = request.assets ? request.assets->find(id) : Assets::const_iterator();
    if (request.assets && found != request.assets->end() && found->second == bytes) return {};
    return Error(ErrorCode::kScriptMismatch, "the model was not given asset '" + id + "' so");
  });
  return true;
}

}  // namespace tertulia
