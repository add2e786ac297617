// Ids are types: a BranchId cannot be passed where a SessionId is meant.
//
// A name chosen by a client has 1 to 128 bytes of [A-Za-z0-9._~-] and does not begin with a dot. It is a name
// inside (tenant, owner): never a path, and never a right to read.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "tertulia/base/result.h"
#include "tertulia/base/uuid.h"

namespace tertulia {

inline constexpr std::size_t kMaxIdBytes = 128;

// Ok, or kBadId saying what is wrong with `text` as the id of a `kind` ("session", "branch", …).
Result<void> check_id(std::string_view text, std::string_view kind);

// A name: text that check_id accepts. A default-made one is empty and stands for "none".
template <class Tag>
class Name {
 public:
  Name() = default;

  static Result<Name> parse(std::string_view text) {
    TERTULIA_TRY(check_id(text, Tag::kKind));
    return Name(std::string(text));
  }
  static Name of(const Uuid& uuid) { return Name(uuid.text()); }

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  auto operator<=>(const Name&) const = default;
  bool operator==(const Name&) const = default;

 private:
  explicit Name(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

// An id that Tertulia makes itself: 16 bytes.
template <class Tag>
class Key {
 public:
  constexpr Key() = default;
  explicit constexpr Key(const Uuid& uuid) : uuid_(uuid) {}

  static Result<Key> parse(std::string_view text) {
    TERTULIA_TRY_AS(Uuid uuid, Uuid::parse(text));
    return Key(uuid);
  }

  const Uuid& uuid() const { return uuid_; }
  std::string text() const { return uuid_.text(); }
  bool empty() const { return uuid_.is_nil(); }

  constexpr auto operator<=>(const Key&) const = default;

 private:
  Uuid uuid_;
};

// clang-format off
struct TenantTag      { static constexpr std::string_view kKind = "tenant"; };
struct OwnerTag       { static constexpr std::string_view kKind = "owner"; };
struct SessionTag     { static constexpr std::string_view kKind = "session"; };
struct BranchTag      { static constexpr std::string_view kKind = "branch"; };
struct AgentTag       { static constexpr std::string_view kKind = "agent"; };
struct ParticipantTag { static constexpr std::string_view kKind = "participant"; };
struct MessageTag     { static constexpr std::string_view kKind = "message"; };
struct TurnTag        { static constexpr std::string_view kKind = "turn"; };
struct EpisodeTag     { static constexpr std::string_view kKind = "episode"; };
struct AssetTag       { static constexpr std::string_view kKind = "asset"; };
// clang-format on

using TenantId = Name<TenantTag>;
using OwnerId = Name<OwnerTag>;
using SessionId = Name<SessionTag>;
using BranchId = Name<BranchTag>;
using AgentId = Name<AgentTag>;
using ParticipantId = Name<ParticipantTag>;
using MessageId = Key<MessageTag>;
using TurnId = Key<TurnTag>;
using EpisodeId = Key<EpisodeTag>;
using AssetId = Key<AssetTag>;

}  // namespace tertulia

template <class Tag>
struct std::hash<tertulia::Name<Tag>> {
  std::size_t operator()(const tertulia::Name<Tag>& name) const noexcept {
    return std::hash<std::string>()(name.text());
  }
};
template <class Tag>
struct std::hash<tertulia::Key<Tag>> {
  std::size_t operator()(const tertulia::Key<Tag>& key) const noexcept {
    return std::hash<tertulia::Uuid>()(key.uuid());
  }
};
