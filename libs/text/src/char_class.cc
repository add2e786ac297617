#include "char_class.h"

#include <algorithm>
#include <map>
#include <string>

#include "unicode_tables.h"

namespace tertulia {

CharClasses::CharClasses() {
  std::string all;
  all.reserve(0x110000);
  for (std::size_t i = 0; i < kClassRangeCount; ++i) {
    all.append(kClassRanges[i] >> 6U, static_cast<char>(kClassRanges[i] & 63U));
  }
  std::map<std::string, std::uint16_t> known;
  for (std::size_t block = 0; block < block_of_.size(); ++block) {
    std::string content = all.substr(block * 64, 64);
    auto [found, is_new] = known.try_emplace(content, static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), content.begin(), content.end());
    block_of_[block] = found->second;
  }
  std::copy_n(all.begin(), ascii_.size(), ascii_.begin());
}

const CharClasses& CharClasses::get() {
  static const CharClasses classes;
  return classes;
}

}  // namespace tertulia
