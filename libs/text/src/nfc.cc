#include "nfc.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "unicode_tables.h"

namespace tertulia {

void append_utf8(std::string& out, Code code) {
  const auto put = [&](Code byte) { out.push_back(static_cast<char>(byte)); };
  if (code >= kRawByte) return put(code - kRawByte);
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | code >> 6U);
  } else {
    if (code < 0x10000) {
      put(0xE0U | code >> 12U);
    } else {
      put(0xF0U | code >> 18U);
      put(0x80U | (code >> 12U & 0x3FU));
    }
    put(0x80U | (code >> 6U & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

namespace {

constexpr Code kHangulBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161, kTailBase = 0x11A7;
constexpr Code kLeads = 19, kVowels = 21, kTails = 28, kSyllables = kLeads * kVowels * kTails;

class NormalForms {
 public:
  static const NormalForms& get() {
    static const NormalForms forms;
    return forms;
  }

  // 0 for a starter.
  std::uint8_t rank(Code code) const {
    auto found = ranks_.find(code);
    return found == ranks_.end() ? 0 : found->second;
  }

  void decompose(Code code, std::vector<Code>& out) const {
    if (code - kHangulBase < kSyllables) {
      const Code syllable = code - kHangulBase;
      out.push_back(kLeadBase + syllable / (kVowels * kTails));
      out.push_back(kVowelBase + syllable / kTails % kVowels);
      if (syllable % kTails != 0) out.push_back(kTailBase + syllable % kTails);
      return;
    }
    auto found = decompositions_.find(code);
    if (found == decompositions_.end()) {
      out.push_back(code);
    } else {
      out.insert(out.end(), found->second.begin(), found->second.end());
    }
  }

  // What the two compose to, or 0.
  Code compose(Code first, Code second) const {
    if (first - kLeadBase < kLeads && second - kVowelBase < kVowels) {
      return kHangulBase + ((first - kLeadBase) * kVowels + (second - kVowelBase)) * kTails;
    }
    if (first - kHangulBase < kSyllables && (first - kHangulBase) % kTails == 0 &&
        second - kTailBase - 1 < kTails - 1) {
      return first + (second - kTailBase);
    }
    auto found = compositions_.find(std::uint64_t{first} << 32U | second);
    return found == compositions_.end() ? 0 : found->second;
  }

  // True if the character is the same in NFC and nothing before it can reach it: text may be cut in front of
  // it.
  bool is_boundary(Code code) const { return code < 0x300 || !inner_.contains(code); }

 private:
  NormalForms() {
    for (std::size_t i = 0; i < kCombiningRunCount; ++i) {
      const std::uint32_t run = kCombiningRuns[i];
      for (Code k = 0; k < (run >> 6U & 31U); ++k) {
        ranks_[(run >> 11U) + k] = static_cast<std::uint8_t>(run & 63U);
        inner_.insert((run >> 11U) + k);
      }
    }
    Code code = 0;
    std::vector<std::pair<Code, bool>> order;
    for (std::size_t i = 0; i < kDecompositionsSize;) {
      const std::uint32_t head = kDecompositions[i++];
      code += head >> 4U;
      const std::size_t length = head >> 1U & 7U;
      decompositions_[code].assign(kDecompositions + i, kDecompositions + i + length);
      i += length;
      order.emplace_back(code, (head & 1U) != 0);
      if ((head & 1U) == 0) inner_.insert(code);
    }
    std::map<std::vector<Code>, Code> wholes;
    for (const auto& [whole, recomposes] : order) {
      if (recomposes) wholes[decompositions_[whole]] = whole;
    }
    for (const auto& [parts, whole] : wholes) add_composition(wholes, parts, whole);
    for (Code k = 0; k < kVowels; ++k) inner_.insert(kVowelBase + k);
    for (Code k = 1; k < kTails; ++k) inner_.insert(kTailBase + k);
  }

  // A decomposition is full; its last step parts the last code from what the ones before compose to.
  void add_composition(const std::map<std::vector<Code>, Code>& wholes, const std::vector<Code>& parts,
                       Code whole) {
    const Code first = parts.size() == 2 ? parts[0] : wholes.at({parts.begin(), parts.end() - 1});
    compositions_[std::uint64_t{first} << 32U | parts.back()] = whole;
    inner_.insert(parts.back());
  }

  std::unordered_map<Code, std::uint8_t> ranks_;
  std::unordered_map<Code, std::vector<Code>> decompositions_;
  std::unordered_map<std::uint64_t, Code> compositions_;
  std::unordered_set<Code> inner_;
};

struct Decoded {
  Code code;
  std::size_t length;
};

Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < length) return {kRawByte + lead, 1};
  Code code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {kRawByte + lead, 1};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code >= kRawByte) return {kRawByte + lead, 1};
  return {code, length};
}

// Composes in place what was decomposed and put in order.
void compose(const NormalForms& forms, std::vector<Code>& codes) {
  std::size_t starter = codes.size();
  std::size_t kept = 0;
  unsigned last_rank = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const unsigned rank = forms.rank(codes[i]);
    const bool blocked = starter == codes.size() || (kept > starter + 1 && last_rank >= rank);
    const Code whole = blocked ? 0 : forms.compose(codes[starter], codes[i]);
    if (whole != 0) {
      codes[starter] = whole;
      continue;
    }
    if (rank == 0) starter = kept;
    last_rank = rank;
    codes[kept++] = codes[i];
  }
  codes.resize(kept);
}

