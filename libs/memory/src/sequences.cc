#include "sequences.h"

#include <iterator>

namespace tertulia {

void Sequences::join(std::uint32_t before, std::uint32_t behind) {
  if (before != kNone) links_[before].behind = behind;
  if (behind != kNone) links_[behind].before = before;
}

void Sequences::add(std::uint32_t label, const std::string& name, std::uint64_t place) {
  if (label >= links_.size()) links_.resize(label + 1);
  links_[label] = {};
  if (name.empty()) return;
  const auto [found, fresh] = names_.emplace(name, static_cast<std::uint32_t>(orders_.size()));
  if (fresh) orders_.emplace_back();
  Order& order = orders_[found->second];
  const auto at = order.emplace(std::pair(place, label), label).first;
  links_[label].sequence = found->second;
  links_[label].place = place;
  join(at == order.begin() ? kNone : std::prev(at)->second, label);
  join(label, std::next(at) == order.end() ? kNone : std::next(at)->second);
}

void Sequences::remove(std::uint32_t label) {
  const Link link = std::exchange(links_[label], {});
  if (link.sequence == kNone) return;
  orders_[link.sequence].erase({link.place, label});
  join(link.before, link.behind);
}

}  // namespace tertulia
