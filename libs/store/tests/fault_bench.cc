#include "fault_bench.h"

namespace tertulia::trial {

std::unique_ptr<SimDisk> disk_before(const Scene& scene) {
  Machine machine;
  {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine).value();
    for (const Step& step : scene.before) step(*store).value();
  }
  return machine.disk().clone();
}

Lived live(const Scene& scene) {
  Lived lived;
  // The first scene begins before there is a store.
  Machine machine(scene.before.empty() ? std::make_unique<SimDisk>(1) : disk_before(scene));
  const std::uint64_t begin = machine.disk().changes();
  std::vector<std::uint64_t> acknowledged;
  machine.disk().record_moments();
  {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine).value();
    lived.states.push_back(everything(*store));
    for (const Step& step : scene.steps) {
      step(*store).value();
      acknowledged.push_back(machine.disk().changes() - begin);
      lived.states.push_back(everything(*store));
    }
  }
  lived.moments = machine.disk().take_moments();
  lived.moments.push_back(machine.disk().clone());
  std::size_t done = 0;
  for (std::size_t moment = 0; moment < lived.moments.size(); ++moment) {
    while (done < acknowledged.size() && acknowledged[done] <= moment) ++done;
    lived.done.push_back(done);
  }
  return lived;
}

std::string examine(Machine& machine, const Scene& scene, const Lived& lived, std::size_t done,
                    bool goes_on) {
  auto opened = open_fault_store(machine);
  if (!opened) return "it does not open: " + opened.error().message();
  BlockingStore& store = **opened;
  const std::string found = everything(store);
  std::size_t at = done;
  if (found != lived.states[done]) at = done + 1;
  if (at >= lived.states.size() || found != lived.states[at]) {
    return "after " + std::to_string(done) + " steps it holds\n" + found + "\ninstead of\n" +
           lived.states[done];
  }
  const Result<VerifyReport> report = store.verify();
  if (!report) return "it cannot be verified: " + report.error().message();
  if (!report->problems.empty()) {
    return report->problems.front().record + ": " + report->problems.front().sentence;
  }
  if (!goes_on) return {};
  for (; at < scene.steps.size(); ++at) {
    if (Result<void> step = scene.steps[at](store); !step)
      return "it cannot go on: " + step.error().message();
  }
  if (everything(store) != lived.states.back()) return "going on led to\n" + everything(store);
  return {};
}

}  // namespace tertulia::trial