// Puts combining marks into the order of their classes; marks of one class stay in theirs.
void reorder(const NormalForms& forms, std::vector<Code>& codes) {
  std::vector<std::uint64_t> marks;
  for (std::size_t from = 0; from < codes.size(); ++from) {
    marks.clear();
    std::size_t to = from;
    for (; to < codes.size() && forms.rank(codes[to]) != 0; ++to) {
      marks.push_back(std::uint64_t{forms.rank(codes[to])} << 56U | std::uint64_t{to - from} << 21U |
                      codes[to]);
    }
    std::ranges::sort(marks);
    for (std::size_t i = 0; i < marks.size(); ++i) codes[from + i] = static_cast<Code>(marks[i] & 0x1FFFFFU);
    from = to;
  }
}

void normalize(const NormalForms& forms, std::vector<Code>& codes, std::string& out) {
  std::vector<Code> parts;
  for (Code code : codes) forms.decompose(code, parts);
  reorder(forms, parts);
  compose(forms, parts);
  for (Code code : parts) append_utf8(out, code);
  codes.clear();
}

}  // namespace

std::string_view nfc(std::string_view text, std::string& storage) {
  const NormalForms& forms = NormalForms::get();
  std::size_t first = 0;  // the first character that is not certainly in NFC
  std::size_t boundary = 0;
  for (; first < text.size();) {
    const Decoded c = decode(text, first);
    if (!forms.is_boundary(c.code)) break;
    boundary = first;
    first += c.length;
  }
  if (first == text.size()) return text;
  storage.assign(text.substr(0, boundary));
  std::vector<Code> codes;
  for (std::size_t at = boundary; at < text.size();) {
    const Decoded c = decode(text, at);
    if (forms.is_boundary(c.code)) normalize(forms, codes, storage);
    codes.push_back(c.code);
    at += c.length;
  }
  normalize(forms, codes, storage);
  return storage;
}

std::size_t nfc_settled(std::string_view text) {
  const NormalForms& forms = NormalForms::get();
  std::size_t at = text.size();
  while (at > 0) {
    const std::size_t least = at > 4 ? at - 4 : 0;
    do --at;
    while (at > least && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80);
    if (forms.is_boundary(decode(text, at).code)) break;
  }
  return at;
}

}  // namespace tertulia
