// tertulia tokens: how many tokens a text costs.
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"
#include "tertulia/text/huggingface.h"
#include "tertulia/text/tokenizer.h"

#include "commands.h"

namespace tertulia::cli {
namespace {

struct TokensOptions {
  std::vector<std::string> files;
  std::string tokenizer;
  std::string model;
  bool ids = false;
};

struct Count {
  std::string name;
  std::size_t bytes = 0;
  std::size_t tokens = 0;
  std::vector<std::uint32_t> ids;
};

Result<std::shared_ptr<const Tokenizer>> choose_tokenizer(const TokensOptions& options) {
  if (!options.model.empty()) return tokenizer_for_model(options.model);
  if (options.tokenizer.empty()) return tokenizer_named("o200k_base");
  if (options.tokenizer.ends_with(".json")) {
    TERTULIA_TRY_AS(const std::string text, read_file(real_env().files(), options.tokenizer));
    auto loaded = huggingface_tokenizer(text, options.tokenizer);
    if (!loaded) return std::move(loaded).error().in(options.tokenizer);
    return loaded;
  }
  return tokenizer_named(options.tokenizer);
}

Result<std::string> read_input(const std::string& name) {
  if (name != "-") return read_file(real_env().files(), name);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

Result<Count> count_file(const std::string& name, const Tokenizer& tokenizer, bool with_ids) {
  TERTULIA_TRY_AS(const std::string text, read_input(name));
  if (const auto bad = find_bad_utf8(text)) {
    return Error(ErrorCode::kBadUnicode, (name == "-" ? std::string("standard input") : name) +
                                             " is not UTF-8 text: the byte at offset " +
                                             std::to_string(*bad) + " does not belong.")
        .with("offset", static_cast<std::int64_t>(*bad));
  }
  Count count{.name = name, .bytes = text.size(), .tokens = tokenizer.count(text)};
  if (with_ids) {
    TERTULIA_TRY_AS(count.ids, tokenizer.encode(text));
  }
  return count;
}

void show_counts(const Output& out, const std::vector<Count>& counts, const Tokenizer& tokenizer,
                 bool with_ids) {
  std::size_t total = 0;
  std::vector<std::vector<std::string>> rows;
  for (const Count& count : counts) {
    total += count.tokens;
    rows.push_back({std::to_string(count.tokens), std::to_string(count.bytes), count.name});
  }
  if (counts.size() > 1) rows.push_back({std::to_string(total), "", "total"});
  out.table(
      {"tokens", "bytes", std::string(tokenizer.name()) + (tokenizer.is_estimate() ? " (an estimate)" : "")},
      rows);
  if (!with_ids) return;
  for (const Count& count : counts) {
    std::string text;
    for (std::uint32_t id : count.ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    out.line(text);
  }
}

void show_counts_as_json(const Output& out, const std::vector<Count>& counts, const Tokenizer& tokenizer,
                         bool with_ids) {
  for (const Count& count : counts) {
    JsonObject object{{"file", count.name},
                      {"tokens", std::uint64_t{count.tokens}},
                      {"bytes", std::uint64_t{count.bytes}},
                      {"tokenizer", tokenizer.name()},
                      {"estimate", tokenizer.is_estimate()}};
    if (with_ids) {
      JsonArray ids;
      for (std::uint32_t id : count.ids) ids.emplace_back(std::int64_t{id});
      object.set("ids", std::move(ids));
    }
    out.line(to_text(Json(std::move(object))));
  }
}

Result<void> count_tokens(const TokensOptions& options, const Output& out) {
  TERTULIA_TRY_AS(const auto tokenizer, choose_tokenizer(options));
  std::vector<Count> counts;
  for (const std::string& file : options.files) {
    TERTULIA_TRY_AS(Count count, count_file(file, *tokenizer, options.ids));
    counts.push_back(std::move(count));
  }
  (out.json ? show_counts_as_json : show_counts)(out, counts, *tokenizer, options.ids);
  return {};
}

}  // namespace

void add_tokens(CLI::App& app, Context& context) {
  auto options = std::make_shared<TokensOptions>();
  CLI::App* command = app.add_subcommand("tokens", "Count the tokens of files or of standard input");
  command->add_option("files", options->files, "Files to count; - or none: standard input");
  auto* tokenizer =
      command->add_option("-t,--tokenizer", options->tokenizer,
                          "o200k_base (the default), cl100k_base, estimate, or a tokenizer.json file");
  command
      ->add_option("-m,--model", options->model, "Choose the tokenizer by a model's name, for example gpt-4o")
      ->excludes(tokenizer);
  command->add_flag("--ids", options->ids, "Show the token ids too");
  command->callback([options, &context] {
    if (options->files.empty()) options->files.emplace_back("-");
    context.run([&] { return count_tokens(*options, context.out); });
  });
}

}  // namespace tertulia::cli
