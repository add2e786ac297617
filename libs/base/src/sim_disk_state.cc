#include "sim_disk_state.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "tertulia/base/check.h"

namespace tertulia {
namespace {

constexpr std::uint64_t kLargestSimFile = 1ULL << 34U;

std::uint64_t fresh_owner() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25U;
  return hash ^ (hash >> 29U);
}

Error refused(ErrorCode code, std::string_view verb, const Path& path, std::string_view why) {
  return Error(code, std::string(verb) + " '" + path.string() + "': " + std::string(why));
}

// The names that lead from the root to the path. Split by hand: sweeps come here millions of times, and
// std::filesystem makes a list of paths from every path.
std::vector<std::string> parts_of(const Path& path) {
  std::vector<std::string> parts;
  const std::string_view text = path.native();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return parts;
}

}  // namespace

SimDiskState::SimDiskState(std::uint64_t seed) : owner_(fresh_owner()), random_(seed) { add_node(true); }

SimDiskState::SimDiskState(SimDiskState& other)
    : nodes_(other.nodes_),
      unsynced_names_(other.unsynced_names_),
      owner_(fresh_owner()),
      next_node_(other.next_node_),
      boot_(other.boot_),
      used_bytes_(other.used_bytes_),
      faults_(other.faults_),
      counts_(other.counts_),
      changes_(other.changes_),
      trace_(other.trace_),
      random_(other.random_) {
  other.owner_ = fresh_owner();
}

SimDiskState::Node& SimDiskState::writable(NodeId id) {
  std::shared_ptr<Node>& found = nodes_.at(id);
  if (found->owner != owner_) {
    found = std::make_shared<Node>(*found);
    found->owner = owner_;
  }
  return *found;
}

SimDiskState::NodeId SimDiskState::add_node(bool is_directory) {
  auto made = std::make_shared<Node>();
  made->owner = owner_;
  made->is_directory = is_directory;
  nodes_.emplace(next_node_, std::move(made));
  return next_node_++;
}

Result<SimDiskState::Place> SimDiskState::find(const Path& path) const {
  std::vector<std::string> parts = parts_of(path);
  Place place{.directory = 0, .name = "", .node = 1};
  for (std::string& part : parts) {
    if (place.node == 0 || !node(place.node).is_directory) {
      return refused(ErrorCode::kNotFound, "find", path, "a directory on the way is missing");
    }
    place.directory = place.node;
    place.name = std::move(part);
    const auto& names = node(place.directory).names;
    const auto found = names.find(place.name);
    place.node = found == names.end() ? 0 : found->second;
  }
  return place;
}

Result<SimDiskState::NodeId> SimDiskState::find_existing(const Path& path) const {
  TERTULIA_TRY_AS(Place place, find(path));
  if (place.node == 0) return refused(ErrorCode::kNotFound, "find", path, "there is nothing of this name");
  return place.node;
}

void SimDiskState::apply_now(NameOp op) {
  for (const NameChange& change : op) {
    auto& names = writable(change.directory).names;
    if (change.node == 0) {
      names.erase(change.name);
    } else {
      names[change.name] = change.node;
    }
  }
  unsynced_names_.push_back(std::move(op));
}

void SimDiskState::unlink(NodeId id) {
  Node& gone = writable(id);
  gone.is_linked = false;
  used_bytes_ -= gone.current.size();
}

Result<SimDiskState::NodeId> SimDiskState::create(const Place& place, bool is_directory) {
  TERTULIA_TRY(count_change("create"));
  const NodeId made = add_node(is_directory);
  trace("create", place.directory, made, place.name);
  apply_now({{place.directory, place.name, made}});
  return made;
}

Result<SimDiskState::NodeId> SimDiskState::open(const Path& path, OpenMode mode) {
  TERTULIA_TRY(check_power("open"));
  TERTULIA_TRY_AS(Place place, find(path));
  const bool may_create = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
  if (place.node == 0) {
    if (!may_create) return refused(ErrorCode::kNotFound, "open", path, "there is nothing of this name");
    return create(place, false);
  }
  if (mode == OpenMode::kCreateNew) return refused(ErrorCode::kAlreadyExists, "open", path, "it exists");
  if (node(place.node).is_directory) {
    return refused(ErrorCode::kNotPermitted, "open", path, "it is not a regular file");
  }
  trace("open", place.node, 0);
  return place.node;
}

Result<FileInfo> SimDiskState::info(const Path& path) {
  TERTULIA_TRY(check_power("inspect"));
  TERTULIA_TRY_AS(NodeId id, find_existing(path));
  trace("info", id, 0);
  const Node& found = node(id);
  return FileInfo{.size = found.current.size(),
                  .is_directory = found.is_directory,
                  .world_readable = found.world_readable};
}

