// What processes that share a store say to one another: the verbs of Store as bytes.
//
// A frame is its length (4 bytes), a FrameHead, and a body. Both ends are processes of one user, or of the
// administrator, who could write into the data directory themselves: the bytes are checked so that a process
// of another version does no harm, not against an enemy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Raised with every change of what stands in a frame.
inline constexpr std::uint64_t kWireVersion = 1;
// Of a frame. An answer that is longer becomes the error kTooLarge.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 30U;

enum class Verb : std::uint8_t {
  // Both say first which version they speak; the one who holds the store also of which kind it is.
  kHello = 1,
  kCommit,
  kNote,
  kLoad,
  kReadTurns,
  kReadRecords,
  kList,
  kErase,
  kVerify,
  kCheckWritable,
  // A SessionHold of the thread that asks.
  kHold,
  kRelease,
  // A copy of the whole store, to a file that is named.
  kBackUp,
  // To all but the one who changed it: this session is not any more as it was.
  kChanged,
  // To what was asked under the same number.
  kAnswer,
};

struct FrameHead {
  Verb verb = Verb::kHello;
  // Of the question; 0 where nothing is answered.
  std::uint64_t number = 0;
  // The thread that asks, see SessionHold.
  std::uint64_t asker = 0;
};
inline constexpr std::size_t kFrameHeadBytes = 17;

// The frame whole, with its length.
std::string frame_of(const FrameHead& head, std::string_view body);
// `bytes` is a frame without its length. kDamaged if it holds no head.
Result<FrameHead> read_frame_head(std::string_view bytes);

struct Hello {
  std::uint64_t version = kWireVersion;
  // "sqlite", "json"; empty from the one who asks.
  std::string kind;
};
struct TurnsQuestion {
  SessionKey key;
  TurnRange range;
};

// Bodies of questions. kBadUnicode for a session whose JSON form would not give it back.
Result<std::string> body_of(const Commit& commit);
Result<std::string> body_of(const Note& note);
Result<std::string> body_of(const SessionKey& key);
Result<std::string> body_of(const TurnsQuestion& question);
Result<std::string> body_of(const RecordQuery& query);
Result<std::string> body_of(const SessionQuery& query);
Result<std::string> body_of(const EraseScope& scope);
std::string body_of(const Hello& hello);
std::string body_of(const Path& file);

// Reads what body_of wrote. kDamaged if it is not that.
template <class T>
Result<T> read_body(std::string_view bytes);
template <>
Result<Commit> read_body(std::string_view bytes);
template <>
Result<Note> read_body(std::string_view bytes);
template <>
Result<SessionKey> read_body(std::string_view bytes);
template <>
Result<TurnsQuestion> read_body(std::string_view bytes);
template <>
Result<RecordQuery> read_body(std::string_view bytes);
template <>
Result<SessionQuery> read_body(std::string_view bytes);
template <>
Result<EraseScope> read_body(std::string_view bytes);
template <>
Result<Hello> read_body(std::string_view bytes);
template <>
Result<Path> read_body(std::string_view bytes);

// Bodies of answers: a value or an error.
std::string answer_of(const Result<void>& result);
std::string answer_of(const Result<Revision>& result);
std::string answer_of(const Result<SessionState>& result);
std::string answer_of(const Result<std::vector<StoredTurn>>& result);
std::string answer_of(const Result<RecordPage>& result);
std::string answer_of(const Result<SessionPage>& result);
std::string answer_of(const Result<EraseReport>& result);
std::string answer_of(const Result<VerifyReport>& result);

template <class T>
Result<T> read_answer(std::string_view bytes);
template <>
Result<void> read_answer(std::string_view bytes);
template <>
Result<Revision> read_answer(std::string_view bytes);
template <>
Result<SessionState> read_answer(std::string_view bytes);
template <>
Result<std::vector<StoredTurn>> read_answer(std::string_view bytes);
template <>
Result<RecordPage> read_answer(std::string_view bytes);
template <>
Result<SessionPage> read_answer(std::string_view bytes);
template <>
Result<EraseReport> read_answer(std::string_view bytes);
template <>
Result<VerifyReport> read_answer(std::string_view bytes);

}  // namespace tertulia
