#include "tertulia/workflow/drawing.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tertulia {
namespace {

struct Line {
  std::string from;
  std::string to;
  std::string label;
  // It depends on something whether it is taken.
  bool conditional = false;

  auto operator<=>(const Line&) const = default;
};

struct Box {
  std::string id;
  std::string label;
  bool start = false;
  // Stands for a fan-in, not for a node.
  bool join = false;
  const NodeMark* mark = nullptr;
  // The node whose workflow it is in; empty: none.
  std::string group{};
  // It runs a workflow, which stands in its own group with it.
  bool leads = false;
};

struct Picture {
  std::vector<Box> boxes;
  std::vector<Line> lines;
};

std::string mark_text(const NodeMark& mark) {
  std::string text = std::string(name_of(mark.state));
  if (mark.calls > 1) text += " ×" + std::to_string(mark.calls);
  if (mark.time.count() > 0) text += " " + std::to_string(mark.time.count() / 1'000) + " ms";
  return text;
}

// All lines of the graph, with a box for each fan-in between its sources and its target.
void add_lines(const Workflow::Graph& graph, Picture& picture) {
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge& edge = graph.edges[i];
    switch (edge.kind) {
      case Edge::Kind::kSingle:
        picture.lines.push_back({edge.sources[0], edge.targets[0], edge.label, edge.condition != nullptr});
        break;
      case Edge::Kind::kFanOut:
        for (const std::string& target : edge.targets)
          picture.lines.push_back({edge.sources[0], target, {}, edge.selection != nullptr});
        break;
      case Edge::Kind::kSwitch:
        for (const EdgeCase& one : edge.cases)
          picture.lines.push_back({edge.sources[0], one.target, one.label, true});
        picture.lines.push_back({edge.sources[0], edge.targets.back(), "else", true});
        break;
      case Edge::Kind::kFanIn: {
        const std::string join = "join~" + std::to_string(i);
        picture.boxes.push_back({.id = join, .label = "all", .join = true});
        for (const std::string& source : edge.sources) picture.lines.push_back({source, join, {}, false});
        picture.lines.push_back({join, edge.targets[0], {}, false});
        break;
      }
    }
  }
}

// Takes a box out, and leads its lines through.
void bypass(const std::string& id, Picture& picture) {
  std::vector<Line> in;
  std::vector<Line> out;
  std::vector<Line> kept;
  for (Line& line : picture.lines) {
    if (line.to == id) in.push_back(line);
    if (line.from == id) out.push_back(line);
    if (line.to != id && line.from != id) kept.push_back(std::move(line));
  }
  for (const Line& before : in) {
    for (const Line& after : out) {
      kept.push_back({before.from, after.to, before.label.empty() ? after.label : before.label,
                      before.conditional || after.conditional});
    }
  }
  picture.lines = std::move(kept);
  std::erase_if(picture.boxes, [&](const Box& box) { return box.id == id; });
}

// Without what is inside of its nodes.
Picture flat_picture(const Workflow::Graph& graph, const DrawingOptions& options) {
  Picture picture;
  for (const Node& node : graph.nodes) {
    const auto mark = options.marks.find(node.id);
    picture.boxes.push_back({.id = node.id,
                             .label = node.id,
                             .start = node.id == graph.start,
                             .mark = mark == options.marks.end() ? nullptr : &mark->second});
  }
  add_lines(graph, picture);
  if (!options.show_internal) {
    for (const Node& node : graph.nodes) {
      if (!node.internal) continue;
      if (node.id == graph.start) {
        for (const Line& line : picture.lines) {
          for (Box& box : picture.boxes) box.start = box.start || (line.from == node.id && line.to == box.id);
        }
      }
      bypass(node.id, picture);
    }
    // A fan-in that led to plumbing only.
    std::vector<std::string> ends;
    for (const Box& box : picture.boxes) {
      const bool leads_on = std::any_of(picture.lines.begin(), picture.lines.end(),
                                        [&](const Line& line) { return line.from == box.id; });
      if (box.join && !leads_on) ends.push_back(box.id);
    }
    for (const std::string& id : ends) bypass(id, picture);
  }
  std::vector<Line> unique;
  for (Line& line : picture.lines) {
    if (std::find(unique.begin(), unique.end(), line) == unique.end()) unique.push_back(std::move(line));
  }
  picture.lines = std::move(unique);
  return picture;
}

// With the workflows inside of it, whose boxes are named after the node that runs them.
Picture picture_of(const Workflow& workflow, const DrawingOptions& options) {
  const Workflow::Graph& graph = workflow.graph();
  Picture picture = flat_picture(graph, options);
  for (const Node& node : graph.nodes) {
    if (!node.inner) continue;
    Picture inside = picture_of(*node.inner, {.show_internal = options.show_internal, .marks = {}});
    const std::string prefix = node.id + "/";
    for (Line& line : inside.lines)
      picture.lines.push_back({prefix + line.from, prefix + line.to, line.label, line.conditional});
    for (Box& box : picture.boxes) {
      if (box.id == node.id) box.leads = true;
    }
    for (Box& box : inside.boxes) {
      if (box.start) picture.lines.push_back({node.id, prefix + box.id, {}, true});
      box.id = prefix + box.id;
      box.group = box.group.empty() ? node.id : prefix + box.group;
      box.start = false;
      picture.boxes.push_back(std::move(box));
    }
  }
  return picture;
}

std::string label_of(const Box& box) {
  std::string text = box.label;
  if (box.start) text += " (start)";
  return text;
}

std::size_t place_of(const Picture& picture, const std::string& id) {
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    if (picture.boxes[i].id == id) return i;
  }
  return 0;
}

