#include "tertulia/text/huggingface.h"

#include <optional>
#include <utility>
#include <vector>

#include "tertulia/base/json.h"

#include "bpe_tokenizer.h"
#include "huggingface_vocabulary.h"

namespace tertulia {
namespace {

constexpr std::size_t kMostValues = 8'000'000;

struct KnownPattern {
  std::string_view expression;
  Pattern pattern;
};

constexpr KnownPattern kKnownPatterns[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kCl100k},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kQwen},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kO200k},
};

Error not_known(const std::string& what) {
  return Error(ErrorCode::kUnknownTokenizer,
               what + ", so its tokens cannot be counted exactly; use the estimate for this model");
}

std::string_view text_field(const Json* value, std::string_view key) {
  const JsonObject* object = value ? value->as_object() : nullptr;
  const Json* field = object ? object->find(key) : nullptr;
  const std::string* text = field ? field->as_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

bool flag(const Json* value, std::string_view key) {
  const JsonObject* object = value ? value->as_object() : nullptr;
  const Json* field = object ? object->find(key) : nullptr;
  const bool* on = field ? field->as_bool() : nullptr;
  return on && *on;
}

// The steps of a Sequence, or the step itself, or none.
std::vector<const Json*> steps_of(const Json* value, std::string_view list) {
  if (!value || value->is_null()) return {};
  const JsonObject* object = value->as_object();
  const Json* steps = object ? object->find(list) : nullptr;
  if (!steps || !steps->as_array()) return {value};
  std::vector<const Json*> out;
  for (const Json& step : *steps->as_array()) out.push_back(&step);
  return out;
}

Result<bool> read_normalizer(const Json* normalizer) {
  bool normalizes = false;
  for (const Json* step : steps_of(normalizer, "normalizers")) {
    if (text_field(step, "type") != "NFC") {
      return not_known("the normalizer '" + std::string(text_field(step, "type")) + "' is not known");
    }
    normalizes = true;
  }
  return normalizes;
}

Result<Pattern> read_split(const Json* step) {
  const JsonObject* object = step->as_object();
  const std::string_view expression = text_field(object ? object->find("pattern") : nullptr, "Regex");
  if (text_field(step, "behavior") != "Isolated" || flag(step, "invert")) {
    return not_known("the pre-tokenizer splits in another way than 'Isolated'");
  }
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.expression == expression) return known.pattern;
  }
  return not_known("the splitting pattern " + std::string(expression.substr(0, 300)) + " is not known");
}

Result<Pattern> read_pre_tokenizer(const Json* pre_tokenizer) {
  std::optional<Pattern> pattern;
  bool byte_level = false;
  for (const Json* step : steps_of(pre_tokenizer, "pretokenizers")) {
    const std::string_view type = text_field(step, "type");
    if (type == "Split" && !pattern && !byte_level) {
      TERTULIA_TRY_AS(pattern, read_split(step));
    } else if (type == "ByteLevel" && !flag(step, "add_prefix_space") && !flag(step, "use_regex")) {
      byte_level = true;
    } else {
      return not_known("the pre-tokenizer '" + std::string(type) + "' with its options is not known");
    }
  }
  if (!pattern || !byte_level) return not_known("the pre-tokenizer is not a Split followed by ByteLevel");
  return *pattern;
}

Result<void> check_model(const Json* model) {
  if (text_field(model, "type") != "BPE") {
    return not_known("the model is of type '" + std::string(text_field(model, "type")) + "', not BPE");
  }
  if (flag(model, "byte_fallback")) return not_known("the model falls back to bytes in its own way");
  if (!text_field(model, "continuing_subword_prefix").empty() ||
      !text_field(model, "end_of_word_suffix").empty()) {
    return not_known("the model marks the parts of words");
  }
  const Json* dropout = model->as_object()->find("dropout");
  if (dropout && !dropout->is_null()) return not_known("the model drops merges at random");
  return {};
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> huggingface_tokenizer(std::string_view json, std::string name) {
  const std::string where = "tokenizer.json of '" + name + "'";
  const auto within = [&](auto result) -> decltype(result) {
    if (!result) return std::move(result).error().in(where);
    return result;
  };
  TERTULIA_TRY_AS(const Json root, within(parse_json(json, {.values = kMostValues})));
  JsonReader reader(root, where);
  const Json* model = reader.required("model");
  const Json* normalizer = reader.optional("normalizer");
  const Json* pre_tokenizer = reader.optional("pre_tokenizer");
  const JsonArray& added = reader.array_or_empty("added_tokens");
  TERTULIA_TRY(reader.finish());
  TERTULIA_TRY(within(check_model(model)));
  BpeTokenizerParts parts;
  TERTULIA_TRY_AS(parts.normalizes, within(read_normalizer(normalizer)));
  TERTULIA_TRY_AS(parts.pattern, within(read_pre_tokenizer(pre_tokenizer)));
  TERTULIA_TRY(within(read_huggingface_vocabulary(*model, added, flag(model, "ignore_merges"), parts)));
  parts.name = std::move(name);
  return std::shared_ptr<const Tokenizer>(std::make_shared<BpeTokenizer>(std::move(parts)));
}

}  // namespace tertulia
