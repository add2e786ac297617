#include "branch_tree.h"

#include <algorithm>

#include "words.h"

namespace tertulia::cli {
namespace {

class TreeDrawing {
 public:
  TreeDrawing(const std::vector<BranchHead>& branches, const std::map<BranchId, std::string>& previews,
              Time now, std::size_t width, const Output& out, std::string_view here)
      : previews_(previews), now_(now), width_(width), out_(out), here_(here) {
    for (const BranchHead& head : branches) {
      if (head.forked_from) children_[head.forked_from->parent].push_back(&head);
      if (!head.forked_from) roots_.push_back(&head);
    }
    for (auto& [parent, children] : children_) {
      std::sort(children.begin(), children.end(), [](const BranchHead* a, const BranchHead* b) {
        return std::pair(a->forked_from->at_index, a) < std::pair(b->forked_from->at_index, b);
      });
    }
  }

  std::vector<std::string> lines() {
    for (const BranchHead* root : roots_) draw(*root, "", "");
    return std::move(lines_);
  }

 private:
  // `first` stands before the branch's own line, `rest` before those of its forks.
  void draw(const BranchHead& head, const std::string& first, const std::string& rest) {
    const auto found = children_.find(head.id);
    const bool forked = found != children_.end();
    const std::string joint = forked ? " ─┬─ " : " ─── ";
    const std::size_t used = display_width(first + head.id.text() + joint);
    std::string facts = facts_of(head);
    const Style style = head.id.text() == here_ ? Style::kAccent : Style::kBold;
    lines_.push_back(first + out_.styled(style, head.id.text()) + joint +
                     fit(facts, used < width_ ? std::max<std::size_t>(10, width_ - used) : 10));
    if (!forked) return;
    // A chain of forks longer than the screen is wide goes straight down.
    const bool deep = display_width(rest) > width_;
    const std::string indent = deep ? rest : rest + std::string(head.id.text().size() + 2, ' ');
    const auto& children = found->second;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      draw(*children[i], indent + (last ? "└─ " : "├─ "), deep ? indent : indent + (last ? "   " : "│  "));
    }
  }

  std::string facts_of(const BranchHead& head) const {
    std::string facts = head.id.text() == here_ ? "you are here · " : "";
    if (head.forked_from) facts += "after message " + std::to_string(head.forked_from->at_index) + " · ";
    facts += counted(head.message_count, "message") + " · " + ago(head.last_activity, now_);
    if (!head.label.empty()) facts += " · " + one_line(head.label);
    if (const auto found = previews_.find(head.id); found != previews_.end())
      facts += " · “" + found->second + "”";
    return facts;
  }

  const std::map<BranchId, std::string>& previews_;
  const Time now_;
  const std::size_t width_;
  const Output& out_;
  const std::string_view here_;
  std::vector<const BranchHead*> roots_;
  std::map<BranchId, std::vector<const BranchHead*>> children_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> draw_tree(const std::vector<BranchHead>& branches,
                                   const std::map<BranchId, std::string>& previews, Time now,
                                   std::size_t width, const Output& out, std::string_view here) {
  return TreeDrawing(branches, previews, now, width, out, here).lines();
}

JsonObject branch_json(const BranchHead& head) {
  JsonObject json{{"branch", head.id.text()},
                  {"messages", head.message_count},
                  {"created_at", iso_time(head.created_at)},
                  {"last_activity", iso_time(head.last_activity)},
                  {"label", head.label},
                  {"description", head.description}};
  if (head.forked_from) {
    json.set("forked_from", JsonObject{{"branch", head.forked_from->parent.text()},
                                       {"at_index", std::uint64_t{head.forked_from->at_index}}});
  }
  JsonArray tags;
  for (const std::string& tag : head.tags) tags.emplace_back(tag);
  json.set("tags", std::move(tags));
  return json;
}

}  // namespace tertulia::cli