Result<std::vector<std::string>> SimDiskState::list(const Path& directory) {
  TERTULIA_TRY(check_power("list"));
  TERTULIA_TRY_AS(NodeId id, find_existing(directory));
  if (!node(id).is_directory)
    return refused(ErrorCode::kNotFound, "list", directory, "it is not a directory");
  trace("list", id, 0);
  std::vector<std::string> names;
  for (const auto& [name, child] : node(id).names) names.push_back(name);
  return names;
}

Result<void> SimDiskState::make_directory(const Path& path) {
  TERTULIA_TRY(check_power("make directory"));
  Path so_far = "/";
  for (const std::string& part : parts_of(path)) {
    so_far /= part;
    TERTULIA_TRY_AS(Place place, find(so_far));
    if (place.node == 0) {
      TERTULIA_TRY(create(place, true));
    } else if (!node(place.node).is_directory) {
      return refused(ErrorCode::kAlreadyExists, "make directory", so_far, "a file has this name");
    }
  }
  return {};
}

Result<void> SimDiskState::rename(const Path& from, const Path& to) {
  TERTULIA_TRY(count_change("rename"));
  TERTULIA_TRY_AS(Place source, find(from));
  if (source.node == 0) return refused(ErrorCode::kNotFound, "rename", from, "there is nothing of this name");
  TERTULIA_TRY_AS(Place target, find(to));
  if (source.node == target.node) return {};
  const Node& moved = node(source.node);
  const std::vector<std::string> from_parts = parts_of(from);
  const std::vector<std::string> to_parts = parts_of(to);
  const auto parting = std::ranges::mismatch(from_parts, to_parts);
  if (source.directory == 0 || target.directory == 0 || parting.in1 == from_parts.end()) {
    return refused(ErrorCode::kNotPermitted, "rename", from, "a directory cannot move into itself");
  }
  if (target.node != 0) {
    const Node& replaced = node(target.node);
    if (replaced.is_directory && (!moved.is_directory || !replaced.names.empty())) {
      return refused(ErrorCode::kNotPermitted, "rename", to, "a directory has this name");
    }
    if (!replaced.is_directory && moved.is_directory) {
      return refused(ErrorCode::kNotFound, "rename", to, "a file has this name");
    }
    unlink(target.node);
  }
  trace("rename", source.node, target.directory, target.name);
  apply_now({{target.directory, target.name, source.node}, {source.directory, source.name, 0}});
  return {};
}

Result<void> SimDiskState::remove(const Path& path) {
  TERTULIA_TRY(count_change("remove"));
  TERTULIA_TRY_AS(Place place, find(path));
  if (place.node == 0) return refused(ErrorCode::kNotFound, "remove", path, "there is nothing of this name");
  if (place.directory == 0 || !node(place.node).names.empty()) {
    return refused(ErrorCode::kNotPermitted, "remove", path, "the directory is not empty");
  }
  trace("remove", place.node, 0);
  unlink(place.node);
  apply_now({{place.directory, place.name, 0}});
  return {};
}

Result<SimDiskState::NodeId> SimDiskState::lock(const Path& path, std::string_view note) {
  TERTULIA_TRY(check_power("lock"));
  TERTULIA_TRY_AS(Place place, find(path));
  if (place.node == 0) {
    place.node = add_node(false);
    writable(place.node).is_lock = true;
    Node& directory = writable(place.directory);
    directory.names[place.name] = place.node;
    directory.durable_names[place.name] = place.node;
  }
  // Of the directory, so that nobody gets in by removing the file.
  if (const auto held = locks_.find(place.directory); held != locks_.end()) {
    return refused(ErrorCode::kLocked, "lock", path, "it is locked (" + held->second + ")")
        .with("note", held->second)
        .with("pid", std::int64_t{1});
  }
  locks_.emplace(place.directory, note);
  trace("lock", place.node, 0);
  return place.directory;
}

Result<void> SimDiskState::set_world_readable(const Path& path, bool readable) {
  TERTULIA_TRY_AS(NodeId id, find_existing(path));
  writable(id).world_readable = readable;
  return {};
}

Result<std::string> SimDiskState::read(NodeId id, std::uint64_t offset, std::size_t size) {
  TERTULIA_TRY(check_power("read"));
  ++counts_.reads;
  trace("read", id, offset);
  if (must_fail(counts_.reads, faults_.fail_read))
    return Error(ErrorCode::kStorageIo, "read: simulated failure");
  return node(id).current.read(offset, size);
}

void SimDiskState::keep_written(NodeId id, std::uint64_t offset, std::string_view data) {
  Node& file = writable(id);
  const std::uint64_t before = file.current.size();
  DataOp op{offset, std::make_shared<const std::string>(data)};
  apply(file.current, op);
  file.unsynced.push_back(std::move(op));
  if (file.is_linked) used_bytes_ += file.current.size() - before;
}

