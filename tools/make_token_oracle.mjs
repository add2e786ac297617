// Writes generated text and what npm tiktoken (wasm) makes of it, in the form that the tokenizer tests read:
//
//   npm install --prefix /tmp/tiktoken tiktoken@1.0.22
//   node tools/make_token_oracle.mjs /tmp/tiktoken/node_modules/tiktoken /tmp/oracle [megabytes, default 10] [seed]
//   TERTULIA_ORACLE_DIR=/tmp/oracle build/dev/bin/text_tests --gtest_filter='TokenizerOracle.*'
//
// fuzz.txt is text of random scripts, words, spaces, digits, marks and contractions; points.txt has every code
// point that is not a surrogate, each in several surroundings.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const [packageDir, outDir, megabytes = '10', seedText = '1'] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const {get_encoding: getEncoding} = require(path.resolve(packageDir, 'tiktoken.cjs'));

let state = BigInt(seedText) * 0x9e3779b97f4a7c15n | 1n;
const random = (n) => {
  state = state * 6364136223846793005n + 1442695040888963407n & 0xffffffffffffffffn;
  return Number(state >> 33n) % n;
};
const pick = (list) => list[random(list.length)];
const range = (from, to) => String.fromCodePoint(from + random(to - from));
const some = (most, make) => Array.from({length: 1 + random(most)}, make).join('');

const words = ('the of and conversation engine token durable branching crash safe I\'m don\'t WE\'LL they\'VE it\'s O\'Reilly ' +
    'HTTPServer getElementById snake_case kConstant std::vector<int> JSON {"key": [1, 2.5, null]} función straße über naïve ' +
    'Zürich été łódź привет как дела Ελλάδα שלום مرحبا नमस्ते สวัสดี 你好世界 日本語 한국어 ภาษาไทย 👩‍👩‍👧 🇩🇪 ☃️ é ½ Ⅷ ² ǅ ʰ ª').split(' ');
const makers = [
  () => pick(words), () => ' ' + pick(words), () => pick(words).toUpperCase(), () => ' ',
  () => some(6, () => pick([' ', '\n', '\r\n', '\t', '\u00a0', '\u3000', '\u0085', '\u2028'])),
  () => some(9, () => range(48, 58)), () => some(3, () => range(0x660, 0x66a)),
  () => some(8, () => pick([...'.,;:!?-_/\\|"\'()[]{}<>@#$%^&*+=~`'])),
  () => '\'' + pick(['s', 'S', 't', 're', 'RE', 've', 'm', 'LL', 'll', 'd', 'l', 'r', '\u017f', 'x']),
  () => some(12, () => range(97, 123)), () => some(5, () => range(65, 91)), () => some(6, () => range(0xc0, 0x250)),
  () => some(6, () => range(0x370, 0x530)), () => some(6, () => range(0x5d0, 0x700)), () => some(6, () => range(0x900, 0xe80)),
  () => some(12, () => range(0x4e00, 0x9fa6)), () => some(8, () => range(0x3041, 0x30ff)), () => some(6, () => range(0xac00, 0xd7a4)),
  () => some(4, () => range(0x1f300, 0x1f700)), () => some(4, () => range(0x300, 0x370)), () => some(3, () => range(0x1d400, 0x1d800)),
  () => some(3, () => range(0x10000, 0x10ffff)), () => some(3, () => range(0x1c4, 0x1cd)), () => some(3, () => range(0x2000, 0x3000)),
  () => range(0, 32), () => pick([...'ab /=-.\n字é1']).repeat(1 + random(300)),
];

function write(name, text) {
  const bytes = Buffer.from(text);
  fs.writeFileSync(path.join(outDir, `${name}.txt`), bytes);
  for (const [encoding, short] of [['o200k_base', 'o200k'], ['cl100k_base', 'cl100k']]) {
    const encoder = getEncoding(encoding);
    const ids = encoder.encode_ordinary(text);
    fs.writeFileSync(path.join(outDir, `${name}.${short}.u32`), Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength));
    encoder.free();
    console.log(`${name} ${short}: ${bytes.length} bytes, ${ids.length} tokens`);
  }
}

fs.mkdirSync(outDir, {recursive: true});
const parts = [];
for (let size = 0; size < Number(megabytes) * 1e6;) {
  const part = pick(makers)();
  parts.push(part);
  size += Buffer.byteLength(part);
}
write('fuzz', parts.join(''));

const points = [];
for (let code = 0; code < 0x110000; ++code) {
  if (code >= 0xd800 && code < 0xe000) continue;
  const c = String.fromCodePoint(code);
  points.push(`${c}a${c}A${c} ${c}1${c}${c}\n'${c}`);
}
write('points', points.join(''));
