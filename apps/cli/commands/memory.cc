// tertulia memory: what is known, by whom it was written, and how it is forgotten.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/memory/semantic_memory.h"

#include "commands.h"
#include "host/collections.h"
#include "open_store.h"
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
  TERTULIA_TRY_AS(OpenStore open, open_store(context, need));
  auto memory = std::make_unique<SemanticMemory>(*open, real_env(), static_embedder());
  return Opened{std::move(open), std::move(memory)};
}

Result<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(ErrorCode::kNotFound, "'" + path + "' cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> add(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kCreate));
  const MemoryWriter writer{.kind = WriterKind::kOperator, .name = context.owner};
  if (!options.text.empty()) {
    TERTULIA_TRY_AS(const Remembered made,
                    opened.memory->remember(collection, {.text = options.text}, writer));
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"item", made.fact.id}, {"known", made.known}}));
    } else {
      context.out.line(made.known ? "That was known already." : "Remembered as " + made.fact.id + ".");
    }
  }
  for (const std::string& path : options.files) {
    TERTULIA_TRY_AS(std::string bytes, read_whole(path));
    TERTULIA_TRY_AS(const IngestReport report,
                    opened.memory->ingest(collection, {path, format_of(path), std::move(bytes)}, writer));
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

Result<void> search(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  const std::vector<CollectionId> where{collection};
  TERTULIA_TRY_AS(const std::vector<Recalled> found,
                  opened.memory->recall(where, options.text, {.top_k = options.top}));
  if (found.empty() && !context.out.json) context.out.line("Nothing was found.");
  for (const Recalled& one : found) {
    if (context.out.json) {
      context.out.line(to_text(JsonObject{
          {"item", one.item.id}, {"source", one.item.source}, {"score", one.score}, {"text", one.text}}));
      continue;
    }
    const int percent = static_cast<int>(one.score * 100 + 0.5);
    context.out.line(context.out.styled(
        Style::kDim, std::to_string(percent) + " %  " + one.item.id + "  " + one_line(one.item.source)));
    context.out.line(fit(one_line(one.text), output_width()));
  }
  return {};
}

Result<void> list_items(const MemoryOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  std::vector<std::vector<std::string>> rows;
  std::string cursor;
  do {
    TERTULIA_TRY_AS(ItemPage page, opened.memory->list(collection, 100, cursor));
    for (const MemoryItem& item : page.items) {
      if (context.out.json) {
        context.out.line(to_text(JsonObject{{"item", item.id},
                                            {"kind", std::string(name_of(item.kind))},
                                            {"source", item.source},
                                            {"writer", item.writer},
                                            {"text", item.text}}));
        continue;
      }
      rows.push_back(
          {item.id, std::string(name_of(item.kind)), one_line(item.source), fit(one_line(item.text), 60)});
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
  TERTULIA_TRY_AS(const CollectionId collection, collection_of(options, context));
  TERTULIA_TRY_AS(const Opened opened, open_memory(context, Need::kExisting));
  Forget what{.items = options.items};
  if (!options.source.empty()) what.sources.push_back(options.source);
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const Forgotten gone,
                  forget_items(*opened.memory, *opened.open, collection, owner, std::move(what)));
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"forgotten", static_cast<std::uint64_t>(gone.items)},
                                        {"prompt_parts", static_cast<std::uint64_t>(gone.prompt_parts)}}));
  } else {
    context.out.line("Forgot " + counted(gone.items, "item") + ".");
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
  searching->callback([options, &context] { context.run([&] { return search(*options, context); }); });
  CLI::App* listing = add_verb(*command, "list", "List everything that is known", options);
  listing->callback([options, &context] { context.run([&] { return list_items(*options, context); }); });
  CLI::App* forgetting = add_verb(*command, "forget", "Forget items, or a document", options);
  forgetting->add_option("items", options->items, "Their ids");
  forgetting->add_option("--source", options->source, "The document");
  forgetting->callback([options, &context] { context.run([&] { return forget(*options, context); }); });
}

}  // namespace tertulia::cli
