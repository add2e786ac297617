// The state behind a SimDisk: nodes, names, what is durable of them, and what a crash leaves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/base/testing/sim_disk.h"

#include "sim_content.h"

namespace tertulia {

// Concurrency: one thread at a time (SimDiskShared has the lock).
class SimDiskState {
 public:
  // 0 is no node; 1 is the root directory.
  using NodeId = std::uint64_t;

  explicit SimDiskState(std::uint64_t seed);
  // A copy shares every node with the original until either changes it. Locks and open files stay behind.
  SimDiskState(SimDiskState& other);
  SimDiskState& operator=(const SimDiskState&) = delete;

  // Names. Each returns what FileSystem promises.
  Result<NodeId> open(const Path& path, OpenMode mode);
  Result<FileInfo> info(const Path& path);
  Result<std::vector<std::string>> list(const Path& directory);
  Result<void> make_directory(const Path& path);
  Result<void> rename(const Path& from, const Path& to);
  Result<void> remove(const Path& path);
  Result<void> sync_directory(const Path& directory);
  Result<NodeId> lock(const Path& path, std::string_view note);
  void unlock(NodeId node) { locks_.erase(node); }
  Result<void> set_world_readable(const Path& path, bool readable);

  // Content of an open file.
  Result<std::string> read(NodeId node, std::uint64_t offset, std::size_t size);
  Result<void> write(NodeId node, std::uint64_t offset, std::string_view data);
  Result<void> truncate(NodeId node, std::uint64_t size);
  Result<void> sync(NodeId node);
  Result<std::uint64_t> size(NodeId node);

  void crash(CrashPolicy policy, std::uint64_t choice);
  std::uint64_t orderly_crashes() const;
  void record_moments() { records_moments_ = true; }
  std::vector<std::unique_ptr<SimDiskState>> take_moments();
  std::uint64_t next_choice() { return random_.next(); }
  // Rises with each crash: an open file of an earlier boot is dead.
  std::uint64_t boot() const { return boot_; }

  void set_faults(const SimFaults& faults);
  bool is_off() const { return faults_.power_off_after != 0 && counts_.changes >= faults_.power_off_after; }
  std::uint64_t changes() const { return changes_; }
  std::uint64_t unsynced() const;
  std::uint64_t trace_hash() const { return trace_; }
  std::uint64_t used_bytes() const { return used_bytes_; }
  std::uint64_t content_hash(NodeId id = 1) const;

 private:
  // A write, or a truncation to `offset` when there is no data.
  struct DataOp {
    std::uint64_t offset = 0;
    std::shared_ptr<const std::string> data;
  };
  struct Node {
    std::uint64_t owner = 0;  // the state that may change it in place
    bool is_directory = false;
    bool is_linked = true;
    bool world_readable = false;
    bool is_lock = false;
    SimContent current;
    SimContent durable;
    std::vector<DataOp> unsynced;
    bool was_dropped = false;  // by a failed sync: `current` is ahead of `durable` for good
    std::map<std::string, NodeId, std::less<>> names;
    std::map<std::string, NodeId, std::less<>> durable_names;
  };
  // What one call did to names: one change, or both ends of a rename. Node 0 means the name is gone.
  struct NameChange {
    NodeId directory = 0;
    std::string name;
    NodeId node = 0;
  };
  using NameOp = std::vector<NameChange>;
  struct Place {
    NodeId directory = 0;
    std::string name;
    NodeId node = 0;  // 0: nothing has this name yet
  };
  struct Counts {
    std::uint64_t changes = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t syncs = 0;
  };

  const Node& node(NodeId id) const { return *nodes_.at(id); }
  Node& writable(NodeId id);
  NodeId add_node(bool is_directory);
  // Where the path leads. kNotFound if its directory is missing.
  Result<Place> find(const Path& path) const;
  Result<NodeId> find_existing(const Path& path) const;
  Result<NodeId> create(const Place& place, bool is_directory);
  void apply_now(NameOp op);
  void unlink(NodeId id);

  Result<void> check_power(std::string_view verb) const;
  // Counts it. The error that it must fail with, if any: then nothing is to be changed.
  Result<void> count_change(std::string_view verb);
  bool must_fail(std::uint64_t count, std::uint64_t at) const;
  void trace(std::string_view verb, std::uint64_t a, std::uint64_t b, std::string_view data = {});

  void keep_written(NodeId id, std::uint64_t offset, std::string_view data);
  static void apply(SimContent& content, const DataOp& op);
  static void apply_damaged(SimContent& content, const DataOp& op, Random& random);
  void crash_file(Node& node, Random& random);
  // How many ways there are to tear the file's unsynced writes in order, and the one of this number.
  static std::uint64_t ways_to_tear(const DataOp& op);
  static std::uint64_t orderly_tears(const Node& node);
  static void tear_in_order(Node& node, std::uint64_t choice);
  void crash_in_order(std::uint64_t choice);
  void drop_unsynced(Node& file);
  static bool share_a_name(const NameOp& one, const NameOp& other);
  std::vector<bool> draw_surviving_names(Random& random) const;
  // Makes the marked operations on names durable and forgets them.
  void make_names_durable(const std::vector<bool>& kept);
  void forget_unreachable();

  std::map<NodeId, std::shared_ptr<Node>> nodes_;
  std::vector<NameOp> unsynced_names_;
  std::map<NodeId, std::string> locks_;
  std::uint64_t owner_;
  NodeId next_node_ = 1;
  std::uint64_t boot_ = 0;
  std::uint64_t used_bytes_ = 0;
  SimFaults faults_;
  Counts counts_;  // since the faults were set
  std::uint64_t changes_ = 0;
  std::uint64_t trace_ = 0;
  SimRandom random_;
  bool records_moments_ = false;
  std::vector<std::unique_ptr<SimDiskState>> moments_;
};

}  // namespace tertulia
