// What all turns of an engine share.
#pragma once

#include <atomic>
#include <memory>

#include "tertulia/base/env.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/log.h"
#include "tertulia/base/uuid.h"
#include "tertulia/store/store.h"
#include "tertulia/tools/address_judge.h"

#include "async.h"
#include "branch_numbers.h"
#include "timers.h"

namespace tertulia {

struct EngineCore {
  EngineCore(Env& environment, std::shared_ptr<Store> durable, std::size_t threads,
             std::size_t worker_threads, std::shared_ptr<AddressJudge> judge)
      : env(environment),
        store(std::move(durable)),
        addresses(judge ? std::move(judge)
                        : std::make_shared<AddressJudge>(policy_for_parts().value(), environment.clock())),
        uuids(env.clock(), env.random()),
        owner(uuids.make().text()),
        timers(Timers::make()),
        crew(Crew::make(threads, worker_threads)) {}

  Env& env;
  // Null: nothing is durable.
  std::shared_ptr<Store> store;
  // Never null.
  const std::shared_ptr<AddressJudge> addresses;
  UuidMaker uuids;
  LeaseOwner owner;
  Log log = Log().component("agent");
  const std::shared_ptr<Timers> timers;
  // How many turns run.
  std::atomic<std::size_t> live_turns = 0;
  // Where coroutines run, and where tools block.
  const std::shared_ptr<Crew> crew;

  MessageId new_message_id() { return MessageId(uuids.make()); }
  TurnId new_turn_id() { return TurnId(uuids.make()); }
};

}  // namespace tertulia