// For inside of double quotes in Mermaid: entities, because it has no escapes.
std::string for_mermaid(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "#quot;";
        break;
      case '|':
        out += "#124;";
        break;
      case '#':
        out += "#35;";
        break;
      case '<':
        out += "#lt;";
        break;
      case '>':
        out += "#gt;";
        break;
      case '\n':
        out += "<br/>";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string for_dot(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string for_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += ' ';
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view colour_of(const Box& box) {
  if (box.mark == nullptr) return box.start ? "#d8f0d8" : "#ffffff";
  switch (box.mark->state) {
    case NodeMark::State::kRunning:
      return "#fff3c4";
    case NodeMark::State::kCompleted:
      return "#d8f0d8";
    case NodeMark::State::kFailed:
      return "#f8d0d0";
    case NodeMark::State::kBypassed:
      return "#e4e4e4";
    case NodeMark::State::kWaiting:
      return "#d8e4f8";
  }
  return "#ffffff";
}

// The boxes of a group, and the groups in it, each between its leader and null.
void draw_groups(const Picture& picture, const std::string& group,
                 const std::function<void(const Box&)>& draw, const std::function<void(const Box*)>& bound) {
  for (const Box& box : picture.boxes) {
    if (box.group != group) continue;
    if (!box.leads) {
      draw(box);
      continue;
    }
    bound(&box);
    draw(box);
    draw_groups(picture, box.id, draw, bound);
    bound(nullptr);
  }
}

// Which row each box stands in: behind everything that leads to it, as far as there are no loops.
std::vector<std::size_t> rows_of(const Picture& picture) {
  const std::size_t count = picture.boxes.size();
  std::vector<std::size_t> row(count, count);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < count; ++i) {
    if (picture.boxes[i].start) row[i] = 0, open.push_back(i);
  }
  for (std::size_t next = 0; next < open.size(); ++next) {
    for (const Line& line : picture.lines) {
      if (place_of(picture, line.from) != open[next]) continue;
      const std::size_t to = place_of(picture, line.to);
      if (row[to] != count) continue;
      row[to] = row[open[next]] + 1;
      open.push_back(to);
    }
  }
  for (std::size_t& one : row) {
    if (one == count) one = 0;
  }
  return row;
}

}  // namespace

std::map<std::string, NodeMark> marks_of(const std::vector<Event>& events) {
  std::map<std::string, NodeMark> marks;
  std::map<std::string, Time> since;
  for (const Event& event : events) {
    const auto end = [&](NodeMark::State state) {
      NodeMark& mark = marks[event.name];
      mark.state = state;
      if (const auto begun = since.find(event.name); begun != since.end()) {
        mark.time += event.time - begun->second;
        since.erase(begun);
      }
    };
    switch (event.kind) {
      case EventKind::kExecutorInvoked:
        marks[event.name].state = NodeMark::State::kRunning;
        ++marks[event.name].calls;
        since[event.name] = event.time;
        break;
      case EventKind::kExecutorCompleted:
        end(NodeMark::State::kCompleted);
        break;
      case EventKind::kExecutorFailed:
        end(NodeMark::State::kFailed);
        break;
      case EventKind::kExecutorBypassed:
        end(NodeMark::State::kBypassed);
        break;
      case EventKind::kRequestInfo:
        end(NodeMark::State::kWaiting);
        break;
      default:
        break;
    }
  }
  return marks;
}

std::string to_mermaid(const Workflow& workflow, const DrawingOptions& options) {
  const Picture picture = picture_of(workflow, options);
  std::string out = "flowchart TD\n";
  const auto name = [&](const std::string& id) { return "n" + std::to_string(place_of(picture, id)); };
  const auto draw = [&](const Box& box) {
    std::string label = label_of(box);
    if (box.mark != nullptr) label += "\n" + mark_text(*box.mark);
    const std::string text = "\"" + for_mermaid(label) + "\"";
    out += "  " + name(box.id) + (box.join ? "((" + text + "))" : "[" + text + "]") + ";\n";
    if (colour_of(box) != "#ffffff")
      out += "  style " + name(box.id) + " fill:" + std::string(colour_of(box)) + ";\n";
  };
  draw_groups(picture, {}, draw, [&](const Box* leader) {
    out += leader == nullptr ? "  end\n"
                             : "  subgraph g" + std::to_string(place_of(picture, leader->id)) + "[\"" +
                                   for_mermaid(leader->label) + "\"]\n";
  });
  for (const Line& line : picture.lines) {
    out += "  " + name(line.from) + (line.conditional ? " -.->" : " -->");
    if (!line.label.empty()) out += "|\"" + for_mermaid(line.label) + "\"|";
    out += " " + name(line.to) + ";\n";
  }
  return out;
}

