// A library to be loaded before a program (LD_PRELOAD): its memory runs out where the file that
// TERTULIA_STARVING names says so. A test writes into that file while the program runs, and reads there what
// came of it.
//
// Only what C++ allocates fails: libraries in C have other ways to be out of memory, and their own tests.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Orders {
  // How many more allocations succeed; negative while none is to fail.
  std::atomic<std::int64_t> left;
  // So many fail in a row from there on.
  std::atomic<std::int64_t> in_a_row;
  // What has been asked for, and what was refused, since the program began.
  std::atomic<std::int64_t> asked;
  std::atomic<std::int64_t> refused;
  // How many more threads may be started; negative while as many as like to.
  std::atomic<std::int64_t> threads;
};

std::atomic<Orders*> orders{nullptr};

[[gnu::constructor]] void read_orders() {
  const char* const name = std::getenv("TERTULIA_STARVING");
  const int file = name == nullptr ? -1 : ::open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const shared = ::mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (shared != MAP_FAILED) orders = static_cast<Orders*>(shared);
}

bool must_fail() {
  Orders* const now = orders.load(std::memory_order_relaxed);
  if (now == nullptr) return false;
  now->asked.fetch_add(1, std::memory_order_relaxed);
  std::int64_t left = now->left.load();
  do {
    if (left < 0) return false;
  } while (left > 0 && !now->left.compare_exchange_weak(left, left - 1));
  if (left > 0) return false;
  if (now->in_a_row.fetch_sub(1) <= 1) now->left = -1;
  now->refused.fetch_add(1);
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (must_fail()) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 1) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

bool may_start_thread() {
  Orders* const now = orders.load();
  if (now == nullptr) return true;
  std::int64_t threads = now->threads.load();
  do {
    if (threads < 0) return true;
    if (threads == 0) return false;
  } while (!now->threads.compare_exchange_weak(threads, threads - 1));
  return true;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return may_start_thread() ? create(thread, how, run, with) : EAGAIN;
}

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t at) {
  return allocate_or_throw(size, static_cast<std::size_t>(at));
}
void* operator new[](std::size_t size, std::align_val_t at) {
  return allocate_or_throw(size, static_cast<std::size_t>(at));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
