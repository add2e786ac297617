// What is durable in a SimDisk, and which of the rest survives a crash.
#include <algorithm>
#include <set>

#include "sim_disk_state.h"

namespace tertulia {
namespace {

constexpr std::uint64_t kSector = 512;

// How the unsynced part of a file, or of the names, fares. Drawing this first makes the plain cases (all,
// none, in order up to a point) as frequent as the odd ones.
enum class Fate : std::uint8_t { kLost, kKept, kCutOff, kAnySubset };

Fate draw_fate(Random& random) { return static_cast<Fate>(random.below(4)); }

}  // namespace

// It can still be read, and is not on the disk: what Linux leaves after a write-back error.
void SimDiskState::drop_unsynced(Node& file) {
  file.was_dropped = file.was_dropped || !file.unsynced.empty();
  file.unsynced.clear();
}

Result<void> SimDiskState::sync(NodeId id) {
  if (Result<void> counted = count_change("sync"); !counted) {
    if (!is_off()) drop_unsynced(writable(id));
    return counted;
  }
  ++counts_.syncs;
  trace("sync", id, 0);
  if (faults_.lying_sync) return {};
  Node& file = writable(id);
  if (counts_.syncs == faults_.fail_sync) {
    drop_unsynced(file);
    return Error(ErrorCode::kStorageIo, "sync: simulated failure");
  }
  for (const DataOp& op : file.unsynced) apply(file.durable, op);
  file.unsynced.clear();
  return {};
}

bool SimDiskState::share_a_name(const NameOp& one, const NameOp& other) {
  return std::ranges::any_of(one, [&](const NameChange& a) {
    return std::ranges::any_of(
        other, [&](const NameChange& b) { return a.directory == b.directory && a.name == b.name; });
  });
}

void SimDiskState::make_names_durable(const std::vector<bool>& kept) {
  std::vector<NameOp> left;
  for (std::size_t index = 0; index < kept.size(); ++index) {
    if (!kept[index]) {
      left.push_back(std::move(unsynced_names_[index]));
      continue;
    }
    for (NameChange& change : unsynced_names_[index]) {
      auto& names = writable(change.directory).durable_names;
      if (change.node == 0) {
        names.erase(change.name);
      } else {
        names[std::move(change.name)] = change.node;
      }
    }
  }
  unsynced_names_ = std::move(left);
}

Result<void> SimDiskState::sync_directory(const Path& directory) {
  TERTULIA_TRY(count_change("sync directory"));
  TERTULIA_TRY_AS(NodeId id, find_existing(directory));
  if (!node(id).is_directory) {
    return Error(ErrorCode::kNotFound, "sync directory '" + directory.string() + "': it is not a directory");
  }
  trace("sync directory", id, 0);
  if (faults_.lying_sync) return {};
  std::vector<bool> kept(unsynced_names_.size());
  for (std::size_t index = kept.size(); index-- > 0;) {
    const NameOp& op = unsynced_names_[index];
    if (std::ranges::any_of(op, [&](const NameChange& change) { return change.directory == id; })) {
      kept[index] = true;
    }
    if (!kept[index]) continue;
    // A rename from elsewhere brings along what happened before to its other name.
    for (std::size_t earlier = 0; earlier < index; ++earlier) {
      if (share_a_name(unsynced_names_[earlier], op)) kept[earlier] = true;
    }
  }
  make_names_durable(kept);
  return {};
}

// The write reaches the disk in part, or only as an extent that nobody filled.
void SimDiskState::apply_damaged(SimContent& content, const DataOp& op, Random& random) {
  const std::string_view data = *op.data;
  const std::uint64_t to_boundary = kSector - op.offset % kSector;
  const std::uint64_t boundaries =
      data.size() > to_boundary ? (data.size() - to_boundary - 1) / kSector + 1 : 0;
  const std::uint64_t cut = boundaries == 0 ? 0 : to_boundary + random.below(boundaries) * kSector;
  switch (random.below(5)) {
    case 0:
      content.write(op.offset, data.substr(0, random.below(data.size())));
      break;
    case 4: {
      // Any of its sectors, the last to arrive first.
      for (std::uint64_t at = 0; at < data.size();) {
        const std::uint64_t end =
            std::min<std::uint64_t>(data.size(), at + kSector - (op.offset + at) % kSector);
        if (random.below(2) == 0) content.write(op.offset + at, data.substr(at, end - at));
        at = end;
      }
      break;
    }
    case 1:
      content.write(op.offset, data.substr(0, cut));
      break;
    case 2:
      content.write(op.offset + cut, data.substr(cut));
      break;
    default:
      content.write_zeros(op.offset, data.size());
      break;
  }
}

void SimDiskState::crash_file(Node& file, Random& random) {
  const Fate fate = draw_fate(random);
  const std::size_t count = file.unsynced.size();
  const std::size_t cut = fate == Fate::kCutOff ? random.below(count) : 0;
  for (std::size_t index = 0; index < count; ++index) {
    const DataOp& op = file.unsynced[index];
    bool whole = fate == Fate::kKept || (fate == Fate::kCutOff && index < cut);
    bool damaged = fate == Fate::kCutOff && index == cut;
    if (fate == Fate::kAnySubset) {
      const std::uint64_t drawn = random.below(4);
      whole = drawn < 2;
      damaged = drawn == 2;
    }
    if (whole) {
      apply(file.durable, op);
    } else if (damaged && op.data != nullptr) {
      apply_damaged(file.durable, op, random);
    }
  }
}

std::uint64_t SimDiskState::ways_to_tear(const DataOp& op) {
  if (op.data == nullptr) return 1;
  const std::uint64_t size = op.data->size();
  return size + (op.offset + size - 1) / kSector - op.offset / kSector + 1;
}

std::uint64_t SimDiskState::orderly_tears(const Node& file) {
  std::uint64_t count = 1;
  for (const DataOp& op : file.unsynced) count += ways_to_tear(op);
  return count;
}

void SimDiskState::tear_in_order(Node& file, std::uint64_t choice) {
  for (const DataOp& op : file.unsynced) {
    const std::uint64_t ways = ways_to_tear(op);
    if (choice >= ways) {
      choice -= ways;
      apply(file.durable, op);
      continue;
    }
    if (op.data == nullptr) return;
    const std::string_view data = *op.data;
    if (choice < data.size()) {
      file.durable.write(op.offset, data.substr(0, choice));
      return;
    }
    const std::uint64_t sector = choice - data.size();
    const std::uint64_t cut = sector == 0 ? 0 : (op.offset / kSector + sector) * kSector - op.offset;
    file.durable.write(op.offset, data.substr(0, cut));
    file.durable.write_zeros(op.offset + cut, data.size() - cut);
    return;
  }
}

std::uint64_t SimDiskState::orderly_crashes() const {
  std::uint64_t tears = 0;
  std::uint64_t torn_files = 0;
  for (const auto& [id, file] : nodes_) {
    if (file->unsynced.empty()) continue;
    tears += orderly_tears(*file);
    ++torn_files;
  }
  return std::max<std::uint64_t>(tears, 1) * (torn_files > 1 ? 2 : 1) * (unsynced_names_.empty() ? 1 : 2);
}

void SimDiskState::crash_in_order(std::uint64_t choice) {
  choice %= orderly_crashes();
  bool keeps_names = false;
  if (!unsynced_names_.empty()) {
    keeps_names = choice % 2 == 0;
    choice /= 2;
  }
  std::vector<NodeId> files;
  for (const auto& [id, file] : nodes_) {
    if (!file->unsynced.empty()) files.push_back(id);
  }
  bool keeps_others = false;
  if (files.size() > 1) {
    keeps_others = choice % 2 == 0;
    choice /= 2;
  }
  bool is_torn = false;
  for (const NodeId id : files) {
    Node& file = writable(id);
    const std::uint64_t tears = orderly_tears(file);
    if (!is_torn && choice < tears) {
      is_torn = true;
      tear_in_order(file, choice);
      continue;
    }
    if (!is_torn) choice -= tears;
    if (!keeps_others) continue;
    for (const DataOp& op : file.unsynced) apply(file.durable, op);
  }
  make_names_durable(std::vector<bool>(unsynced_names_.size(), keeps_names));
}

std::vector<bool> SimDiskState::draw_surviving_names(Random& random) const {
  const std::size_t count = unsynced_names_.size();
  const Fate fate = draw_fate(random);
  std::vector<bool> kept(count, fate == Fate::kKept);
  if (count == 0) return kept;
  if (fate == Fate::kCutOff) std::fill_n(kept.begin(), random.below(count), true);
  if (fate != Fate::kAnySubset) return kept;
  for (std::size_t index = 0; index < count; ++index) {
    bool possible = random.below(2) == 0;
    for (std::size_t earlier = 0; possible && earlier < index; ++earlier) {
      possible = kept[earlier] || !share_a_name(unsynced_names_[earlier], unsynced_names_[index]);
    }
    kept[index] = possible;
  }
  return kept;
}

void SimDiskState::crash(CrashPolicy policy, std::uint64_t choice) {
  ++boot_;
  locks_.clear();
  set_faults({});
  trace("crash", static_cast<std::uint64_t>(policy), choice);
  // A killed process leaves the page cache as it is: unsynced operations stay unsynced.
  if (policy == CrashPolicy::kKeepUnsynced) return;

  SimRandom random(choice);
  const bool keeps_some = policy == CrashPolicy::kAnything;
  if (policy == CrashPolicy::kOrderly) crash_in_order(choice);
  for (auto& [id, found] : nodes_) {
    if (found->unsynced.empty() && !found->was_dropped) continue;
    Node& file = writable(id);
    if (keeps_some && !file.unsynced.empty()) crash_file(file, random);
    file.unsynced.clear();
    file.was_dropped = false;
    file.current = file.durable;
    file.durable.freeze();
  }
  if (keeps_some) make_names_durable(draw_surviving_names(random));
  unsynced_names_.clear();
  for (auto& [id, found] : nodes_) {
    if (found->names != found->durable_names) {
      Node& directory = writable(id);
      directory.names = directory.durable_names;
    }
  }
  forget_unreachable();
}

void SimDiskState::forget_unreachable() {
  std::set<NodeId> reached = {1};
  std::vector<NodeId> left = {1};
  while (!left.empty()) {
    const Node& directory = node(left.back());
    left.pop_back();
    for (const auto& [name, child] : directory.names) {
      if (reached.insert(child).second && node(child).is_directory) left.push_back(child);
    }
  }
  std::erase_if(nodes_, [&](const auto& entry) { return !reached.contains(entry.first); });
  used_bytes_ = 0;
  for (auto& [id, found] : nodes_) {
    used_bytes_ += found->current.size();
    if (!found->is_linked) writable(id).is_linked = true;
  }
}

std::uint64_t SimDiskState::unsynced() const {
  std::uint64_t count = unsynced_names_.size();
  for (const auto& [id, found] : nodes_) count += found->unsynced.size();
  return count;
}

}  // namespace tertulia
