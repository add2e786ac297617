#include "names.h"

#include <initializer_list>

#include "tertulia/base/sha256.h"

namespace tertulia {
namespace {

constexpr std::size_t kReadableBytes = 40;
constexpr std::size_t kHashBytes = 8;

// Of the parts with their lengths, so that no two lists of parts read alike.
std::string short_hash(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  }
  return sha256_hex(text).substr(0, 2 * kHashBytes);
}

std::string readable(std::string_view id, const std::string& hash) {
  std::string name(id.substr(0, kReadableBytes));
  name += '~';
  return name += hash;
}

std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  path += '/';
  return path += name;
}

}  // namespace

std::string directory_name(const SessionKey& key) {
  return readable(key.session.text(),
                  short_hash({"session", key.tenant.text(), key.owner.text(), key.session.text()}));
}

std::string directory_name(const BranchId& branch) {
  return readable(branch.text(), short_hash({"branch", branch.text()}));
}

std::string branch_path(const BranchId& branch) { return joined(kBranchesDirectory, directory_name(branch)); }

std::string records_path(RecordKind kind, const BranchId& branch) {
  const std::string file = std::string(name_of(kind)) + ".jsonl";
  return joined(branch.empty() ? std::string(kRecordsDirectory) : branch_path(branch), file);
}

std::string asset_path(const StreamId& stream, std::uint64_t number) {
  const std::string file =
      std::to_string(number) + "~" + short_hash({"asset", name_of(stream.kind), stream.scope});
  const std::string owner = stream.branch.empty() ? std::string() : branch_path(stream.branch) + "/";
  return owner + joined(kAssetsDirectory, file);
}

std::string place_of(const SessionKey& key, std::string_view path) {
  std::string place = key.text();
  place += '\n';
  return place += path;
}

}  // namespace tertulia
