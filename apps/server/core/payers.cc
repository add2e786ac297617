#include "core/payers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/put_aside.h"

namespace tertulia::server {
namespace {

constexpr std::uint64_t kMostBytes = 64U << 20U;
// At twice as many the older half is forgotten.
constexpr std::size_t kKept = 100'000;

std::string line_of(const std::string& turn, const std::string& key) { return turn + " " + key + "\n"; }

}  // namespace

Payers::Payers(Env& env, const Path& directory, Log log)
    : env_(env), path_(directory / "payers.txt"), log_(std::move(log)) {
  MutexLock lock(mutex_);
  const Result<std::string> text = read_file(env_.files(), path_, kMostBytes);
  if (!text) {
    if (text.error().code() == ErrorCode::kNotFound) return;
    const Result<Path> aside = put_aside(env_, path_);
    log_.error("payers.txt cannot be read: turns that a crash has left go on at nobody's expense",
               {{"reason", text.error().message()},
                {"kept_as", aside ? aside->string() : "payers.txt: " + aside.error().message()}});
    return;
  }
  std::string_view rest = *text;
  std::size_t unread = 0;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      payers_.emplace(line.substr(0, space), line.substr(space + 1));
    } else {
      ++unread;
    }
    rest.remove_prefix(end + 1);
  }
  if (unread > 0) {
    log_.error("lines of payers.txt cannot be read: their turns go on at nobody's expense",
               {{"lines", unread}});
  }
  // A line that the end of the process has cut.
  if (!rest.empty()) write_all();
}

void Payers::note(std::string_view turn, const std::string& key) {
  MutexLock lock(mutex_);
  const auto [found, added] = payers_.emplace(turn, key);
  if (!added) return;
  if (payers_.size() < 2 * kKept) return append(line_of(found->first, key));
  // Ids of turns are in the order of their time.
  std::vector<std::string> turns;
  turns.reserve(payers_.size());
  for (const auto& [id, payer] : payers_) turns.push_back(id);
  std::ranges::nth_element(turns, turns.begin() + kKept);
  std::erase_if(payers_, [&](const auto& one) { return one.first < turns[kKept]; });
  write_all();
}

std::string Payers::payer_of(const std::string& turn) const {
  MutexLock lock(mutex_);
  const auto found = payers_.find(turn);
  return found == payers_.end() ? std::string() : found->second;
}

void Payers::keep_only(const std::set<std::string>& turns) {
  MutexLock lock(mutex_);
  const std::size_t forgotten =
      std::erase_if(payers_, [&](const auto& one) { return !turns.contains(one.first); });
  if (forgotten > 0) write_all();
}

void Payers::write_all() {
  std::string text;
  for (const auto& [turn, key] : payers_) text += line_of(turn, key);
  file_.reset();
  if (Result<void> written = write_file_atomically(env_.files(), path_, text); !written) {
    log_.warn("payers.txt could not be written", {{"reason", written.error().message()}});
  }
}

void Payers::append(const std::string& line) {
  if (!file_) {
    Result<std::unique_ptr<File>> opened = env_.files().open(path_, OpenMode::kCreate);
    const Result<std::uint64_t> size = opened ? (*opened)->size() : Result<std::uint64_t>(opened.error());
    if (!size) return log_.warn("payers.txt could not be opened", {{"reason", size.error().message()}});
    file_ = *std::move(opened);
    end_ = *size;
  }
  if (Result<void> written = file_->write_at(end_, line); !written) {
    return log_.warn("payers.txt could not be written", {{"reason", written.error().message()}});
  }
  end_ += line.size();
}

}  // namespace tertulia::server
