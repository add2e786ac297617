// The Router: finds the route of a path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/route.h"

namespace tertulia::server {

// The parameters of a path by their names, decoded.
using PathParameters = std::vector<std::pair<std::string_view, std::string>>;

struct Match {
  // Null: nothing stands there for this method.
  const Route* route = nullptr;
  // The form of errors for this path.
  const RouteGroup* group = nullptr;
  PathParameters parameters;
  // Of a path that has no route for this method: "GET, POST", those it has one for. Empty: there is no such
  // path.
  std::string allowed;
  // A segment was not well-formed.
  bool bad_path = false;
};

// Concurrency: any thread, once every group has been added.
class Router {
 public:
  Router();
  ~Router();

  // Refers to the group's routes, which must live as long. A route that is there already is a mistake of the
  // program.
  void add(RouteGroup group);

  // Answers for every path that is below no API and has no route of its own.
  void set_fallback(const Route& route) { fallback_ = &route; }

  Match find(Method method, std::string_view path) const;
  const std::vector<std::unique_ptr<RouteGroup>>& groups() const { return groups_; }

 private:
  struct Node;
  const RouteGroup* group_of(std::string_view path) const;
  // Null if nothing stands there.
  const Node* node_at(std::string_view path) const;

  std::unique_ptr<Node> root_;
  std::vector<std::unique_ptr<RouteGroup>> groups_;
  const Route* fallback_ = nullptr;
};

}  // namespace tertulia::server
