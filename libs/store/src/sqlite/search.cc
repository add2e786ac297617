// search_texts: which turns of an owner hold certain words.
#include <algorithm>
#include <cctype>
#include <utility>

#include "derived.h"
#include "scope_word.h"
#include "text_index.h"

namespace tertulia {

namespace {

// The words as FTS5 wants them: each quoted, so that nothing in them is an operator.
std::string match_of(const std::string& scope, const std::string& words) {
  std::string match = "scope:\"" + scope + "\" AND words:(";
  std::string word;
  bool any = false;
  const auto flush = [&] {
    if (word.empty()) return;
    match += (any ? " AND \"" : "\"") + word + "\"";
    any = true;
    word.clear();
  };
  for (const char c : words) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\0') {
      flush();
    } else {
      word.push_back(c);
    }
  }
  flush();
  return any ? match + ")" : std::string();
}

struct FoundTurn {
  std::int64_t turn = 0;
  SessionKey key;
};

Result<SessionKey> key_in(const Query& row, int column) {
  SessionKey key;
  TERTULIA_TRY_AS(key.tenant, TenantId::parse(row.text(column)));
  TERTULIA_TRY_AS(key.owner, OwnerId::parse(row.text(column + 1)));
  TERTULIA_TRY_AS(key.session, SessionId::parse(row.text(column + 2)));
  return key;
}

Result<std::vector<FoundTurn>> find_in_index(Connection& connection, const TenantId& tenant,
                                             const OwnerId& owner, const std::string& match,
                                             std::size_t limit) {
  std::vector<FoundTurn> found;
  Result<Query> prepared = connection.query(
      "SELECT t.rowid, s.tenant, s.owner, s.name FROM texts t "
      "JOIN branches b ON b.id = t.rowid >> 28 JOIN sessions s ON s.id = b.session "
      "WHERE texts MATCH ? AND s.tenant=? AND s.owner=? ORDER BY t.rank LIMIT ?");
  if (!prepared) return in_text_index(std::move(prepared).error());
  Query& select = *prepared;
  select.bind(match).bind(tenant.text()).bind(owner.text()).bind(static_cast<std::int64_t>(limit));
  while (true) {
    const Result<bool> there = select.step();
    if (!there) return in_text_index(there.error());
    if (!*there) return found;
    TERTULIA_TRY_AS(SessionKey key, key_in(select, 1));
    found.push_back({.turn = select.integer(0), .key = std::move(key)});
  }
}

Result<TextHit> hit_of(Connection& connection, TenantKeys& keys, const FoundTurn& found) {
  TERTULIA_TRY_AS(const StoredSession session, load_existing(connection, keys, found.key));
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM turns WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(found.turn).step());
  if (!there) return Error(ErrorCode::kDamaged, "the text index names a turn that is not there");
  std::string scratch;
  TERTULIA_TRY_AS(const std::string_view content,
                  open_turn_row(found.turn, select.blob(0), session.key, scratch));
  TERTULIA_TRY_AS(const TurnHeader header, decode_turn_header(content));
  TextHit hit{.key = found.key, .turn = header.turn, .first_index = header.first_index};
  for (const auto& [id, row] : session.branches) {
    if (row.number == found.turn >> kTurnBits) hit.branch = id;
  }
  return hit;
}

std::string folded(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return out;
}

bool holds_all(const std::string& text, const std::string& words) {
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t end = std::min(words.find_first_of(" \t\n\"", at), words.size());
    if (end > at && text.find(words.substr(at, end - at)) == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

Result<std::vector<SessionKey>> sessions_of(Connection& connection, const TenantId& tenant,
                                            const OwnerId& owner) {
  std::vector<SessionKey> keys;
  TERTULIA_TRY_AS(Query select,
                  connection.query("SELECT tenant, owner, name FROM sessions WHERE tenant=? AND "
                                   "owner=? ORDER BY last_activity DESC, name"));
  select.bind(tenant.text()).bind(owner.text());
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return keys;
    TERTULIA_TRY_AS(SessionKey key, key_in(select, 0));
    keys.push_back(std::move(key));
  }
}

// Reads the turns of one branch, newest first.
Result<void> scan_branch(Connection& connection, const StoredSession& session, const SessionKey& key,
                         const BranchId& id, const std::string& words, std::size_t limit,
                         std::vector<TextHit>& hits) {
  const std::int64_t number = session.branches.at(id).number;
  TERTULIA_TRY_AS(Query select, connection.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ? "
                                                 "ORDER BY id DESC"));
  select.bind(turn_row(number, 1)).bind(turn_row(number, kMaxTurns));
  std::string scratch;
  while (hits.size() < limit) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) break;
    TERTULIA_TRY_AS(const std::string_view content,
                    open_turn_row(select.integer(0), select.blob(1), session.key, scratch));
    TERTULIA_TRY_AS(const Turn turn, decode_turn(content));
    if (!holds_all(folded(words_of(turn)), words)) continue;
    TERTULIA_TRY_AS(const TurnHeader header, decode_turn_header(content));
    hits.push_back({.key = key, .branch = id, .turn = header.turn, .first_index = header.first_index});
  }
  return {};
}

}  // namespace

Result<std::vector<TextHit>> search_texts(Connection& connection, TenantKeys& keys, const TenantId& tenant,
                                          const OwnerId& owner, const std::string& words, std::size_t limit) {
  std::vector<TextHit> hits;
  const std::string match = match_of(scope_word(tenant, owner), words);
  if (match.empty()) return hits;
  if (!keys.encrypts()) {
    TERTULIA_TRY_AS(const std::vector<FoundTurn> found,
                    find_in_index(connection, tenant, owner, match, limit));
    for (const FoundTurn& one : found) {
      TERTULIA_TRY_AS(TextHit hit, hit_of(connection, keys, one));
      hits.push_back(std::move(hit));
    }
    return hits;
  }
  TERTULIA_TRY_AS(const std::vector<SessionKey> sessions, sessions_of(connection, tenant, owner));
  for (const SessionKey& key : sessions) {
    TERTULIA_TRY_AS(const StoredSession session, load_existing(connection, keys, key));
    for (const BranchHead& branch : session.image.branches) {
      TERTULIA_TRY(scan_branch(connection, session, key, branch.id, folded(words), limit, hits));
    }
  }
  return hits;
}

}  // namespace tertulia
