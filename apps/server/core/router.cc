#include "core/router.h"

#include <algorithm>
#include <map>

#include "tertulia/base/check.h"

namespace tertulia::server {

// A place in the tree of paths. A literal segment comes before a parameter.
struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literal;
  std::unique_ptr<Node> parameter;
  std::vector<const Route*> routes;
};

namespace {

// Takes the next segment off a path that begins with '/'.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

// The names of a pattern's parameters with the values that a path has for them.
bool read_parameters(std::string_view pattern, std::string_view path, PathParameters& parameters) {
  while (!pattern.empty()) {
    const std::string_view name = take_segment(pattern);
    const std::string_view segment = take_segment(path);
    if (!is_parameter(name)) continue;
    std::optional<std::string> value = percent_decoded(segment);
    if (!value) return false;
    parameters.emplace_back(name.substr(1, name.size() - 2), *std::move(value));
  }
  return true;
}

// HEAD is answered by what answers GET.
bool answers(const Route& route, Method method) {
  return route.method == method || (route.method == Method::kGet && method == Method::kHead);
}

std::string methods_of(const std::vector<const Route*>& routes) {
  std::string methods;
  for (const Route* route : routes)
    methods.append(methods.empty() ? "" : ", ").append(name_of(route->method));
  return methods;
}

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

void Router::add(RouteGroup group) {
  groups_.push_back(std::make_unique<RouteGroup>(group));
  for (const Route& route : group.routes) {
    Node* node = root_.get();
    std::string_view left = route.pattern;
    while (!left.empty()) {
      const std::string_view segment = take_segment(left);
      std::unique_ptr<Node>& child =
          is_parameter(segment) ? node->parameter : node->literal[std::string(segment)];
      if (!child) child = std::make_unique<Node>();
      node = child.get();
    }
    for (const Route* other : node->routes) {
      TERTULIA_CHECK(other->method != route.method, "two routes for one method and path");
    }
    const int answering = (route.here != nullptr) + (route.pool != nullptr) + (route.later != nullptr);
    TERTULIA_CHECK(answering == 1, "a route has exactly one function that answers");
    node->routes.push_back(&route);
  }
}

const RouteGroup* Router::group_of(std::string_view path) const {
  for (const auto& group : groups_) {
    if (path.starts_with(group->prefix)) return group.get();
  }
  return nullptr;
}

const Router::Node* Router::node_at(std::string_view path) const {
  const Node* node = root_.get();
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    if (const auto found = node->literal.find(segment); found != node->literal.end()) {
      node = found->second.get();
    } else if (node->parameter && !segment.empty()) {
      node = node->parameter.get();
    } else {
      return nullptr;
    }
  }
  return node;
}

Match Router::find(Method method, std::string_view path) const {
  Match match;
  match.group = group_of(path);
  if (!path.starts_with('/')) return match;
  const Node* node = node_at(path);
  const bool known = node != nullptr && !node->routes.empty();
  if (known) {
    for (const Route* route : node->routes) {
      if (answers(*route, method)) match.route = route;
    }
    if (match.route == nullptr) match.allowed = methods_of(node->routes);
  }
  const bool below_an_api = match.group != nullptr && match.group->prefix != "/";
  if (!known && fallback_ != nullptr && answers(*fallback_, method) && !below_an_api) {
    match.route = fallback_;
    return match;
  }
  if (match.route != nullptr) {
    match.bad_path = !read_parameters(match.route->pattern, path, match.parameters);
  }
  return match;
}

}  // namespace tertulia::server
