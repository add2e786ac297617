// tertulia memory: what is known, by whom it was written, and how it is forgotten.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/memory/semantic_memory.h"

#include "commands.h"
#include "host/collections.h"
#include "host/configured_memory.h"
#include "host/iso_time.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct MemoryOptions {
  // Whose: the owner's, unless one of these is given.
  std::string agent;
  std::string shared;
  std::string text;
  std::vector<std::string> files;
  std::vector<std::string> items;
  std::string source;
  std::size_t top = 5;
  std::string as_of;
  bool documents = false;
  // Of episodes.
  std::string archive;
  std::string forget;
};

Result<CollectionId> collection_of(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  std::string name(kUserCollection);
  if (!options.agent.empty()) name = "agent." + options.agent;
  if (!options.shared.empty()) name = "shared." + options.shared;
  return collection_named(tenant, owner, name);
}

// The store and the memory on it.
struct Opened {
  OpenStore open;
  std::unique_ptr<SemanticMemory> memory;
};

Result<Opened> open_memory(const Context& context, Need need) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  TERTULIA_TRY_AS(const std::shared_ptr<Embedder> embedder, configured_embedder(config));
  TERTULIA_TRY_AS(OpenStore open, open_configured_store(config, need));
  auto memory = std::make_unique<SemanticMemory>(*open, real_env(), embedder);
  return Opened{std::move(open), std::move(memory)};
}

Result<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(ErrorCode::kNotFound, "'" + path + "' cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A line that says how far a document is, for a person who looks.
class IngestLine {
 public:
  IngestLine(const Output& out, std::string name)
      : shown_(!out.json && ::isatty(STDERR_FILENO) == 1), name_(std::move(name)) {}
  ~IngestLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  IngestLine(const IngestLine&) = delete;
  IngestLine& operator=(const IngestLine&) = delete;

  void show(const IngestProgress& progress) const {
    if (!shown_) return;
    const std::string line = "\r\033[K" + name_ + ": " + std::to_string(progress.chunks_done) + " of " +
                             counted(progress.chunks, "chunk");
    std::fputs(line.c_str(), stderr);
  }

 private:
  const bool shown_;
  const std::string name_;
};

Result<void> add(const MemoryOptions& options, const Context& context) {
  if (options.text.empty() && options.files.empty()) {
    return Error(ErrorCode::kMissingField,
                 "there is nothing to remember: give a sentence, or documents with --file");
  }
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kCreate));
  const MemoryWriter writer{.kind = WriterKind::kOperator, .name = context.owner};
  if (!options.text.empty()) {
    TERTULIA_TRY_AS(const Remembered made,
                    opened.memory->remember(collection, {.text = options.text}, writer));
    if (context.out.json) {
      JsonArray superseded;
      for (const std::string& item : made.superseded) superseded.emplace_back(item);
      context.out.line(to_text(
          JsonObject{{"item", made.fact.id}, {"known", made.known}, {"superseded", std::move(superseded)}}));
    } else {
      context.out.line(made.known ? "That was known already." : "Remembered as " + made.fact.id + ".");
      if (!made.superseded.empty()) {
        context.out.line("In the place of " + counted(made.superseded.size(), "fact") +
                         " that no longer holds.");
      }
    }
  }
  for (const std::string& path : options.files) {
    TERTULIA_TRY_AS(std::string bytes, read_whole(path));
    const IngestLine line(context.out, one_line(path));
    const IngestOptions told{.progress = [&](const IngestProgress& progress) { line.show(progress); }};
    TERTULIA_TRY_AS(
        const IngestReport report,
        opened.memory->ingest(collection, {path, format_of(path), std::move(bytes)}, writer, told));
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"source", path},
                                          {"changed", report.changed},
                                          {"chunks", static_cast<std::uint64_t>(report.chunks)}}));
    } else {
      context.out.line(one_line(path) + ": " +
                       (report.changed ? counted(report.chunks, "chunk") + "." : "as it was already."));
    }
  }
  return {};
}

// A day ("2026-11-16", its end is meant) or a moment. None if nothing was given.
Result<std::optional<Time>> time_of(const std::string& text) {
  if (text.empty()) return std::optional<Time>();
  const std::optional<Time> time = parse_iso_time(text.size() == 10 ? text + "T23:59:59Z" : text);
  if (time) return time;
  return Error(ErrorCode::kOutOfRange,
               "'" + one_line(text) + "' is no time; write 2026-11-16 or 2026-11-16T18:30:00Z");
}

