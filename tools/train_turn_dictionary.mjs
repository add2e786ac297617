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

function id(time) {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.floor(time / 1000), 0, 6);
  for (let i = 6; i < 16; ++i) bytes[i] = random(256);
  bytes[6] = 0x70 | (bytes[6] & 15);
  bytes[8] = 0x80 | (bytes[8] & 63);
  return bytes;
}

function block({ role, origin, time, text, kind, name = '', call = '' }) {
  const plain = kind === undefined;
  const body = Buffer.from(name + call + text);
  const head = Buffer.alloc(36);
  head.set([1, role, plain ? 16 : 0, origin | (3 << 4)], 4);
  head.set(id(time), 8);
  head.writeBigInt64LE(BigInt(time), 24);
  head.writeUInt32LE(Math.ceil(text.length / 4), 32);
  const table = Buffer.alloc(plain ? 0 : 14);
  if (!plain) {
    table.writeUInt16LE(1, 0);
    table.set([kind, 0], 2);
    table.writeUInt16LE(Buffer.byteLength(name), 4);
    table.writeUInt32LE(Buffer.byteLength(call), 6);
    table.writeUInt32LE(body.length, 10);
  }
  const all = Buffer.concat([head, table, body]);
  all.writeUInt32LE(all.length, 0);
  return all;
}

const varint = (value) => Buffer.from(value < 128 ? [value] : value < 16384 ? [(value & 127) | 128, value >> 7] : [(value & 127) | 128, ((value >> 7) & 127) | 128, value >> 14]);

const tools = [
  ['read_file', () => ({ path: `src/${letters(5)}.cc`, offset: random(900), limit: 200 }), (text) => ({ content: text, truncated: false })],
  ['list_orders', () => ({ customer_id: letters(8), status: pick(['open', 'closed']) }), () => [{ id: random(9999), name: letters(6), date: '2026-01-31', total: '19.90' }]],
  ['web_fetch', () => ({ url: `https://example.org/${letters(6)}`, method: 'GET' }), (text) => ({ status: 200, title: text.slice(0, 30), text })],
  ['run_command', () => ({ command: `ls -la ${letters(4)}`, timeout: 30 }), () => ({ exit_code: 0, stdout: 'total 0\n', stderr: '' })],
  ['remember', (text) => ({ text, tags: ['user', 'preference'] }), () => ({ success: true, error: null })],
];

function body(prose, place) {
  const part = (length) => prose.slice((place += length) - length, place);
  let time = 1_800_000_000_000_000 + random(2 ** 31) * 1000;
  const call = `call_${letters(pick([1, 24]))}`;
  const blocks = [block({ role: 2, origin: 0, time, text: part(40 + random(400)) })];
  if (random(2) === 0) {
    const [name, input, output] = pick(tools);
    blocks.push(block({ role: 3, origin: 1, time: (time += 800_000), text: JSON.stringify(input(part(60))), kind: 2, name, call }));
    blocks.push(block({ role: 4, origin: 2, time: (time += 90_000), text: JSON.stringify(output(part(120))), kind: 3, name, call }));
  }
  blocks.push(block({ role: 3, origin: 1, time: time + 1_500_000, text: part(80 + random(700)) }));
  return Buffer.concat([...blocks.flatMap((one) => [varint(one.length), one]), Buffer.from([0])]);
}

const markdown = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md')).sort().map((name) => join(folder, name));
const prose = [join(root, 'README.md'), join(root, 'CONTRIBUTING.md'), ...markdown(join(root, 'docs'))]
  .map((file) => readFileSync(file, 'utf8').replace(/[^\x0a\x20-\x7e]/g, ' ').replace(/[ |]+/g, ' ')).join('\n');
const work = mkdtempSync(join(tmpdir(), 'turn-dictionary-'));
try {
  mkdirSync(join(work, 'samples'));
  for (let i = 0; i < 3000; ++i) writeFileSync(join(work, 'samples', String(i)), body(prose, random(prose.length - 2000)));
  execFileSync('zstd', ['-q', '-f', '--train', '-r', join(work, 'samples'), '--maxdict=4096', '--dictID=1', '-o', out], { stdio: 'inherit' });
} finally {
  rmSync(work, { recursive: true });
}
