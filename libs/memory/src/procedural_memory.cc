#include "tertulia/memory/procedural_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include <re2/re2.h>

#include "tertulia/base/json.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/uuid.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxTextBytes = 16'384;
constexpr std::int64_t kMaxPatternMemory = 1 << 20;
// Of a message, what patterns look at.
constexpr std::size_t kMaxLookedAt = 16'384;

constexpr std::string_view kOwner = "~shared";
constexpr std::string_view kRecordName = "procedure";

Result<SessionKey> home_of(const TenantId& tenant, const AgentId& agent) {
  TERTULIA_TRY_AS(const OwnerId owner, OwnerId::parse(kOwner));
  const std::string name = agent.empty() ? "~procedures" : "~procedures." + agent.text();
  TERTULIA_TRY_AS(const SessionId session, SessionId::parse(name));
  return SessionKey{tenant, owner, session};
}

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternMemory);
  return options;
}

Error bad(std::string_view param, const std::string& sentence) {
  return Error(ErrorCode::kBadConfig, sentence).with("param", std::string(param));
}

Result<void> check(const Procedure& procedure) {
  TERTULIA_TRY(check_id(procedure.name, "procedure"));
  if (procedure.steps.empty() || procedure.steps.size() > kMaxSteps) {
    return bad("steps", "procedure '" + procedure.name + "' has " + std::to_string(procedure.steps.size()) +
                            " steps; it must have 1 to " + std::to_string(kMaxSteps));
  }
  if (text_of(procedure).size() > kMaxTextBytes) {
    return Error(ErrorCode::kTooLarge, "procedure '" + procedure.name + "' is longer than " +
                                           std::to_string(kMaxTextBytes) + " bytes")
        .with("limit", static_cast<std::int64_t>(kMaxTextBytes));
  }
  if (procedure.trigger.empty()) return {};
  const RE2 pattern(procedure.trigger, pattern_options());
  if (pattern.ok()) return {};
  return bad("trigger",
             "the trigger of procedure '" + procedure.name + "' is no pattern: " + pattern.error());
}

std::string to_payload(const Procedure& procedure) {
  JsonArray steps;
  for (const ProcedureStep& step : procedure.steps) {
    steps.push_back(JsonObject{{"instruction", step.instruction}, {"tool", step.tool}});
  }
  return to_text(JsonObject{{"name", procedure.name},
                            {"description", procedure.description},
                            {"trigger", procedure.trigger},
                            {"steps", std::move(steps)},
                            {"approved", procedure.approved},
                            {"learned", procedure.learned},
                            {"writer", procedure.writer}});
}

Result<Procedure> from_record(const Record& record) {
  TERTULIA_TRY_AS(const Json form, parse_json(record.payload));
  JsonReader reader(form, "procedure");
  Procedure procedure{.name = reader.required_string("name"),
                      .description = reader.required_string("description"),
                      .trigger = reader.string_or("trigger", {})};
  for (const Json& one : reader.array_or_empty("steps")) {
    JsonReader step(one, "step");
    procedure.steps.push_back({step.required_string("instruction"), step.string_or("tool", {})});
    TERTULIA_TRY(step.finish());
  }
  procedure.approved = reader.bool_or("approved", false);
  procedure.learned = reader.bool_or("learned", false);
  procedure.writer = reader.string_or("writer", {});
  procedure.changed_at = record.time;
  TERTULIA_TRY(reader.finish());
  return procedure;
}

double cosine(const Vector& one, const Vector& other) {
  if (one.size() != other.size()) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    sum += static_cast<double>(one[i]) * static_cast<double>(other[i]);
  return sum;
}

// A procedure, ready to be compared.
struct Ready {
  Procedure procedure;
  std::unique_ptr<RE2> pattern;
  Vector vector;
};

struct Stored {
  Procedure procedure;
  StreamId stream;
};

// How long an embedder that has failed is left alone.
constexpr Duration kEmbedAgain = std::chrono::minutes(1);

}  // namespace

std::string text_of(const Procedure& procedure) {
  std::string text = "How to: " + procedure.name;
  if (!procedure.description.empty()) text += " (" + procedure.description + ")";
  std::size_t number = 0;
  for (const ProcedureStep& step : procedure.steps) {
    text += "\n" + std::to_string(++number) + ". " + step.instruction;
    if (!step.tool.empty()) text += " [tool: " + step.tool + "]";
  }
  return text;
}

struct ProceduralMemory::Impl {
  using Set = std::shared_ptr<const std::vector<Ready>>;
  struct Known {
    // The session's revision that it was read at.
    Revision revision{};
    Set set;
    // Its embedder has failed: from then on it is asked again.
    std::optional<Time> again_at{};
  };

