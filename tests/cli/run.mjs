// run.mjs PROGRAM STORY [STORE]: runs the commands of a story in an empty folder and compares what they print.
//
//   # a comment
//   $ tertulia tokens hello.txt      a command for bash; `tertulia` is PROGRAM
//   out: tokens  bytes  o200k_base   the next line of standard output; `…` stands for anything within the line
//   err: tertulia: …                 the next line of standard error
//   exit: 66                         its exit code; 0 if not given
//
// $STORIES is the folder of the story. With STORE, new data directories hold a store of that kind.
// Everything that is printed must be named, in order; `out: ......` stands for any number of further lines.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const program = resolve(process.argv[2]);
const story = process.argv[3];
const folder = mkdtempSync(join(tmpdir(), 'tertulia-cli-'));
const bin = join(folder, '.bin');
mkdirSync(bin);
writeFileSync(join(bin, 'tertulia'), `#!/bin/sh\nexec '${program}' "$@"\n`);
chmodSync(join(bin, 'tertulia'), 0o755);

const environment = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, LC_ALL: 'C.UTF-8', STORIES: dirname(resolve(story)) };
if (process.argv[4]) Object.assign(environment, { TERTULIA_STORE_KIND: process.argv[4], TERTULIA_DATA: join(folder, 'data') });
for (const name of Object.keys(process.env)) if (/^(ASAN|UBSAN|TSAN|LSAN)_/.test(name)) environment[name] = process.env[name];

const steps = [];
readFileSync(story, 'utf8').split('\n').forEach((line, index) => {
  const at = `${story}:${index + 1}`;
  if (line.startsWith('$ ')) steps.push({ at, command: line.slice(2), out: [], err: [], exit: 0 });
  else if (line.startsWith('+ ')) steps.at(-1).command += `\n${line.slice(2)}`;
  else if (/^(out|err):/.test(line)) steps.at(-1)[line.slice(0, 3)].push(line.slice(4).replace(/^ /, ''));
  else if (line.startsWith('exit: ')) steps.at(-1).exit = Number(line.slice(6));
  else if (line.trim() && !line.startsWith('#')) throw new Error(`${at}: not understood: ${line}`);
});

const matches = (pattern, line) =>
  new RegExp(`^${pattern.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`, 'u').test(line);

function difference(expected, text) {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  for (let i = 0; ; i += 1) {
    if (expected[i] === '......') return null;
    if (i === expected.length && i === lines.length) return null;
    if (i >= expected.length) return `printed more: ${lines[i]}`;
    if (i >= lines.length) return `did not print: ${expected[i]}`;
    if (!matches(expected[i], lines[i].trimEnd())) return `expected: ${expected[i]}\n     got: ${lines[i]}`;
  }
}

let failures = 0;
for (const step of steps) {
  const run = spawnSync('bash', ['-c', step.command], { cwd: folder, env: environment, encoding: 'utf8', input: '', maxBuffer: 1 << 28 });
  const problems = [];
  for (const stream of ['out', 'err']) {
    const problem = difference(step[stream], run[`std${stream}`]);
    if (problem) problems.push(`std${stream} ${problem}`);
  }
  if (run.status !== step.exit) problems.push(`exit code ${run.status} (${run.signal ?? 'no signal'}), expected ${step.exit}`);
  if (problems.length === 0) continue;
  failures += 1;
  console.error(`${step.at}: $ ${step.command}\n  ${problems.join('\n  ')}\n--- stdout\n${run.stdout}--- stderr\n${run.stderr}`);
}
rmSync(folder, { recursive: true });
console.log(`${steps.length} commands, ${failures} failures`);
process.exit(failures === 0 && steps.length > 0 ? 0 : 1);