Result<void> SimDiskState::write(NodeId id, std::uint64_t offset, std::string_view data) {
  if (Result<void> counted = count_change("write"); !counted) {
    if (is_off() || !faults_.tear_failed_write || data.size() < 2) return counted;
    keep_written(id, offset, data.substr(0, data.size() / 2));
    return counted;
  }
  ++counts_.writes;
  trace("write", id, offset, data);
  if (must_fail(counts_.writes, faults_.fail_write)) {
    return Error(ErrorCode::kStorageIo, "write: simulated failure");
  }
  if (data.empty()) return {};
  const std::uint64_t before = node(id).current.size();
  const std::uint64_t room = faults_.capacity > used_bytes_ ? faults_.capacity - used_bytes_ : 0;
  const std::uint64_t largest = std::min(kLargestSimFile, before + std::min(room, kLargestSimFile));
  std::string_view fits = data;
  if (offset > largest) {
    fits = {};
  } else if (offset + data.size() > std::max(largest, before)) {
    fits = data.substr(0, static_cast<std::size_t>(std::max(largest, before) - std::min(offset, largest)));
  }
  if (!fits.empty()) keep_written(id, offset, fits);
  if (fits.size() == data.size()) return {};
  return Error(ErrorCode::kStorageFull, "write: only " + std::to_string(fits.size()) + " of " +
                                            std::to_string(data.size()) + " bytes fitted")
      .with("written", static_cast<std::int64_t>(fits.size()));
}

Result<void> SimDiskState::truncate(NodeId id, std::uint64_t size) {
  TERTULIA_TRY(count_change("truncate"));
  ++counts_.writes;
  trace("truncate", id, size);
  if (must_fail(counts_.writes, faults_.fail_write)) {
    return Error(ErrorCode::kStorageIo, "truncate: simulated failure");
  }
  if (size > kLargestSimFile) return Error(ErrorCode::kStorageFull, "truncate: the file would be too large");
  Node& file = writable(id);
  const std::uint64_t before = file.current.size();
  DataOp op{size, nullptr};
  apply(file.current, op);
  file.unsynced.push_back(std::move(op));
  if (file.is_linked) used_bytes_ = used_bytes_ - before + size;
  return {};
}

Result<std::uint64_t> SimDiskState::size(NodeId id) {
  TERTULIA_TRY(check_power("inspect"));
  return node(id).current.size();
}

void SimDiskState::apply(SimContent& content, const DataOp& op) {
  if (op.data == nullptr) {
    content.truncate(op.offset);
  } else {
    content.write(op.offset, *op.data);
  }
}

Result<void> SimDiskState::check_power(std::string_view verb) const {
  if (!is_off()) return {};
  return Error(ErrorCode::kStorageIo, std::string(verb) + ": the simulated power is off");
}

Result<void> SimDiskState::count_change(std::string_view verb) {
  TERTULIA_TRY(check_power(verb));
  if (records_moments_) moments_.push_back(std::make_unique<SimDiskState>(*this));
  ++counts_.changes;
  ++changes_;
  if (must_fail(counts_.changes, faults_.fail_change)) {
    return Error(faults_.fail_with, std::string(verb) + ": simulated failure");
  }
  return {};
}

std::vector<std::unique_ptr<SimDiskState>> SimDiskState::take_moments() {
  records_moments_ = false;
  return std::exchange(moments_, {});
}

std::uint64_t SimDiskState::content_hash(NodeId id) const {
  const Node& found = node(id);
  if (!found.is_directory) return mix(1, found.current.hash());
  std::uint64_t hash = 2;
  for (const auto& [name, child] : found.names) {
    if (node(child).is_lock) continue;
    hash = mix(mix(hash, std::hash<std::string>()(name)), content_hash(child));
  }
  return hash;
}

bool SimDiskState::must_fail(std::uint64_t count, std::uint64_t at) const {
  return at != 0 && (count == at || (faults_.keep_failing && count > at));
}

void SimDiskState::set_faults(const SimFaults& faults) {
  faults_ = faults;
  counts_ = {};
}

void SimDiskState::trace(std::string_view verb, std::uint64_t a, std::uint64_t b, std::string_view data) {
  trace_ = mix(mix(mix(trace_, static_cast<std::uint64_t>(verb[0]) << 8U | verb.size()), a), b);
  trace_ = mix(trace_, data.size());
  while (!data.empty()) {
    std::uint64_t word = 0;
    const std::size_t part = std::min(data.size(), sizeof(word));
    std::memcpy(&word, data.data(), part);
    trace_ = mix(trace_, word);
    data.remove_prefix(part);
  }
}

}  // namespace tertulia
