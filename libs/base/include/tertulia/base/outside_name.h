// Names that come from outside the program: headers, bodies, tokens, options, files of others.
//
// Names that begin with '~' are the program's own: whose memory everybody shares, where runs and jobs are
// kept. Whoever could say one of them could write there. So every door reads its tenants, owners and sessions
// with from_outside(), and with nothing else (tests/layers/outside_names.mjs looks).
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/id.h"
#include "tertulia/base/result.h"

namespace tertulia {

inline bool is_reserved(std::string_view name) { return name.starts_with('~'); }

template <class Tag>
bool is_reserved(const Name<Tag>& name) {
  return is_reserved(name.text());
}

// Ok, or kBadId: as check_id, and not one of the program's own.
Result<void> check_outside_id(std::string_view text, std::string_view kind);

namespace detail {
template <class Id>
struct TagOf;
template <class Tag>
struct TagOf<Name<Tag>> {
  using type = Tag;
};
}  // namespace detail

// from_outside<OwnerId>(header)
template <class Id>
Result<Id> from_outside(std::string_view text) {
  TERTULIA_TRY(check_outside_id(text, detail::TagOf<Id>::type::kKind));
  return Id::parse(text);
}

}  // namespace tertulia
