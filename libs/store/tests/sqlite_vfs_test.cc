#include "tertulia/store/sqlite_vfs.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "bytes.h"
#include "sqlite/connection.h"
#include "sqlite/env_locks.h"
#include "sqlite/page_checksum.h"
#include "sqlite/schema.h"
#include "sqlite_fixture.h"

namespace tertulia {
namespace sqlite_vfs_test {

TEST(PageChecksum, FindsEveryFlippedBitAndAPageInAnotherPlace) {
  std::string page(512, '\0');
  for (std::size_t i = 0; i < page.size(); ++i) page[i] = static_cast<char>(i * 7);
  std::string buffer;
  const std::string stored(with_checksum(page.data(), page.size(), 1024, buffer), page.size());
  EXPECT_TRUE(checksum_holds(stored.data(), stored.size(), 1024));
  EXPECT_FALSE(checksum_holds(stored.data(), stored.size(), 512));
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    std::string damaged = stored;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(checksum_holds(damaged.data(), damaged.size(), 1024)) << bit;
  }
}

TEST(ByteReader, ReadsWhatWasWrittenAndNotBeyond) {
  std::string bytes;
  put_varint(bytes, 0);
  put_varint(bytes, 300);
  put_varint(bytes, UINT64_MAX);
  put_text(bytes, "text");
  put_u32(bytes, 0xDEADBEEFU);
  ByteReader in(bytes);
  EXPECT_EQ(in.varint(), 0U);
  EXPECT_EQ(in.varint(), 300U);
  EXPECT_EQ(in.varint(), UINT64_MAX);
  EXPECT_EQ(in.text(), "text");
  EXPECT_EQ(in.u32(), 0xDEADBEEFU);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(in.u64(), 0U);
  EXPECT_FALSE(in.ok());
}

TEST(EnvLocks, ExclusiveWaitsForReadersAndReadersForExclusive) {
  EnvLocks locks;
  int a = 0;
  int b = 0;
  EXPECT_EQ(locks.lock(&a, SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(locks.lock(&b, SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(locks.lock(&a, SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED), SQLITE_OK);
  EXPECT_EQ(locks.lock(&b, SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED), SQLITE_BUSY);
  EXPECT_EQ(locks.lock(&a, SQLITE_LOCK_RESERVED, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY);
  locks.unlock(&b, SQLITE_LOCK_SHARED, SQLITE_LOCK_NONE);
  EXPECT_EQ(locks.lock(&a, SQLITE_LOCK_RESERVED, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
  EXPECT_EQ(locks.lock(&b, SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED), SQLITE_BUSY);
}

TEST(EnvVfs, ReadersSeeOneMomentWhileTheWriterGoesOn) {
  SimEnv env(1);
  env.files().make_directory("/d").value();
  const std::shared_ptr<SqliteVfs> vfs = make_sqlite_vfs(env);
  Connection writer = *Connection::open("/d/x.db", vfs->name(), Access::kCreate);
  prepare_connection(writer).value();
  create_schema(writer).value();
  writer.execute("PRAGMA journal_mode=WAL").value();
  Connection reader = *Connection::open("/d/x.db", vfs->name(), Access::kRead);
  writer.execute("INSERT INTO turns VALUES(1, x'00')").value();
  reader.execute("BEGIN").value();
  EXPECT_EQ(reader.number("SELECT count(*) FROM turns").value(), 1);
  writer.execute("INSERT INTO turns VALUES(2, x'00')").value();
  EXPECT_EQ(reader.number("SELECT count(*) FROM turns").value(), 1);
  reader.execute("COMMIT").value();
  EXPECT_EQ(reader.number("SELECT count(*) FROM turns").value(), 2);
}

}  // namespace sqlite_vfs_test
}  // namespace tertulia
