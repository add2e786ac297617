#pragma once

#include <memory>
#include <string>

#include "run_log.h"
#include "run_machine.h"

namespace tertulia {

class WorkflowRun::Impl {
 public:
  std::shared_ptr<RunLog> log;
  std::weak_ptr<RunMachine> machine;
  std::string run;
};

}  // namespace tertulia