std::string to_dot(const Workflow& workflow, const DrawingOptions& options) {
  const Picture picture = picture_of(workflow, options);
  std::string out =
      "digraph \"" + for_dot(workflow.name()) + "\" {\n  node [shape=box, style=filled, fillcolor=white];\n";
  const auto quoted = [](const std::string& id) { return "\"" + for_dot(id) + "\""; };
  const auto draw = [&](const Box& box) {
    std::string label = label_of(box);
    if (box.mark != nullptr) label += "\n" + mark_text(*box.mark);
    out += "  " + quoted(box.id) + " [label=\"" + for_dot(label) + "\"";
    if (box.join) out += ", shape=ellipse";
    if (colour_of(box) != "#ffffff") out += ", fillcolor=\"" + std::string(colour_of(box)) + "\"";
    out += "];\n";
  };
  draw_groups(picture, {}, draw, [&](const Box* leader) {
    out += leader == nullptr ? "  }\n"
                             : "  subgraph " + quoted("cluster_" + leader->id) +
                                   " {\n  label=" + quoted(leader->label) + ";\n";
  });
  for (const Line& line : picture.lines) {
    out += "  " + quoted(line.from) + " -> " + quoted(line.to);
    std::string more = line.conditional ? "style=dashed" : "";
    if (!line.label.empty()) more += (more.empty() ? "" : ", ") + ("label=\"" + for_dot(line.label)) + "\"";
    out += (more.empty() ? "" : " [" + more + "]") + ";\n";
  }
  return out + "}\n";
}

std::string to_svg(const Workflow& workflow, const DrawingOptions& options) {
  constexpr std::size_t kWidth = 180;
  constexpr std::size_t kHeight = 44;
  constexpr std::size_t kGap = 40;
  const Picture picture = picture_of(workflow, options);
  const std::vector<std::size_t> rows = rows_of(picture);
  std::map<std::size_t, std::size_t> used;
  std::vector<std::pair<std::size_t, std::size_t>> corner;
  std::size_t columns = 1;
  std::size_t last = 0;
  for (const std::size_t row : rows) {
    corner.emplace_back(kGap + used[row]++ * (kWidth + kGap), kGap + row * (kHeight + kGap));
    columns = std::max(columns, used[row]);
    last = std::max(last, row);
  }
  const std::size_t width = kGap + columns * (kWidth + kGap);
  const std::size_t height = kGap + (last + 1) * (kHeight + kGap);
  const auto number = [](std::size_t value) { return std::to_string(value); };
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
      "\" font-family=\"sans-serif\" font-size=\"13\">\n<title>" + for_xml(workflow.name()) +
      "</title>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
      "markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";
  for (const Line& line : picture.lines) {
    const auto [fx, fy] = corner[place_of(picture, line.from)];
    const auto [tx, ty] = corner[place_of(picture, line.to)];
    // Lines that lead back go round on the right.
    const bool down = ty > fy;
    const std::size_t x1 = down ? fx + kWidth / 2 : fx + kWidth;
    const std::size_t y1 = down ? fy + kHeight : fy + kHeight / 2;
    const std::size_t x2 = down ? tx + kWidth / 2 : tx + kWidth;
    const std::size_t y2 = down ? ty : ty + kHeight / 2;
    const std::size_t bend = down ? (x1 + x2) / 2 : std::max(x1, x2) + kGap / 2;
    out += "<path d=\"M" + number(x1) + " " + number(y1) + "Q" + number(bend) + " " + number((y1 + y2) / 2) +
           " " + number(x2) + " " + number(y2) + "\" fill=\"none\" stroke=\"#444\"" +
           (line.conditional ? " stroke-dasharray=\"5 3\"" : "") + " marker-end=\"url(#a)\"/>\n";
    if (!line.label.empty()) {
      out += "<text x=\"" + number(bend + 4) + "\" y=\"" + number((y1 + y2) / 2) + "\" fill=\"#666\">" +
             for_xml(line.label) + "</text>\n";
    }
  }
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    const Box& box = picture.boxes[i];
    const auto [x, y] = corner[i];
    out += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(kWidth) +
           "\" height=\"" + number(kHeight) + "\" rx=\"" + (box.join ? "22" : "6") + "\" fill=\"" +
           std::string(colour_of(box)) + "\" stroke=\"#444\"/>\n<text x=\"" + number(x + kWidth / 2) +
           "\" y=\"" + number(y + (box.mark == nullptr ? 26 : 19)) + "\" text-anchor=\"middle\">" +
           for_xml(label_of(box)) + "</text>\n";
    if (box.mark != nullptr) {
      out += "<text x=\"" + number(x + kWidth / 2) + "\" y=\"" + number(y + 36) +
             "\" text-anchor=\"middle\" font-size=\"11\" fill=\"#555\">" + for_xml(mark_text(*box.mark)) +
             "</text>\n";
    }
  }
  return out + "</svg>\n";
}

}  // namespace tertulia