  Impl(Store& durable, Env& environment, std::shared_ptr<Embedder> vectors)
      : store(durable), env(environment), embedder(std::move(vectors)), uuids(env.clock(), env.random()) {}

  Store& store;
  Env& env;
  std::shared_ptr<Embedder> embedder;
  UuidMaker uuids;
  Mutex mutex;
  std::map<SessionKey, Known> known TERTULIA_GUARDED_BY(mutex);

  Result<std::vector<Stored>> read(const SessionKey& home) const {
    std::vector<Stored> procedures;
    RecordQuery query{.tenant = home.tenant,
                      .owner = home.owner,
                      .session = home.session,
                      .kind = RecordKind::kMemory,
                      .name = std::string(kRecordName),
                      .limit = 1'000};
    do {
      Result<RecordPage> page = read_records(store, query);
      if (!page && page.error().code() == ErrorCode::kNoSession) return procedures;
      if (!page) return page.error();
      for (const StoredRecord& stored : page->records) {
        TERTULIA_TRY_AS(Procedure procedure, from_record(stored.record));
        procedures.push_back({std::move(procedure), stored.record.stream});
      }
      query.cursor = page->next;
    } while (!query.cursor.empty());
    return procedures;
  }

  Result<std::optional<Stored>> find(const SessionKey& home, std::string_view name) const {
    TERTULIA_TRY_AS(const std::vector<Stored> procedures, read(home));
    for (const Stored& stored : procedures) {
      if (stored.procedure.name == name) return std::optional<Stored>(stored);
    }
    return std::optional<Stored>();
  }

  // Each change is a commit, so the session's revision tells whether what is known is still true.
  Result<void> write(const SessionKey& home, const std::string& name, const Procedure* procedure) {
    for (int tries = 0; tries < 10; ++tries) {
      Result<SessionState> state = load(store, home);
      if (!state && state.error().code() != ErrorCode::kNoSession) return state.error();
      const Time now = env.clock().now();
      Commit change{.key = home, .expected = std::nullopt, .conditions = {}, .changes = {}, .time = now};
      Session session;
      session.created_at = now;
      if (state) {
        change.expected = state->session.revision;
        session = state->session;
      }
      change.changes.emplace_back(PutSession{std::move(session)});
      TERTULIA_TRY_AS(const std::optional<Stored> old, find(home, name));
      if (old) change.changes.emplace_back(DropRecords{.stream = old->stream});
      if (procedure != nullptr) {
        // A stream never uses a number twice, so each version gets one of its own.
        change.changes.emplace_back(
            AddRecord{{.stream = {.kind = RecordKind::kMemory, .branch = {}, .scope = uuids.make().text()},
                       .number = 1,
                       .time = now,
                       .key = name,
                       .name = std::string(kRecordName),
                       .payload = to_payload(*procedure)}});
      }
      const Result<Revision> done = commit(store, std::move(change));
      if (done) return {};
      const bool again = done.error().code() == ErrorCode::kRevisionConflict ||
                         done.error().code() == ErrorCode::kSessionExists;
      if (!again) return done.error();
    }
    return Error(ErrorCode::kRevisionConflict, "procedure '" + name + "' is being changed by others");
  }

  Result<Set> ready(const SessionKey& home) {
    Result<SessionState> state = load(store, home);
    if (!state && state.error().code() == ErrorCode::kNoSession) return Set();
    if (!state) return state.error();
    {
      MutexLock lock(mutex);
      const auto found = known.find(home);
      const bool there = found != known.end() && found->second.revision == state->session.revision;
      if (there && (!found->second.again_at || env.clock().now() < *found->second.again_at))
        return found->second.set;
    }
    TERTULIA_TRY_AS(std::vector<Stored> procedures, read(home));
    auto set = std::make_shared<std::vector<Ready>>();
    std::optional<Time> again_at;
    for (Stored& stored : procedures) {
      if (!stored.procedure.approved) continue;
      Ready one{.procedure = std::move(stored.procedure), .pattern = nullptr, .vector = {}};
      if (!one.procedure.trigger.empty()) {
        one.pattern = std::make_unique<RE2>(one.procedure.trigger, pattern_options());
      }
      if (embedder && !again_at && !one.procedure.description.empty()) {
        Result<std::vector<Vector>> vectors =
            embed(*embedder, std::vector<std::string>{one.procedure.description});
        if (vectors) {
          one.vector = std::move(vectors->front());
        } else {
          // Their triggers still find them.
          again_at = env.clock().now() + kEmbedAgain;
          Log().component("memory").warn(
              "procedures are found by their triggers only: the embedder has failed",
              {{"reason", vectors.error().message()}});
        }
      }
      set->push_back(std::move(one));
    }
    MutexLock lock(mutex);
    known[home] = {state->session.revision, set, again_at};
    return Set(set);
  }
};

ProceduralMemory::ProceduralMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder)
    : impl_(std::make_unique<Impl>(store, env, std::move(embedder))) {}
