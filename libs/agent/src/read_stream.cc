#include "read_stream.h"

#include <utility>

namespace tertulia {

Task<Result<std::vector<Record>>> read_stream(EngineCore& engine, SessionKey key, StreamId stream) {
  std::vector<Record> records;
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = stream.kind,
                    .branch = stream.branch,
                    .scope = stream.scope,
                    .limit = 1'000};
  do {
    TERTULIA_CO_TRY_AS(RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                         engine.store->read_records(query, std::move(done));
                       }));
    for (StoredRecord& stored : page.records) records.push_back(std::move(stored.record));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  co_return records;
}

}  // namespace tertulia
