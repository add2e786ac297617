// Reading sessions and the turns of a range.
#include <utility>

#include "tertulia/store/memory_guard.h"
#include "tertulia/store/read_rules.h"

#include "reading.h"

namespace tertulia {

namespace {

// A range that begins this near to the end is read backwards from the end, which finds its place without
// searching.
constexpr std::uint64_t kNearEnd = 512;

// One branch's own turns.
class TurnReader {
 public:
  TurnReader(Connection& connection, const StoredSession& session, const BranchId& id)
      : connection_(connection), session_(session), id_(id), row_(session.branches.at(id)) {}

  // The number of the turn that holds the message, which is the branch's own.
  Result<std::uint64_t> turn_of(std::uint64_t index) {
    std::uint64_t low = 1;
    std::uint64_t high = row_.turns;
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      TERTULIA_TRY_AS(const TurnHeader header, header_of(middle));
      if (header.first_index <= index) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // As turn_of, for a message near the end.
  Result<std::uint64_t> turn_of_backwards(std::uint64_t index) {
    for (std::uint64_t turn = row_.turns; turn > 1; --turn) {
      TERTULIA_TRY_AS(const TurnHeader header, header_of(turn));
      if (header.first_index <= index) return turn;
    }
    return 1;
  }

  // Adds the turns from number `first` on that begin before `end`, cut to what is visible.
  Result<void> read(std::uint64_t first, const Segment& segment, std::vector<StoredTurn>& out) {
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ? "
                                                    "ORDER BY id"));
    select.bind(turn_row(row_.number, first)).bind(turn_row(row_.number, row_.turns));
    std::uint64_t expected = first;
    std::string scratch;
    while (true) {
      TERTULIA_TRY_AS(const bool there, select.step());
      if (!there) break;
      const std::uint64_t number = static_cast<std::uint64_t>(select.integer(0)) & kMaxTurns;
      if (number != expected) return missing(expected);
      Result<bool> more = add(select.integer(0), select.blob(1), segment, scratch, out);
      if (!more) return damaged(std::move(more).error(), number);
      if (!*more) return {};
      ++expected;
    }
    if (expected != row_.turns + 1) return missing(expected);
    return {};
  }

 private:
  Result<bool> add(std::int64_t row, std::string_view data, const Segment& segment, std::string& scratch,
                   std::vector<StoredTurn>& out) {
    TERTULIA_TRY_AS(const std::string_view content, open_turn_row(row, data, session_.key, scratch));
    TERTULIA_TRY_AS(const TurnHeader header, decode_turn_header(content));
    if (header.first_index >= segment.end) return false;
    TERTULIA_TRY_AS(Turn turn, decode_turn(content));
    TERTULIA_TRY_AS(
        StoredTurn stored,
        cut_turn({.turn = std::move(turn), .revision = header.revision, .first_index = header.first_index},
                 segment.visible));
    out.push_back(std::move(stored));
    return true;
  }

  Result<TurnHeader> header_of(std::uint64_t turn) {
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT data FROM turns WHERE id=?"));
    TERTULIA_TRY_AS(const bool there, select.bind(turn_row(row_.number, turn)).step());
    if (!there) return missing(turn);
    Result<TurnHeader> header = open_turn_header(turn_row(row_.number, turn), select.blob(0), session_.key);
    if (!header) return damaged(std::move(header).error(), turn);
    return header;
  }

  Error missing(std::uint64_t turn) const {
    return damaged(Error(ErrorCode::kDamaged, "it is missing"), turn);
  }
  Error damaged(Error error, std::uint64_t turn) const {
    const Session& own = session_.image.session;
    return in_session(std::move(error), {own.tenant, own.owner, own.id}, turn_name(id_, turn));
  }

  Connection& connection_;
  const StoredSession& session_;
  BranchId id_;
  BranchRow row_;
};

constexpr const char* kEndSnapshot = "COMMIT";

}  // namespace

Result<Snapshot> Snapshot::begin(Connection& connection) {
  // Prepared now: when it is needed there may be no memory for it.
  TERTULIA_TRY(connection.query(kEndSnapshot));
  TERTULIA_TRY_AS(Query begin, connection.query("BEGIN"));
  TERTULIA_TRY(begin.run());
  return Snapshot(connection);
}

Snapshot::~Snapshot() {
  if (connection_ == nullptr) return;
  static_cast<void>(guarded<void>([&]() -> Result<void> {
    TERTULIA_TRY_AS(Query end, connection_->query(kEndSnapshot));
    return end.run();
  }));
}

Result<SessionState> read_session(Connection& connection, TenantKeys& keys, const SessionKey& key) {
  TERTULIA_TRY_AS(StoredSession session, load_existing(connection, keys, key));
  return SessionState{.session = std::move(session.image.session),
                      .branches = std::move(session.image.branches)};
}

Result<std::vector<StoredTurn>> read_turn_range(Connection& connection, TenantKeys& keys,
                                                const SessionKey& key, const TurnRange& range) {
  TERTULIA_TRY_AS(const StoredSession session, load_existing(connection, keys, key));
  TERTULIA_TRY_AS(const std::vector<Segment> segments, segments_of(session.image.branches, range));
  std::vector<StoredTurn> turns;
  for (const Segment& segment : segments) {
    TurnReader reader(connection, session, segment.branch->id);
    const bool from_start = segment.begin <= own_begin(*segment.branch);
    const bool near_end = segment.branch->message_count - segment.begin <= kNearEnd;
    TERTULIA_TRY_AS(const std::uint64_t first, from_start ? Result<std::uint64_t>(1)
                                               : near_end ? reader.turn_of_backwards(segment.begin)
                                                          : reader.turn_of(segment.begin));
    TERTULIA_TRY(reader.read(first, segment, turns));
  }
  return turns;
}

}  // namespace tertulia