ProceduralMemory::~ProceduralMemory() = default;

Result<void> ProceduralMemory::put(const TenantId& tenant, const AgentId& agent, Procedure procedure,
                                   const MemoryWriter& writer) {
  TERTULIA_TRY(check(procedure));
  TERTULIA_TRY_AS(const SessionKey home, home_of(tenant, agent));
  if (!check_writer(writer)) {
    procedure.learned = true;
    procedure.approved = false;
    TERTULIA_TRY_AS(const std::optional<Stored> known, impl_->find(home, procedure.name));
    if (known && !known->procedure.learned) {
      return Error(
          ErrorCode::kNotPermitted,
          "procedure '" + procedure.name + "' was written by a person; what is learned cannot replace it");
    }
  }
  procedure.writer = std::string(name_of(writer.kind)) + ":" + writer.name;
  return impl_->write(home, procedure.name, &procedure);
}

Result<void> ProceduralMemory::approve(const TenantId& tenant, const AgentId& agent, std::string_view name,
                                       const MemoryWriter& writer) {
  TERTULIA_TRY(check_writer(writer));
  TERTULIA_TRY_AS(const SessionKey home, home_of(tenant, agent));
  TERTULIA_TRY_AS(std::optional<Stored> known, impl_->find(home, name));
  if (!known) return Error(ErrorCode::kNotFound, "there is no procedure '" + std::string(name) + "'");
  known->procedure.approved = true;
  return impl_->write(home, known->procedure.name, &known->procedure);
}

Result<void> ProceduralMemory::forget(const TenantId& tenant, const AgentId& agent, std::string_view name) {
  TERTULIA_TRY_AS(const SessionKey home, home_of(tenant, agent));
  TERTULIA_TRY_AS(const std::optional<Stored> known, impl_->find(home, name));
  if (!known) return Error(ErrorCode::kNotFound, "there is no procedure '" + std::string(name) + "'");
  return impl_->write(home, std::string(name), nullptr);
}

Result<std::vector<Procedure>> ProceduralMemory::list(const TenantId& tenant, const AgentId& agent) {
  TERTULIA_TRY_AS(const SessionKey home, home_of(tenant, agent));
  TERTULIA_TRY_AS(std::vector<Stored> stored, impl_->read(home));
  std::vector<Procedure> procedures;
  procedures.reserve(stored.size());
  for (Stored& one : stored) procedures.push_back(std::move(one.procedure));
  std::sort(procedures.begin(), procedures.end(),
            [](const Procedure& a, const Procedure& b) { return a.name < b.name; });
  return procedures;
}

Result<std::optional<MatchedProcedure>> ProceduralMemory::match(const TenantId& tenant, const AgentId& agent,
                                                                std::string_view message, double min_score,
                                                                const CancelToken& cancel) {
  std::vector<Impl::Set> sets;
  for (const AgentId& whose : {agent, AgentId()}) {
    if (whose.empty() && !sets.empty() && agent.empty()) break;
    TERTULIA_TRY_AS(const SessionKey home, home_of(tenant, whose));
    TERTULIA_TRY_AS(Impl::Set set, impl_->ready(home));
    if (set) sets.push_back(std::move(set));
  }
  const std::string_view looked_at = message.substr(0, kMaxLookedAt);
  const re2::StringPiece piece(looked_at.data(), looked_at.size());
  for (const Impl::Set& set : sets) {
    for (const Ready& one : *set) {
      if (one.pattern && RE2::PartialMatch(piece, *one.pattern)) {
        return std::optional<MatchedProcedure>({one.procedure, 1});
      }
    }
  }
  std::optional<MatchedProcedure> best;
  if (!impl_->embedder || sets.empty()) return best;
  TERTULIA_TRY_AS(const std::vector<Vector> asked,
                  embed(*impl_->embedder, EmbedCall{.texts = {std::string(looked_at)}, .cancel = cancel}));
  for (const Impl::Set& set : sets) {
    for (const Ready& one : *set) {
      const double score = cosine(asked.front(), one.vector);
      if (score >= min_score && (!best || score > best->score)) best = {one.procedure, score};
    }
  }
  return best;
}

}  // namespace tertulia
