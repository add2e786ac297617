// The text index: an FTS5 table that can be made again from the turns, so nothing that is wrong with it is a
// reason not to open a store, nor not to erase.
//
// All of these run in the transaction that is open.
#pragma once

#include <cstdint>
#include <string>

#include "tertulia/base/result.h"

#include "connection.h"

namespace tertulia {

inline constexpr const char* kCreateTextIndex =
    "CREATE VIRTUAL TABLE texts USING fts5(scope, words, content='', "
    "tokenize='unicode61 remove_diacritics 2')";

// An index with more levels than this is made again instead of being merged: each merge of everything adds
// one, and FTS5 cannot read an index of 2,000 (newer versions: of 64).
inline constexpr std::uint64_t kMostIndexLevels = 48;

// Whether FTS5 can use the index at all. An error is one of the database.
Result<bool> text_index_opens(Connection& connection);
// How many levels of segments it has.
Result<std::uint64_t> text_index_levels(Connection& connection);

Result<void> add_to_text_index(Connection& connection, std::int64_t turn, const std::string& scope,
                               const std::string& words);
// The index has no content of its own: a row is taken out by saying again what went in.
Result<void> remove_from_text_index(Connection& connection, std::int64_t turn, const std::string& scope,
                                    const std::string& words);

// What was removed stays in old segments until they are merged with those that say so. Does a part of that
// work; true: nothing is left to do, and no byte of what was removed is in the index.
Result<bool> purge_text_index(Connection& connection);

// Forgets every word. The turns are read again when somebody searches, or in a quiet moment.
Result<void> empty_text_index(Connection& connection);
// What becomes of the pages of an index that is made again. Those that fail their checksum cannot be given
// back: they stay in the file, where verify() finds them, and nothing leads to them any more.
enum class OldIndex : std::uint8_t { kDropped, kLeft };
// The same for an index that is broken: it goes with its tables, and a new one is made.
Result<void> make_text_index_again(Connection& connection, OldIndex old);

// Marks an error of the index, so that whoever meets it can make the index again.
Error in_text_index(Error error);
bool is_of_text_index(const Error& error);

}  // namespace tertulia