Result<void> search(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const std::optional<Time> as_of, time_of(options.as_of));
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  const std::vector<CollectionId> where{collection};
  TERTULIA_TRY_AS(const std::vector<Recalled> found,
                  opened.memory->recall(where, options.text, {.top_k = options.top, .as_of = as_of}));
  if (found.empty() && !context.out.json) context.out.line("Nothing was found.");
  for (const Recalled& one : found) {
    if (context.out.json) {
      context.out.line(to_text(JsonObject{
          {"item", one.item.id}, {"source", one.item.source}, {"score", one.score}, {"text", one.text}}));
      continue;
    }
    const long percent = std::lround(one.score * 100);
    context.out.line(context.out.styled(
        Style::kDim, std::to_string(percent) + " %  " + one.item.id + "  " + one_line(one.item.source)));
    context.out.line(fit(one_line(one.text), output_width()));
  }
  return {};
}

Result<void> list_documents(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  std::vector<std::vector<std::string>> rows;
  std::string cursor;
  do {
    TERTULIA_TRY_AS(DocumentPage page, opened.memory->documents(collection, 100, cursor));
    for (const DocumentInfo& document : page.documents) {
      if (context.out.json) {
        context.out.line(to_text(JsonObject{{"source", document.source},
                                            {"chunks", static_cast<std::uint64_t>(document.chunks)},
                                            {"tokens", static_cast<std::uint64_t>(document.tokens)},
                                            {"written_at", iso_time(document.time)},
                                            {"writer", document.writer}}));
        continue;
      }
      rows.push_back({one_line(document.source), std::to_string(document.chunks),
                      std::to_string(document.tokens), iso_time(document.time)});
    }
    cursor = std::move(page.next);
  } while (!cursor.empty());
  if (context.out.json) return {};
  if (rows.empty()) {
    context.out.line("No documents are known here.");
  } else {
    context.out.table({"source", "chunks", "tokens", "written"}, rows);
  }
  return {};
}

Result<void> list_items(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const std::optional<Time> as_of, time_of(options.as_of));
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  std::vector<std::vector<std::string>> rows;
  std::string cursor;
  do {
    TERTULIA_TRY_AS(ItemPage page, opened.memory->list(collection, 100, cursor));
    for (const MemoryItem& item : page.items) {
      const bool over = item.valid_until && as_of && *item.valid_until <= *as_of;
      if (as_of && (item.time > *as_of || over)) continue;
      if (context.out.json) {
        JsonObject form{{"item", item.id},
                        {"kind", std::string(name_of(item.kind))},
                        {"source", item.source},
                        {"writer", item.writer},
                        {"text", item.text}};
        if (item.valid_until) form.set("valid_until", iso_time(*item.valid_until));
        if (!item.superseded_by.empty()) form.set("superseded_by", item.superseded_by);
        context.out.line(to_text(form));
        continue;
      }
      const std::string kind = (item.valid_until ? "past " : "") + std::string(name_of(item.kind));
      rows.push_back({item.id, kind, one_line(item.source), fit(one_line(item.text), 60)});
    }
    cursor = std::move(page.next);
  } while (!cursor.empty());
  if (context.out.json) return {};
  if (rows.empty()) {
    context.out.line("Nothing is remembered here.");
  } else {
    context.out.table({"item", "kind", "source", "text"}, rows);
  }
  return {};
}

Result<void> forget(const MemoryOptions& options, const Context& context) {
  if (options.items.empty() && options.source.empty()) {
    return Error(ErrorCode::kMissingField,
                 "there is nothing to forget: give the ids of items, or a document with --source");
  }
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  Forget what{.items = options.items};
  if (!options.source.empty()) what.sources.push_back(options.source);
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const Forgotten gone,
                  forget_items(*opened.memory, *opened.open, collection, owner, std::move(what)));
  if (gone.items == 0) {
    return Error(ErrorCode::kNotFound, "nothing of that is remembered here; see: tertulia memory list");
  }
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"forgotten", static_cast<std::uint64_t>(gone.items)},
                                        {"prompt_parts", static_cast<std::uint64_t>(gone.prompt_parts)}}));
  } else {
    context.out.line("Forgot " + counted(gone.items, "item") + ".");
  }
  return {};
}

JsonObject form_of(const Episode& episode) {
  return {{"episode", episode.id.text()},
          {"session", episode.session.text()},
          {"closed_at", iso_time(episode.closed_at)},
          {"end_reason", std::string(name_of(episode.end_reason))},
          {"messages", episode.message_count},
          {"archived", episode.archived},
          {"summary", episode.summary}};
}

