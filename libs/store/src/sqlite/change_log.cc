#include "change_log.h"

#include <algorithm>
#include <utility>

#include "tertulia/store/crc32c.h"

#include "../bytes.h"

namespace tertulia {

namespace {

constexpr std::string_view kBatchMagic = "TLOG";
constexpr std::uint32_t kSynced = 1;
constexpr std::size_t kFlagsAt = 4;
constexpr std::size_t kSumAt = 20;
constexpr std::size_t kHeadBytes = 24;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMaxLog = 1ULL << 30U;

struct Batch {
  std::uint32_t flags = 0;
  std::uint64_t number = 0;
  // With the head, and up to where the next one begins.
  std::size_t length = 0;
  std::size_t whole = 0;
};

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::uint32_t sum_of(std::string_view batch) {
  return crc32c(batch.substr(kHeadBytes), crc32c(batch.substr(0, kSumAt)));
}

// The batch that begins there, if one does. Its number is not looked at.
bool batch_at(std::string_view content, std::size_t offset, Batch& out) {
  if (offset >= content.size()) return false;
  const std::string_view rest = content.substr(offset);
  if (rest.size() < kHeadBytes || !rest.starts_with(kBatchMagic)) return false;
  ByteReader head(rest.substr(kFlagsAt));
  out.flags = head.u32();
  out.number = head.u64();
  out.length = kHeadBytes + head.u32();
  const std::uint32_t sum = head.u32();
  if (out.length > rest.size() || sum_of(rest.substr(0, out.length)) != sum) return false;
  out.whole = aligned(out.length);
  return true;
}

}  // namespace

Result<ChangeLog> ChangeLog::open(FileSystem& files, const Path& directory, const ChangeLogOptions& options) {
  ChangeLog log(files, directory / kName, options);
  const bool there = files.info(log.path_).ok();
  TERTULIA_TRY_AS(log.file_, files.open(log.path_, OpenMode::kCreate));
  if (!there) TERTULIA_TRY(files.sync_directory(directory));
  TERTULIA_TRY_AS(log.size_, log.file_->size());
  return log;
}

Result<std::vector<std::string>> ChangeLog::read(std::uint64_t settled, std::optional<Error>* lost) {
  if (size_ > kMaxLog) return Error(ErrorCode::kDamaged, "'" + path_.string() + "' is no log of changes");
  TERTULIA_TRY_AS(const std::string content, file_->read_at(0, static_cast<std::size_t>(size_)));
  std::vector<std::string> batches;
  newest_ = settled;
  Batch batch;
  std::size_t offset = 0;
  for (std::uint64_t number = 0; batch_at(content, offset, batch); offset += batch.whole) {
    if (number != 0 && batch.number != number + 1) break;
    number = batch.number;
    if (number <= settled) continue;
    if (number != newest_ + 1) break;
    newest_ = number;
    batches.emplace_back(content, offset, batch.length);
  }
  if (newer_behind(content, offset)) {
    Error damage = Error(ErrorCode::kDamaged,
                         "'" + path_.string() + "' is damaged at byte " + std::to_string(offset) +
                             ", and changes that were made later stand behind; restore a backup, or copy "
                             "what can be read with: tertulia verify --repair")
                       .with("record", std::string(kName) + " byte " + std::to_string(offset));
    if (lost == nullptr) return damage;
    *lost = std::move(damage);
  }
  end_ = offset;
  return batches;
}

// Whether a batch stands behind that can only have been written after the one that is missing here was
// durable.
bool ChangeLog::newer_behind(std::string_view content, std::size_t offset) const {
  Batch batch;
  for (; offset < content.size(); offset += kAlignment) {
    if (batch_at(content, offset, batch) && batch.number > newest_ && (batch.flags & kSynced) != 0) {
      return true;
    }
  }
  return false;
}

void ChangeLog::begin(std::string& batch) { batch.assign(kHeadBytes, '\0'); }

std::string_view ChangeLog::payload(std::string_view batch) { return batch.substr(kHeadBytes); }

// Where there is no room for more than the batch, it still may find its own.
void ChangeLog::make_room(std::uint64_t end) {
  if (end <= size_) return;
  const std::uint64_t wanted = (end + options_.growth - 1) / options_.growth * options_.growth;
  const std::string zeros(static_cast<std::size_t>(wanted - size_), '\0');
  if (file_->write_at(size_, zeros)) {
    size_ = wanted;
  } else {
    static_cast<void>(file_->truncate(size_));
  }
}

Result<void> ChangeLog::append(std::string& batch) {
  std::string head(kBatchMagic);
  put_u32(head, options_.synced ? kSynced : 0);
  put_u64(head, newest_ + 1);
  put_u32(head, static_cast<std::uint32_t>(batch.size() - kHeadBytes));
  batch.replace(0, head.size(), head);
  std::string sum;
  put_u32(sum, sum_of(batch));
  batch.replace(kSumAt, sum.size(), sum);
  const std::uint64_t end = end_ + aligned(batch.size());
  make_room(end);
  TERTULIA_TRY(file_->write_at(end_, batch));
  if (options_.synced) TERTULIA_TRY(file_->sync());
  ++newest_;
  end_ = end;
  size_ = std::max(size_, end_);
  return {};
}

Result<void> ChangeLog::clear() {
  end_ = 0;
  if (size_ == 0) return {};
  TERTULIA_TRY(file_->truncate(0));
  size_ = 0;
  return file_->sync();
}

Result<void> ChangeLog::remove() {
  file_.reset();
  return files_->remove(path_);
}

}  // namespace tertulia
