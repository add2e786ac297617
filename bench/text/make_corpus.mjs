// Writes the corpora that the token figures are measured on: english, code, json, chinese, multilingual, mixed.
//
//   node bench/text/make_corpus.mjs OUT_DIR [megabytes each, default 5]
//
// The same everywhere: put together from phrases.txt, and code from this repository, by a fixed sequence. English is
// taken from the real conversations of tests/data/oasst.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const [outDir, megabytes = '5'] = process.argv.slice(2);
const size = Number(megabytes) * 1e6;

let state = 20240501n;
const random = (n) => {
  state = state * 6364136223846793005n + 1442695040888963407n & 0xffffffffffffffffn;
  return Number(state >> 33n) % n;
};
const pick = (list) => list[random(list.length)];

const languages = {};
let current;
for (const line of fs.readFileSync(path.join(here, 'corpus/phrases.txt'), 'utf8').split('\n')) {
  const heading = /^\[(\w+)\]$/.exec(line);
  if (heading) current = languages[heading[1]] = {slots: []};
  const slot = /^(\w+): (.*)$/.exec(line);
  if (slot && current) current.slots.push(slot[2].split('|'));
}
const dense = new Set(['chinese', 'japanese']);
function sentence(language) {
  const joint = dense.has(language) ? '' : ' ';
  const end = dense.has(language) ? pick(['。', '。', '！', '？']) : pick(['. ', '. ', '.\n\n', '! ', '? ']);
  const parts = languages[language].slots.map((choices) => pick(choices));
  const number = random(6) === 0 ? ` (${random(3000)})` : '';
  return parts.join(joint).replaceAll(/ ([,，、])/g, '$1') + number + end;
}
function fill(make) {
  const parts = [];
  for (let have = 0; have < size;) {
    const part = make();
    parts.push(part);
    have += Buffer.byteLength(part);
  }
  return parts.join('');
}

function* sources(folder) {
  for (const entry of fs.readdirSync(folder, {withFileTypes: true}).sort((a, b) => a.name < b.name ? -1 : 1)) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(full);
    else if (/\.(h|cc|mjs|ts|cmake)$/.test(entry.name) && entry.name !== 'unicode_tables.cc') yield fs.readFileSync(full, 'utf8');
  }
}
const oasst = path.join(root, 'tests/data/oasst/trees.jsonl');
function conversationTexts() {
  const texts = [];
  const walk = (node) => {
    if (typeof node?.text === 'string') texts.push(node.text);
    for (const value of Object.values(node ?? {})) if (value && typeof value === 'object') walk(value);
  };
  fs.readFileSync(oasst, 'utf8').split('\n').filter(Boolean).forEach((line) => walk(JSON.parse(line)));
  return texts.flatMap((text) => text.split(/(?<=\n)/));
}
const english = conversationTexts();
// Names in the code are varied, so that the file does not merely repeat.
const functions = [...sources(path.join(root, 'libs'))].flatMap((text) => text.split(/(?<=\n\n)/));
const code = () => pick(functions).replaceAll(/\b(value|text|size|index|name|count)\b/g, (word) => random(4) ? word : `${word}_${random(50)}`);
const json = () => JSON.stringify({
  id: random(1e9).toString(36), role: pick(['user', 'assistant', 'tool']), time: `2026-0${1 + random(9)}-1${random(10)}T0${random(10)}:${10 + random(50)}:00Z`,
  tokens: random(4000), score: random(1e6) / 1e6, parts: [{type: 'text', text: sentence('english')}, {type: 'tool_call', name: pick(['search', 'read_file', 'book_table']),
  arguments: {query: pick(languages.english.slots[2]), limit: random(50), exact: random(2) === 0, cursor: null}}],
}, null, random(3) ? 0 : 2) + '\n';
const foreign = Object.keys(languages).filter((language) => language !== 'english');

const corpora = {
  english: () => pick(english),
  code,
  json,
  chinese: () => sentence('chinese'),
  multilingual: () => sentence(pick(foreign)),
};
corpora.mixed = () => pick([corpora.english, code, json, corpora.chinese, () => sentence('emoji'), corpora.multilingual])();
fs.mkdirSync(outDir, {recursive: true});
for (const [name, make] of Object.entries(corpora)) fs.writeFileSync(path.join(outDir, `${name}.txt`), fill(make));
