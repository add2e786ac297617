// tertulia memory show, tertulia memory collections: one item as a whole, and where there are any.
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/memory/semantic_memory.h"

#include "commands.h"
#include "host/collections.h"
#include "host/configured_memory.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

// Everything that the owner may see.
struct Known {
  OpenStore open;
  std::unique_ptr<SemanticMemory> memory;
  std::vector<CollectionSummary> collections;
};

Result<Known> open_known(const Context& context) {
  Known known;
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  TERTULIA_TRY_AS(const std::shared_ptr<Embedder> embedder, configured_embedder(config));
  TERTULIA_TRY_AS(known.open, open_configured_store(config, Need::kExisting));
  known.memory = std::make_unique<SemanticMemory>(*known.open, real_env(), embedder);
  TERTULIA_TRY_AS(known.collections, list_collections(*known.memory, *known.open, tenant, owner));
  return known;
}

void show_item(const Context& context, const std::string& collection, const MemoryItem& item) {
  JsonArray messages;
  std::string said;
  for (const MessageId& message : item.sources) {
    said += (said.empty() ? "" : ", ") + message.text();
    messages.emplace_back(message.text());
  }
  std::string source = item.source;
  for (const std::string& heading : item.heading_path) source += " › " + heading;
  if (context.out.json) {
    JsonObject form{{"item", item.id},
                    {"collection", collection},
                    {"kind", std::string(name_of(item.kind))},
                    {"source", source},
                    {"writer", item.writer},
                    {"time", iso_time(item.time)},
                    {"messages", std::move(messages)},
                    {"text", item.text}};
    if (item.valid_until) form.set("valid_until", iso_time(*item.valid_until));
    if (!item.superseded_by.empty()) form.set("superseded_by", item.superseded_by);
    context.out.line(to_text(form));
    return;
  }
  context.out.line(context.out.styled(Style::kDim, std::string(name_of(item.kind)) + " of " + collection +
                                                       (source.empty() ? "" : ", " + one_line(source)) +
                                                       " · by " + one_line(item.writer) + " · " +
                                                       iso_time(item.time)));
  if (item.valid_until) {
    context.out.line("true until " + iso_time(*item.valid_until) +
                     (item.superseded_by.empty() ? "" : ", then " + item.superseded_by));
  }
  if (!said.empty()) context.out.line("said in " + said);
  std::string text = item.text;
  while (text.ends_with('\n')) text.pop_back();
  context.out.line(printable_lines(text));
}

Result<void> show_items(const std::vector<std::string>& ids, const Context& context) {
  TERTULIA_TRY_AS(const Known known, open_known(context));
  for (const std::string& id : ids) {
    bool found = false;
    for (const CollectionSummary& each : known.collections) {
      const Result<MemoryItem> item = find_item(*known.memory, each.collection, id);
      if (!item && item.error().code() != ErrorCode::kNotFound) return item.error();
      if (!item) continue;
      show_item(context, collection_name(each.collection), *item);
      found = true;
    }
    if (!found) {
      return Error(ErrorCode::kNotFound,
                   "nothing is remembered as '" + one_line(id) + "'; see: tertulia memory list");
    }
  }
  return {};
}

Result<void> list_all_collections(const Context& context) {
  TERTULIA_TRY_AS(const Known known, open_known(context));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [collection, counts] : known.collections) {
    const std::string name = collection_name(collection);
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"collection", name},
                                          {"items", static_cast<std::uint64_t>(counts.items)},
                                          {"documents", static_cast<std::uint64_t>(counts.documents)},
                                          {"facts", static_cast<std::uint64_t>(counts.facts)}}));
      continue;
    }
    rows.push_back(
        {name, std::to_string(counts.items), std::to_string(counts.documents), std::to_string(counts.facts)});
  }
  if (context.out.json) return {};
  if (rows.empty()) {
    context.out.line("Nothing is remembered here.");
  } else {
    context.out.table({"collection", "items", "documents", "facts"}, rows);
  }
  return {};
}

}  // namespace

void add_memory_show(CLI::App& memory, Context& context) {
  auto ids = std::make_shared<std::vector<std::string>>();
  CLI::App* showing =
      memory.add_subcommand("show", "Show items as a whole, in whichever collection they are");
  showing->add_option("items", *ids, "Their ids")->required();
  showing->callback([ids, &context] { context.run([&] { return show_items(*ids, context); }); });
  CLI::App* listing =
      memory.add_subcommand("collections", "List where something is known: of the owner, of agents, shared");
  listing->callback([&context] { context.run([&] { return list_all_collections(context); }); });
}

}  // namespace tertulia::cli
