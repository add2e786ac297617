// For a step that somebody waits for and of whose failure nobody could be told, such as waking a coroutine:
// it waits for memory instead of being lost.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace tertulia {

// Does `work` again until there is memory for it. What ran out of memory must have changed nothing.
template <class Work>
void with_memory(const Work& work) {
  while (true) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace tertulia
