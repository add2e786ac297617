// run.mjs [GROUP…] [--json] [--locomo FILE] [--large] [--dialogues FILE]: runs the benchmark programs and shows each figure beside its goal.
//
// A program prints one JSON line a figure: {"figure":…,"value":…,"unit":…,"goal":…,"against":…}. A goal is ">= 10" or
// "<= 1.2", or empty where a number is only shown. Exit code 1 if a goal was missed.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = resolve(root, 'build/release/bin');

const groups = {
  base: [[`${bin}/bench_base`]],
  text: [['bash', 'bench/text/run.sh']],
  conversation: [[`${bin}/bench_conversation`]],
  agent: [[`${bin}/bench_agent`, 'build']],
  memory: [[`${bin}/bench_memory`]],
  model: [[`${bin}/bench_model`]],
  store: [[`${bin}/bench_store`, 'build']],
  view: [[`${bin}/bench_view`], ['node', 'bench/memory/trim.mjs']],
  server: [['node', 'bench/server/run.mjs', bin]],
  web: [['node', 'bench/web/run.mjs', `${bin}/tertulia`]],
  workflow: [['node', 'bench/workflow/run.mjs', bin]],
  rivals: [['node', 'bench/rivals/run.mjs', '--all']],
};

const words = process.argv.slice(2);
// What only one group understands is handed on to it.
for (const [group, option] of [['memory', '--locomo'], ['conversation', '--dialogues']]) {
  const file = words.indexOf(option);
  if (file >= 0) groups[group][0].push(...words.splice(file, 2).map((word, i) => (i === 1 ? resolve(word) : word)));
}
const large = words.indexOf('--large');
if (large >= 0) groups.memory[0].push(...words.splice(large, 1));
const json = words.includes('--json');
const wanted = words.filter((word) => !word.startsWith('--'));
const unknown = [...wanted.filter((word) => !(word in groups)), ...words.filter((word) => word.startsWith('--') && word !== '--json')];
if (unknown.length > 0) {
  console.error(`usage: scripts/bench [${Object.keys(groups).join('|')}]… [--json] [--locomo FILE] [--large] [--dialogues FILE]    (unknown: ${unknown.join(' ')})`);
  process.exit(2);
}

function verdict(figure) {
  const [, sign, bound] = /^\s*(<=|>=|<|>)\s*([\d.]+)/.exec(figure.goal ?? '') ?? [];
  if (!sign) return '';
  const value = Number(figure.value);
  const met = { '<=': value <= bound, '>=': value >= bound, '<': value < bound, '>': value > bound }[sign];
  return met ? 'met' : 'missed';
}

const columns = [['figure', 44], ['value', 12], ['unit', 8], ['goal', 12], ['', 8], ['against', 0]];
const row = (cells) => cells.map((cell, i) => String(cell).padEnd(columns[i][1])).join(' ').trimEnd();
const round = (value) => (Math.abs(value) >= 100 ? Math.round(value).toString() : Number(value).toPrecision(3));

let missed = 0;
async function run(command) {
  const child = spawn(command[0], command.slice(1), { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => {
    child.on('error', (problem) => { console.error(`${command.join(' ')}: ${problem.message}`); done(1); });
    child.on('close', (code) => done(code ?? 1));
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue;
    const figure = JSON.parse(line);
    const result = verdict(figure);
    if (result === 'missed') missed += 1;
    console.log(json ? line : row([figure.figure, round(figure.value), figure.unit, figure.goal ?? '', result, figure.against ?? '']));
  }
  return ended;
}

if (!json) console.log(row(columns.map(([name]) => name)));
let failed = false;
for (const group of wanted.length > 0 ? wanted : Object.keys(groups)) {
  for (const command of groups[group]) if ((await run(command)) !== 0) failed = true;
}
if (!json) console.log(missed === 0 ? '\nEvery goal was met.' : `\n${missed} goals were missed.`);
process.exit(failed || missed > 0 ? 1 : 0);
