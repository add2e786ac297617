// Which item stands next to which.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tertulia {

inline constexpr std::uint32_t kNone = UINT32_MAX;

// Items are dense numbers from 0. A value.
class Sequences {
 public:
  // Without a name it stands alone. Items of the same place stand in the order of their labels.
  void add(std::uint32_t label, const std::string& name, std::uint64_t place);
  void remove(std::uint32_t label);

  std::uint32_t before(std::uint32_t label) const { return links_[label].before; }
  std::uint32_t behind(std::uint32_t label) const { return links_[label].behind; }
  // kNone for one that stands alone.
  std::uint32_t sequence(std::uint32_t label) const { return links_[label].sequence; }
  // One more than the largest number of a sequence.
  std::size_t count() const { return orders_.size(); }

 private:
  struct Link {
    std::uint32_t before = kNone;
    std::uint32_t behind = kNone;
    std::uint32_t sequence = kNone;
    std::uint64_t place = 0;
  };
  using Order = std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t>;

  void join(std::uint32_t before, std::uint32_t behind);

  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<Order> orders_;
  std::vector<Link> links_;
};

}  // namespace tertulia
