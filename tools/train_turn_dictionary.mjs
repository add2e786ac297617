// train_turn_dictionary.mjs OUT: makes a dictionary for the turns of the SQLite store (libs/store/src/sqlite/packing.h)
// from the prose of this tree, in the form in which rows hold it. Needs `zstd`.
//
// A dictionary that was released never changes, since rows cannot be read without it: another one gets another number.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const out = process.argv[2];
if (!out) {
  console.error('usage: node tools/train_turn_dictionary.mjs OUT');
  process.exit(2);
}

let state = 1;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = (list) => list[random(list.length)];
const letters = (count) => Array.from({ length: count }, () => pick([...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'])).join('');

// What is packed of a message: its block behind the head (docs/formats/message.md).
function packed({ text, kind, name = '', call = '' }) {
  const body = Buffer.from(name + call + text);
  if (kind === undefined) return body;
  const table = Buffer.alloc(14);
  table.writeUInt16LE(1, 0);
  table.set([kind, 0], 2);
  table.writeUInt16LE(Buffer.byteLength(name), 4);
  table.writeUInt32LE(Buffer.byteLength(call), 6);
  table.writeUInt32LE(body.length, 10);
  return Buffer.concat([table, body]);
}

const tools = [
  ['read_file', () => ({ path: `src/${letters(5)}.cc`, offset: random(900), limit: 200 }), (text) => ({ content: text, truncated: false })],
  ['list_orders', () => ({ customer_id: letters(8), status: pick(['open', 'closed']) }), () => [{ id: random(9999), name: letters(6), date: '2026-01-31', total: '19.90' }]],
  ['web_fetch', () => ({ url: `https://example.org/${letters(6)}`, method: 'GET' }), (text) => ({ status: 200, title: text.slice(0, 30), text })],
  ['run_command', () => ({ command: `ls -la ${letters(4)}`, timeout: 30 }), () => ({ exit_code: 0, stdout: 'total 0\n', stderr: '' })],
  ['remember', (text) => ({ text, tags: ['user', 'preference'] }), () => ({ success: true, error: null })],
];

function sample(prose, place) {
  const part = (length) => prose.slice((place += length) - length, place);
  const call = `call_${letters(pick([1, 24]))}`;
  const messages = [packed({ text: part(40 + random(400)) })];
  if (random(2) === 0) {
    const [name, input, output] = pick(tools);
    messages.push(packed({ text: JSON.stringify(input(part(60))), kind: 2, name, call }));
    messages.push(packed({ text: JSON.stringify(output(part(120))), kind: 3, name, call }));
  }
  messages.push(packed({ text: part(80 + random(700)) }));
  return Buffer.concat([...messages, Buffer.from([0])]);
}

const markdown = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md')).sort().map((name) => join(folder, name));
const prose = [join(root, 'README.md'), join(root, 'CONTRIBUTING.md'), ...markdown(join(root, 'docs'))]
  .map((file) => readFileSync(file, 'utf8').replace(/[^\x0a\x20-\x7e]/g, ' ').replace(/[ |]+/g, ' ')).join('\n');
const work = mkdtempSync(join(tmpdir(), 'turn-dictionary-'));
try {
  mkdirSync(join(work, 'samples'));
  for (let i = 0; i < 3000; ++i) writeFileSync(join(work, 'samples', String(i)), sample(prose, random(prose.length - 2000)));
  execFileSync('zstd', ['-q', '-f', '--train', '-r', join(work, 'samples'), '--maxdict=2048', '--dictID=1', '-o', out], { stdio: 'inherit' });
} finally {
  rmSync(work, { recursive: true });
}
