#include "workflow_agents.h"

#include <utility>

namespace tertulia {
namespace {

// How deep files may name others.
constexpr int kMaxDepth = 8;

// Where the text of a file and its agents come from.
struct FileSources {
  std::function<Result<std::string>(const Path&)> text;
  std::function<Result<AgentDefinitionPtr>(const Path&, const DeclaredAgent&)> agent;
  std::function<Result<AgentDefinitionPtr>(const std::string& id)> known;
};

Result<Workflow> make_workflow(const Path& file, const FileSources& sources, int depth) {
  if (depth > kMaxDepth) {
    return Error(ErrorCode::kBadConfig, "'" + file.string() + "': workflows name one another " +
                                            std::to_string(kMaxDepth) + " deep; perhaps in a circle");
  }
  TERTULIA_TRY_AS(const std::string text, sources.text(file));
  WorkflowParts parts;
  parts.agents = [&](const DeclaredAgent& declared) { return sources.agent(file, declared); };
  parts.known = sources.known;
  // Beside the file that names it.
  parts.workflows = [&](const std::string& other) {
    return make_workflow(file.parent_path() / other, sources, depth + 1);
  };
  return read_workflow(text, file.string(), parts);
}

}  // namespace

Result<WorkflowFile> WorkflowFile::read(const WorkflowSource& source, const WorkflowAgents& agents,
                                        Env& env) {
  WorkflowFile read;
  read.file_ = source.file;
  FileSources sources;
  sources.text = [&](const Path& file) -> Result<std::string> {
    TERTULIA_TRY_AS(std::string text, read_file(env.files(), file, 1U << 20U));
    read.texts_.insert_or_assign(file, text);
    return text;
  };
  sources.agent = [&](const Path& file, const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    TERTULIA_TRY_AS(AgentDefinitionPtr agent,
                    agents.declared({.file = file, .model = source.model}, declared));
    read.agents_.insert_or_assign(std::pair(file, declared.id), agent);
    return agent;
  };
  sources.known = [&](const std::string& id) -> Result<AgentDefinitionPtr> {
    TERTULIA_TRY_AS(AgentDefinitionPtr agent, agents.known(id));
    read.known_.insert_or_assign(id, agent);
    return agent;
  };
  TERTULIA_TRY_AS(read.workflow_, make_workflow(source.file, sources, 0));
  return read;
}

Result<Workflow> WorkflowFile::make(const ChangeAgent& change) const {
  FileSources sources;
  sources.text = [&](const Path& file) -> Result<std::string> { return texts_.at(file); };
  sources.agent = [&](const Path& file, const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    return change(agents_.at(std::pair(file, declared.id)));
  };
  sources.known = [&](const std::string& id) -> Result<AgentDefinitionPtr> {
    const auto found = known_.find(id);
    if (found == known_.end()) return Error(ErrorCode::kNotFound, "there is no agent '" + id + "'");
    return change(found->second);
  };
  return make_workflow(file_, sources, 0);
}

}  // namespace tertulia
