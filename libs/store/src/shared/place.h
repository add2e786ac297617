// Where a store is: in this process, or in another one.
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/store/shared_store.h"
#include "tertulia/store/store.h"

#include "channel.h"

namespace tertulia {

// One of the two.
struct StorePlace {
  std::unique_ptr<Store> store;
  std::shared_ptr<Channel> channel;
  std::string kind;
};

// Opens the store here, or joins whoever holds it.
Result<StorePlace> find_place(const Path& directory, const SharedStoreOptions& options);

}  // namespace tertulia
