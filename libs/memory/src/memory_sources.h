// The sources that every memory has.
#pragma once

#include <string>
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

class EpisodeSource final : public ContextSource {
 public:
  EpisodeSource(EpisodicMemory& episodes, Env& env) : episodes_(episodes), env_(env) {}
  std::string_view name() const override { return "episodes"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override;
  void drop_owner(const TenantId& tenant, const OwnerId& owner) override {
    episodes_.drop_owner(tenant, owner);
  }

 private:
  EpisodicMemory& episodes_;
  Env& env_;
};

// As 2026-11-16.
std::string day_of(Time time);

}  // namespace tertulia
