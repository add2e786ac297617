#include "import_problems.h"

#include <utility>

#include "tertulia/base/outside_name.h"

#include "session_replay.h"

namespace tertulia {

void ImportProblems::add(std::string_view place, const Error& error) {
  if (!first_) first_ = error.code();
  if (++count_ > std::int64_t{kMaxImportProblems}) return;
  sentences_.push_back(std::string(place) + ": " + error.message());
}

Result<void> ImportProblems::verdict() const {
  if (!first_) return {};
  std::string text = "nothing was imported, because of " +
                     (count_ == 1 ? std::string("one problem") : std::to_string(count_) + " problems") +
                     (full() ? " or more" : "");
  for (const std::string& sentence : sentences_) text += "\n  " + sentence;
  return Error(*first_, std::move(text)).with("problems", sentences_).with("count", count_);
}

Result<SessionKey> key_in(const ImportTarget& target, const Session& from) {
  const OwnerId owner = target.owner.value_or(from.owner);
  if (owner.empty()) {
    return Error(ErrorCode::kMissingField,
                 "session '" + from.id.text() + "' has no owner; name the owner who gets it")
        .with("param", "owner");
  }
  const bool foreign =
      (!from.tenant.empty() && from.tenant != target.tenant) || (!from.owner.empty() && from.owner != owner);
  if (foreign && !target.adopt) {
    return Error(ErrorCode::kNotPermitted, "session '" + from.id.text() + "' belongs to " +
                                               from.tenant.text() + "/" + from.owner.text() + ", not to " +
                                               target.tenant.text() + "/" + owner.text() +
                                               "; allow it to be taken over (--adopt), or import it there");
  }
  if (target.trust == ArchiveTrust::kForeign) {
    TERTULIA_TRY(check_outside_id(owner.text(), "owner"));
    TERTULIA_TRY(check_outside_id(from.id.text(), "session"));
  }
  return SessionKey{target.tenant, owner, from.id};
}

Result<void> check_free(Store& store, const SessionKey& key) {
  const auto there = load(store, key);
  if (!there && there.error().code() == ErrorCode::kNoSession) return {};
  if (!there) return there.error();
  if (is_incomplete_import(there->session)) return {};
  return Error(ErrorCode::kSessionExists, "there is a session '" + key.session.text() +
                                              "' already; delete it first, or import for another owner");
}

Result<void> ImportRollback::begin(const SessionKey& key) {
  TERTULIA_TRY(check_free(store_, key));
  TERTULIA_TRY(erase(store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}));
  begun_.push_back(key);
  return {};
}

ImportRollback::~ImportRollback() {
  for (const SessionKey& key : begun_) {
    // Fails only where writing fails for good; then the mark in the session says what it is.
    static_cast<void>(erase(store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}));
  }
}

}  // namespace tertulia
