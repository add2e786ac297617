// From a tree of messages to paths.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "foreign.h"

namespace tertulia {

namespace {

using Children = std::vector<std::vector<std::size_t>>;

// The leaf that the first path leads to.
std::size_t first_leaf(const Children& children, std::size_t node) {
  while (!children[node].empty()) node = children[node].front();
  return node;
}

// The nodes from the root to `leaf`.
std::vector<std::size_t> path_to(const std::vector<ForeignNode>& nodes, std::size_t leaf) {
  std::vector<std::size_t> path;
  for (std::size_t node = leaf; node != kNoNode; node = nodes[node].parent) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

// Which branch holds a node as its own, and at which place of the path.
struct Held {
  std::size_t branch = kNoNode;
  std::size_t place = 0;
};

}  // namespace

void lay_out_tree(ForeignSession& session, std::vector<ForeignNode> nodes, std::size_t current) {
  Children children(nodes.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    (nodes[i].parent == kNoNode ? roots : children[nodes[i].parent]).push_back(i);
  }
  std::vector<std::size_t> leaves;
  const std::size_t main_leaf =
      roots.empty() ? kNoNode : first_leaf(children, current == kNoNode ? roots.front() : current);
  if (main_leaf != kNoNode) leaves.push_back(main_leaf);
  // Depth first, so that the leaves come in the order in which one reads the tree.
  std::vector<std::size_t> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const std::size_t node = stack.back();
    stack.pop_back();
    if (children[node].empty() && node != main_leaf) leaves.push_back(node);
    stack.insert(stack.end(), children[node].rbegin(), children[node].rend());
  }

  std::vector<Held> held(nodes.size());
  for (const std::size_t leaf : leaves) {
    const std::vector<std::size_t> path = path_to(nodes, leaf);
    ForeignBranch branch;
    branch.id = session.branches.empty() ? "main" : "path-" + std::to_string(session.branches.size() + 1);
    for (std::size_t place = 0; place < path.size(); ++place) {
      Held& node = held[path[place]];
      if (node.branch != kNoNode) {
        branch.parent = node.branch;
        branch.shared = place + 1;
        continue;
      }
      node = {.branch = session.branches.size(), .place = place};
      branch.own.push_back(path[place]);
    }
    session.branches.push_back(std::move(branch));
  }
  session.messages.reserve(nodes.size());
  for (ForeignNode& node : nodes) session.messages.push_back(std::move(node.message));
}

namespace {

// "2024-05-01T10:20:30.123+02:00" and its shorter forms.
std::optional<Time> parse_iso(std::string_view text) {
  namespace chrono = std::chrono;
  const auto number = [&](std::size_t at, std::size_t size) -> int {
    int value = -1;
    if (at + size > text.size()) return -1;
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + at + size, value);
    return problem == std::errc() && end == text.data() + at + size ? value : -1;
  };
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = text.size() > 16 && text[16] == ':' ? number(17, 2) : 0;
  const int year = number(0, 4);
  const int month = number(5, 2);
  const int day = number(8, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const chrono::year_month_day date(chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  Time time =
      chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) + chrono::seconds(second);
  std::size_t at = text.size() > 16 && text[16] == ':' ? 19 : 16;
  if (at < text.size() && text[at] == '.') {
    std::int64_t unit = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) {
      time += Duration(unit * (text[at] - '0'));
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    // "+02:00", "+0200" and "+02".
    const int hours = number(at + 1, 2);
    const bool colon = at + 3 < text.size() && text[at + 3] == ':';
    const bool whole = at + 3 >= text.size();
    const int minutes = whole ? 0 : number(at + (colon ? 4 : 3), 2);
    if (hours < 0 || minutes < 0 || hours > 23 || minutes > 59) return std::nullopt;
    const Duration shift = chrono::hours(hours) + chrono::minutes(minutes);
    time = text[at] == '+' ? time - shift : time + shift;
  }
  return time;
}

}  // namespace

Time time_of(const Json* value, Time other) {
  if (value == nullptr) return other;
  constexpr double kMostSeconds = 253'402'300'799.0;  // the year 9999
  if (const double* seconds = std::get_if<double>(&value->variant())) {
    if (*seconds < 0 || *seconds > kMostSeconds) return other;
    return Time(Duration(static_cast<std::int64_t>(*seconds * 1e6)));
  }
  if (const std::int64_t* seconds = value->as_int()) {
    if (*seconds < 0 || static_cast<double>(*seconds) > kMostSeconds) return other;
    return Time(std::chrono::seconds(*seconds));
  }
  if (const std::string* text = value->as_string()) return parse_iso(*text).value_or(other);
  return other;
}

std::string id_from(std::string_view text) {
  std::string id;
  for (const char c : text.substr(0, kMaxIdBytes)) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '~' || c == '-';
    id += fine ? c : '-';
  }
  if (id.starts_with('.')) id[0] = '-';
  return id;
}

}  // namespace tertulia
