// flips.mjs TERTULIA KIND FLIPS: changes one bit in a file of a data directory, and asks every listing: each shows what it
// showed before, or says that something is damaged, by its exit code and in words. FLIPS for each kind of file; with
// TERTULIA_FULL=1 it is 300.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [tertulia, kind, usual] = process.argv.slice(2);
const flips = process.env.TERTULIA_FULL ? 300 : Number(usual);
const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), `tertulia-flips-${kind}-`));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const whole = join(folder, 'whole');
const data = join(folder, 'data');

function run(args, directory) {
  const env = { PATH: process.env.PATH, HOME: folder, TERTULIA_DATA: directory, TERTULIA_STORE_KIND: kind };
  const { status, signal, stdout, stderr } = spawnSync(tertulia, args, { encoding: 'utf8', env, cwd: folder });
  return { status: status ?? signal, stdout, stderr };
}
function must(...args) {
  const done = run(args, whole);
  if (done.status !== 0) throw new Error(`${args.join(' ')}: ${done.status}\n${done.stdout}${done.stderr}`);
}

// Something of everything.
must('sessions', 'import', join(here, 'data/chatgpt.json'));
for (const name of ['one', 'two']) {
  must('chat', '--session', name, 'My name is Ana');
  must('chat', '--session', name, 'I live in Madrid');
}
must('sessions', 'close', 'two');
must('memory', 'add', 'I live in Madrid');
must('memory', 'add', 'I moved to Lisbon');
writeFileSync(join(folder, 'rex.md'), '# Rex\n\nRex eats twice a day.\n');
must('memory', 'add', '--file', 'rex.md');

const sessions = run(['sessions', 'list', '--json'], whole).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line).session ?? JSON.parse(line).id);
const listings = [
  ['sessions', 'list'], ['tools', 'calls'], ['tools', 'unknown'], ['turns'], ['approve', 'list'],
  ['memory', 'list'], ['memory', 'list', '--documents'], ['memory', 'episodes'],
  ...sessions.flatMap((name) => [['sessions', 'show', name], ['branches', 'list', name], ['messages', 'list', name, '--branch', 'main']]),
].map((words) => [...words, '--json']);
const before = new Map(listings.map((words) => [words.join(' '), run(words, whole)]));
for (const [words, answer] of before) if (answer.status !== 0) throw new Error(`${words}: ${answer.status} ${answer.stderr}`);

// By what they are: session.json, branch.json, memory.jsonl, …
const kinds = new Map();
for (const name of readdirSync(whole, { recursive: true })) {
  const path = join(whole, name);
  const file = basename(name);
  if (!statSync(path).isFile() || statSync(path).size === 0 || /^lock$|\.lock$|^lengths\.json$/.test(file)) continue;
  kinds.set(file, [...(kinds.get(file) ?? []), name]);
}

let seed = Number(process.env.TERTULIA_SEED ?? 1);
const random = (below) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * below); };
let noticed = 0;
let total = 0;
const silent = [];
for (const [file, names] of kinds) {
  for (let n = 0; n < flips; ++n) {
    rmSync(data, { recursive: true, force: true });
    cpSync(whole, data, { recursive: true });
    const path = join(data, names[random(names.length)]);
    const bytes = readFileSync(path);
    const at = random(bytes.length);
    const bit = random(8);
    bytes[at] ^= 1 << bit;
    writeFileSync(path, bytes);
    ++total;
    for (const words of listings) {
      const { status, stdout, stderr } = run(words, data);
      const asked = words.join(' ');
      if (status === 0 && stdout === before.get(asked).stdout) continue;
      const says = /damage/.test(stdout + stderr);
      if (status !== 0 && Number.isInteger(status)) { ++noticed; continue; }
      if (says && asked === 'sessions list --json') { ++noticed; continue; }
      silent.push(`${asked} after bit ${bit} of byte ${at} of ${path.slice(data.length + 1)}: ${status}\n${stdout}${stderr}`);
    }
  }
}
if (silent.length > 0) {
  console.error(`${kind}: ${silent.length} listings differ in silence:\n${silent.slice(0, Number(process.env.TERTULIA_SHOW ?? 3)).join('\n')}`);
  process.exit(1);
}
console.log(`${kind}: ${total} bits of ${kinds.size} kinds of files, ${listings.length} listings each, ${noticed} that say so, 0 silent`);
