// The three sources that every memory has.
#pragma once

#include <string_view>
#include <vector>

#include "tertulia/memory/context_source.h"
#include "tertulia/memory/memory.h"

namespace tertulia {

class ProcedureSource final : public ContextSource {
 public:
  explicit ProcedureSource(ProceduralMemory& procedures) : procedures_(procedures) {}
  std::string_view name() const override { return "procedures"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override;

 private:
  ProceduralMemory& procedures_;
};

class KnowledgeSource final : public ContextSource {
 public:
  explicit KnowledgeSource(const Memory& memory) : memory_(memory) {}
  std::string_view name() const override { return "knowledge"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override;

 private:
  const Memory& memory_;
};

class EpisodeSource final : public ContextSource {
 public:
  EpisodeSource(EpisodicMemory& episodes, Env& env) : episodes_(episodes), env_(env) {}
  std::string_view name() const override { return "episodes"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override;

 private:
  EpisodicMemory& episodes_;
  Env& env_;
};

}  // namespace tertulia
