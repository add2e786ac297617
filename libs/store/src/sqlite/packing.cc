#include "packing.h"

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <zstd.h>

#include "tertulia/base/thread_annotations.h"

asm(R"(
    .section .rodata
    .balign 8
    .global tertulia_turn_dictionary_begin
    .hidden tertulia_turn_dictionary_begin
    .global tertulia_turn_dictionary_end
    .hidden tertulia_turn_dictionary_end
tertulia_turn_dictionary_begin:
    .incbin ")" TERTULIA_TURN_DICTIONARY_FILE R"("
tertulia_turn_dictionary_end:
    .byte 0
    .text
)");

extern "C" {
extern const char tertulia_turn_dictionary_begin[];
extern const char tertulia_turn_dictionary_end[];
}

namespace tertulia {

namespace {

constexpr int kLevel = 1;
// Short matches save two bytes in a hundred and cost half of the time of reading them.
constexpr int kMinMatch = 7;
// Frames begin with these bytes, which are not stored.
constexpr std::string_view kMagic("\x28\xB5\x2F\xFD", 4);

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::size_t dictionary_size() {
  return static_cast<std::size_t>(tertulia_turn_dictionary_end - tertulia_turn_dictionary_begin);
}

// Read by all threads; lives until the program ends. Null if there was no memory.
const ZSTD_DDict* unpacking_dictionary() {
  static const ZSTD_DDict* dictionary = ZSTD_createDDict(tertulia_turn_dictionary_begin, dictionary_size());
  return dictionary;
}

std::unique_ptr<ZSTD_CCtx, Free> make_packer() {
  std::unique_ptr<ZSTD_CCtx, Free> packer(ZSTD_createCCtx());
  if (packer == nullptr) return nullptr;
  const auto set = [&](ZSTD_cParameter parameter, int value) {
    return ZSTD_isError(ZSTD_CCtx_setParameter(packer.get(), parameter, value)) == 0;
  };
  // The row says the size, its checksum guards it, and there is one dictionary.
  if (!set(ZSTD_c_contentSizeFlag, 0) || !set(ZSTD_c_checksumFlag, 0) || !set(ZSTD_c_dictIDFlag, 0) ||
      !set(ZSTD_c_compressionLevel, kLevel) || !set(ZSTD_c_minMatch, kMinMatch) ||
      ZSTD_isError(
          ZSTD_CCtx_loadDictionary(packer.get(), tertulia_turn_dictionary_begin, dictionary_size())) != 0) {
    return nullptr;
  }
  return packer;
}

// Packers are large, and any thread may commit: there are as many as were ever at work at once.
class BorrowedPacker {
 public:
  BorrowedPacker() {
    {
      MutexLock lock(idle_mutex_);
      if (!idle_.empty()) {
        packer_ = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (packer_ == nullptr) packer_ = make_packer();
  }
  ~BorrowedPacker() {
    if (packer_ == nullptr) return;
    MutexLock lock(idle_mutex_);
    try {
      idle_.push_back(std::move(packer_));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // There is no room to keep it: the next one is made anew.
    }
  }
  BorrowedPacker(const BorrowedPacker&) = delete;
  BorrowedPacker& operator=(const BorrowedPacker&) = delete;

  ZSTD_CCtx* get() const { return packer_.get(); }

 private:
  using Packer = std::unique_ptr<ZSTD_CCtx, Free>;
  static inline Mutex idle_mutex_;
  static inline std::vector<Packer> idle_ TERTULIA_GUARDED_BY(idle_mutex_);
  Packer packer_;
};

}  // namespace

bool append_packed(std::string& out, std::string_view bytes) {
  const BorrowedPacker packer;
  if (packer.get() == nullptr) return false;
  const std::size_t start = out.size();
  out.resize(start + bytes.size() + kMagic.size());
  const std::size_t size = ZSTD_compress2(packer.get(), out.data() + start, bytes.size() + kMagic.size() - 1,
                                          bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0 || size < kMagic.size()) {
    out.resize(start);
    return false;
  }
  out.resize(start + size);
  out.erase(start, kMagic.size());
  return true;
}

Result<void> unpack(std::string_view packed, char* out, std::size_t size) {
  thread_local std::unique_ptr<ZSTD_DCtx, Free> unpacker(ZSTD_createDCtx());
  thread_local std::string frame;
  if (unpacker == nullptr || unpacking_dictionary() == nullptr) {
    return Error(ErrorCode::kStorageFull, "there is not enough memory to unpack a turn");
  }
  frame.assign(kMagic).append(packed);
  const std::size_t done = ZSTD_decompress_usingDDict(unpacker.get(), out, size, frame.data(), frame.size(),
                                                      unpacking_dictionary());
  if (ZSTD_isError(done) != 0 || done != size) {
    return Error(ErrorCode::kDamaged, "the messages of the turn cannot be unpacked");
  }
  return {};
}

}  // namespace tertulia
