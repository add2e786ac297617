// Assets: files that belong to a session.
#include <array>
#include <utility>

#include "api/routes.h"
#include "api/session_change.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

// "type/subtype" of plain letters, so that it can stand in a header again.
bool is_media_type(std::string_view type) {
  const std::size_t slash = type.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == type.size()) return false;
  for (const char c : type) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && std::string_view("/.+-_").find(c) == std::string_view::npos) return false;
  }
  return type.size() <= 127;
}

Result<Reply> upload_asset(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  std::string_view type = call.request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  if (!is_media_type(type)) {
    return Reply::refused(HttpProblem::kUnsupportedMediaType, "Content-Type must say what the bytes are");
  }
  if (call.request.body.empty()) return Error(ErrorCode::kEmptyBody, "an asset has at least one byte");
  const AssetId id(call.services.ids().make());
  const std::size_t bytes = call.request.body.size();
  // Each has a stream of its own, so two uploads do not wait for each other.
  Record record{.stream = {.kind = RecordKind::kAsset, .branch = {}, .scope = id.text()},
                .number = 1,
                .time = call.services.env.clock().now(),
                .key = id.text(),
                .name = std::string(type),
                .payload = std::move(call.request.body)};
  TERTULIA_TRY(
      note(call.services.store(), {.key = key, .conditions = {}, .changes = {AddRecord{std::move(record)}}}));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("id").string(id.text()).key("media_type").string(type);
  out.key("bytes").number(std::uint64_t{bytes}).end_object();
  return Reply::json(std::move(body), 201)
      .with("Location", "/api/v1/sessions/" + key.session.text() + "/assets/" + id.text());
}

RecordQuery assets_of(const SessionKey& key) {
  return {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = RecordKind::kAsset};
}

Result<Reply> list_assets(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(Query query, call.query());
  RecordQuery wanted = assets_of(key);
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 100));
  // Reading one reads its bytes, so pages are small.
  wanted.limit = limit.value_or(20);
  wanted.cursor = query.text_or("cursor", {});
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const RecordPage page, read_records(call.services.store(), std::move(wanted)));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("assets").begin_array();
  for (const StoredRecord& stored : page.records) {
    const Record& record = stored.record;
    out.begin_object().key("id").string(record.key).key("media_type").string(record.name);
    out.key("bytes").number(std::uint64_t{record.payload.size()}).key("time").string(iso_time(record.time));
    out.end_object();
  }
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_asset(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const AssetId id, AssetId::parse(call.parameter("asset")));
  RecordQuery wanted = assets_of(key);
  wanted.key = id.text();
  wanted.limit = 1;
  TERTULIA_TRY_AS(RecordPage page, read_records(call.services.store(), std::move(wanted)));
  if (page.records.empty()) {
    return Error(ErrorCode::kNotFound, "the session has no asset " + id.text()).with("param", "asset");
  }
  Record record = std::move(page.records.front().record);
  const std::string type = is_media_type(record.name) ? record.name : "application/octet-stream";
  Reply reply{.content_type = {}, .body = std::move(record.payload)};
  reply.headers.emplace_back("Content-Type", type);
  reply.headers.emplace_back("Content-Disposition", "attachment");
  reply.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
  reply.headers.emplace_back("Cache-Control", "private, max-age=86400, immutable");
  return reply;
}

constexpr std::uint64_t kAssetLimit = 32U << 20U;

constexpr std::array kAssetsRoutes{
    on_pool(Method::kPost, "/api/v1/sessions/{session}/assets", Access::kWrite, &upload_asset,
            BodyKind::kBytes, kAssetLimit),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/assets", Access::kRead, &list_assets),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/assets/{asset}", Access::kRead, &get_asset),
};

}  // namespace

std::span<const Route> asset_routes() { return kAssetsRoutes; }

}  // namespace tertulia::server
