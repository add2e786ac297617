#include "json_fields.h"

#include <algorithm>

namespace tertulia {

void FieldWriter::begin(std::string_view extra) {
  std::string version;
  if (!extra.empty()) {
    // What was not read by us is not trusted to be an object: then there is nothing to write back.
    auto parsed = parse_json(extra, {.depth = 1'000, .values = 50'000'000});
    if (parsed && parsed->as_object() != nullptr) extra_ = std::move(*parsed->as_object());
    version = newer_version_in(extra_);
    extra_.erase(kVersionKey);
  }
  if (version.empty() && place_ == Place::kAlone) version = own_version();
  if (!version.empty()) out_.key(kVersionKey).string(version);
}

void FieldWriter::finish() {
  for (const auto& [key, value] : extra_) {
    if (std::ranges::find(known_, key) == known_.end()) out_.key(key).value(value);
  }
}

void FieldReader::begin(std::string_view name) {
  name_ = name;
  in_.emplace(value_, name);
  const Json* version = place_ == Place::kAlone ? in_->required(kVersionKey) : in_->optional(kVersionKey);
  if (version == nullptr) return;
  if (auto newer = check_version(*version)) {
    newer_ = *std::move(newer);
  } else {
    fail(at(std::move(newer).error(), std::string(kVersionKey)));
  }
}

JsonObject FieldReader::rest() const {
  JsonObject rest;
  if (!newer_.empty()) rest.append(std::string(kVersionKey), newer_);
  for (const auto& [key, value] : in_->rest()) rest.append(key, value);
  return rest;
}

Result<void> FieldReader::finish() {
  if (extra_ == nullptr) return in_->finish_strict();
  TERTULIA_TRY(in_->finish());
  *extra_ = JsonText::of_fields(rest());
  return {};
}

}  // namespace tertulia
