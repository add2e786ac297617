// Writes libs/text/src/fold_tables.cc: how the word pieces of BERT models see characters beyond ASCII.
//
//   node tools/make_fold_tables.mjs > libs/text/src/fold_tables.cc
//
// Lower case without accents: each character is decomposed (NFD), loses its marks and is lowered. Controls and what is
// not assigned are dropped; punctuation stands alone.
const kLast = 0x10ffff, kDrop = 0, kSpace = 1, kAlone = 2;
const kindOf = (code, c) => {
  if (code >= 0xd800 && code <= 0xdfff) return kDrop;
  if (code === 0xfffd || /^[\p{Cc}\p{Cf}\p{Cn}\p{Co}]$/u.test(c)) return kDrop;
  if (/^\s$/u.test(c)) return kSpace;
  if (/^\p{P}$/u.test(c)) return kAlone;
  return -1;
};
const ranges = [], folds = [];
let previous = 0x80;
for (let code = 0x80; code <= kLast; ++code) {
  const c = String.fromCodePoint(code);
  let kind = kindOf(code, c);
  const isHangul = code >= 0xac00 && code <= 0xd7a3;
  const folded = [...c.normalize('NFD')].filter((part) => !/^\p{Mn}$/u.test(part)).join('').toLowerCase();
  const parts = [...folded].filter((part) => !/^\p{Mn}$/u.test(part));
  if (kind < 0 && parts.length === 0) kind = kDrop;
  if (kind >= 0) {
    const last = ranges.at(-1);
    if (last && last[0] + last[1] === code && last[2] === kind) ++last[1];
    else ranges.push([code, 1, kind]);
    if (kind !== kAlone) continue;
  }
  if (isHangul || parts.join('') === c) continue;
  folds.push((code - previous) * 8 + parts.length, ...parts.map((part) => part.codePointAt(0)));
  if (parts.length > 7) throw new Error('a fold does not fit');
  previous = code;
}
const lines = (items) => {
  const out = [];
  let line = '';
  for (const item of items.map(String)) {
    if (line.length + item.length + 1 > 110) { out.push(line); line = ''; }
    line += item + ',';
  }
  return [...out, line].join('\n');
};
console.log(`// Made by tools/make_fold_tables.mjs. Do not edit.
#include "fold_tables.h"

namespace tertulia {

// clang-format off
const std::uint32_t kFoldRanges[] = {
${lines(ranges.flatMap(([code, length, kind]) => [code, length * 4 + kind]))}
};
const std::size_t kFoldRangesSize = ${ranges.length * 2};

const std::uint32_t kFolds[] = {
${lines(folds)}
};
const std::size_t kFoldsSize = ${folds.length};
// clang-format on

}  // namespace tertulia`);
