// Export, import and erasure: of a session, and of everything of a user.
#include <array>
#include <utility>

#include "tertulia/base/outside_name.h"
#include "tertulia/memory/memory.h"
#include "tertulia/store/archive.h"

#include "api/forms.h"
#include "api/routes.h"
#include "core/call.h"
#include "host/ingest_jobs.h"

namespace tertulia::server {
namespace {

// What is beyond is for the command line, which streams.
constexpr std::uint64_t kArchiveLimit = 256U << 20U;

// An archive that came as a body.
class ReadOnlyBytes final : public File {
 public:
  explicit ReadOnlyBytes(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string> read_at(std::uint64_t offset, std::size_t size) override {
    if (offset >= bytes_.size()) return std::string();
    return std::string(bytes_.substr(offset, size));
  }
  Result<void> write_at(std::uint64_t, std::string_view) override { return refuse(); }
  Result<void> truncate(std::uint64_t) override { return refuse(); }
  Result<void> sync() override { return {}; }
  Result<std::uint64_t> size() override { return std::uint64_t{bytes_.size()}; }

 private:
  static Error refuse() { return {ErrorCode::kNotPermitted, "an archive that was sent is not written to"}; }
  const std::string_view bytes_;
};

Result<Reply> export_scope(Call& call, const ExportScope& scope, const std::string& name) {
  std::string bytes;
  TERTULIA_TRY(export_sessions(call.services.store(), scope, [&](std::string_view part) -> Result<void> {
    if (bytes.size() + part.size() > kArchiveLimit) {
      return Error(ErrorCode::kTooLarge,
                   "the archive is larger than 256 MiB; export it with: tertulia sessions export")
          .with("limit", static_cast<std::int64_t>(kArchiveLimit));
    }
    bytes.append(part);
    return {};
  }));
  Reply reply{.content_type = "application/x-ndjson", .body = std::move(bytes)};
  return std::move(reply).with("Content-Disposition", "attachment; filename=\"" + name + ".jsonl\"");
}

Result<Reply> export_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  return export_scope(call, {.tenant = key.tenant, .owner = key.owner, .sessions = {key.session}},
                      key.session.text());
}

Result<Reply> import_sessions(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const bool adopt, query.flag("adopt"));
  TERTULIA_TRY(query.finish());
  if (call.request.body.empty()) return Error(ErrorCode::kEmptyBody, "send an archive as the body");
  ReadOnlyBytes archive(call.request.body);
  TERTULIA_TRY_AS(
      const ImportReport report,
      import_archive(call.services.store(), archive,
                     {.tenant = call.principal.tenant, .owner = call.principal.user, .adopt = adopt}));
  return Reply::json(report_body(report));
}

// The user that the path names: oneself, or anybody of the tenant for whoever may admin.
Result<OwnerId> user_of(const Call& call) {
  TERTULIA_TRY_AS(OwnerId user, from_outside<OwnerId>(call.parameter("user")));
  if (user == call.principal.user || (call.principal.may(Access::kAdmin) && !call.principal.bound))
    return user;
  return Error(ErrorCode::kNotFound, "there is no user '" + user.text() + "'").with("param", "user");
}

Result<Reply> export_user(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const OwnerId user, user_of(call));
  return export_scope(call, {.tenant = call.principal.tenant, .owner = user}, user.text());
}

Result<Reply> erase_user(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const OwnerId user, user_of(call));
  // What is still being taken in must not come back behind the erasure.
  call.services.desks.ingest->drop_user(call.principal.tenant, user);
  TERTULIA_TRY_AS(const ErasedMemory erased, call.services.memory->erase_owner(call.principal.tenant, user));
  return Reply::json(report_body(erased.sessions, erased.damaged));
}

constexpr std::array kTransferRoutes{
    on_pool(Method::kGet, "/api/v1/sessions/{session}/export", Access::kRead, &export_session),
    on_pool(Method::kPost, "/api/v1/import", Access::kWrite, &import_sessions, BodyKind::kBytes,
            kArchiveLimit),
    on_pool(Method::kGet, "/api/v1/users/{user}/export", Access::kRead, &export_user),
    on_pool(Method::kDelete, "/api/v1/users/{user}", Access::kAdmin, &erase_user),
};

}  // namespace

std::span<const Route> transfer_routes() { return kTransferRoutes; }

}  // namespace tertulia::server