Result<void> list_episodes(Context& context, EpisodicMemory& memory, const SessionKey& whose) {
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, memory.list(whose.tenant, whose.owner));
  std::vector<std::vector<std::string>> rows;
  for (const Episode& episode : episodes) {
    if (context.out.json) {
      context.out.line(to_text(form_of(episode)));
      continue;
    }
    rows.push_back({episode.id.text(), episode.session.text(), iso_time(episode.closed_at).substr(0, 10),
                    std::string(name_of(episode.end_reason)) + (episode.archived ? ", archived" : ""),
                    fit(one_line(episode.summary), 50)});
  }
  TERTULIA_TRY_AS(const std::vector<SessionId> damaged, memory.damaged(whose.tenant, whose.owner));
  if (rows.empty() && damaged.empty() && !context.out.json) {
    context.out.line("No conversation has ended yet.");
  } else if (!rows.empty()) {
    context.out.table({"episode", "session", "day", "end", "summary"}, rows);
  }
  show_damaged(context, "episodes", {damaged.begin(), damaged.end()});
  return {};
}

// What earlier conversations were about; or puts one of them away, or forgets it.
Result<void> episodes(const MemoryOptions& options, Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  EpisodicMemory memory(*opened.open, real_env(), nullptr);
  const std::string& name = options.archive.empty() ? options.forget : options.archive;
  if (name.empty()) return list_episodes(context, memory, {tenant, owner, {}});
  TERTULIA_TRY_AS(const EpisodeId id, EpisodeId::parse(name));
  TERTULIA_TRY_AS(const std::vector<Episode> all, memory.list(tenant, owner));
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Episode& episode) { return episode.id == id; });
  if (found == all.end()) {
    return Error(ErrorCode::kNotFound, "there is no episode '" + name + "'; see: tertulia memory episodes");
  }
  const SessionKey key{tenant, owner, found->session};
  const bool archives = !options.archive.empty();
  TERTULIA_TRY(archives ? memory.archive(key, id) : memory.forget(key, id));
  if (!archives) TERTULIA_TRY(forget_prompt_parts(*opened.open, tenant, owner, id.text()));
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"episode", name}, {archives ? "archived" : "forgotten", true}}));
  } else {
    context.out.line(archives ? "It is no longer quoted."
                              : "It is forgotten. The conversation itself stays.");
  }
  return {};
}

CLI::App* add_verb(CLI::App& memory, const std::string& verb, const std::string& help,
                   const std::shared_ptr<MemoryOptions>& options) {
  CLI::App* command = memory.add_subcommand(verb, help);
  CLI::Option* agent =
      command->add_option("--agent", options->agent, "What this agent knows, whoever it talks to");
  command->add_option("--shared", options->shared, "A shared collection of the tenant")->excludes(agent);
  return command;
}

}  // namespace

void add_memory(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("memory", "Add, find, list and forget what is known");
  command->require_subcommand(1);
  auto options = std::make_shared<MemoryOptions>();
  CLI::App* adding = add_verb(*command, "add", "Remember a sentence, or documents", options);
  adding->add_option("text", options->text, "What is true: one sentence");
  adding->add_option("--file", options->files, "A document: text, markdown, HTML or PDF");
  adding->callback([options, &context] { context.run([&] { return add(*options, context); }); });
  CLI::App* searching = add_verb(*command, "search", "Find what belongs to a question", options);
  searching->add_option("question", options->text, "The question")->required();
  searching->add_option("--top", options->top, "At most this many")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  constexpr auto kAsOf = "What was true then: 2026-11-16, or 2026-11-16T18:30:00Z";
  searching->add_option("--as-of", options->as_of, kAsOf);
  searching->callback([options, &context] { context.run([&] { return search(*options, context); }); });
  CLI::App* listing = add_verb(*command, "list", "List everything that is known", options);
  CLI::Option* then = listing->add_option("--as-of", options->as_of, kAsOf);
  listing->add_flag("--documents", options->documents, "Documents as a whole, without what is in them")
      ->excludes(then);
  listing->callback([options, &context] {
    context.run([&] {
      return options->documents ? list_documents(*options, context) : list_items(*options, context);
    });
  });
  CLI::App* forgetting = add_verb(*command, "forget", "Forget items, or a document", options);
  forgetting->add_option("items", options->items, "Their ids");
  forgetting->add_option("--source", options->source, "The document");
  forgetting->callback([options, &context] { context.run([&] { return forget(*options, context); }); });
  CLI::App* ended = command->add_subcommand("episodes", "List what earlier conversations were about");
  CLI::Option* archive = ended->add_option("--archive", options->archive, "Quote this one no longer");
  ended->add_option("--forget", options->forget, "Forget this one; the conversation stays")
      ->excludes(archive);
  ended->callback([options, &context] { context.run([&] { return episodes(*options, context); }); });
  add_memory_show(*command, context);
  add_memory_procedures(*command, context);
}

}  // namespace tertulia::cli
