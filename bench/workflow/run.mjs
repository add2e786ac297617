// run.mjs BIN: runs of three agents on Tertulia and on LangGraph.js, one after the other on the same disk, and what follows as
// ratios; with them what bench_workflow measures of itself. One JSON line a figure, as bench/run.mjs wants them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from '../rivals/install.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const bin = process.argv[2] ?? path.join(root, 'build/release/bin');

// The lines of one program, each an object.
function lines(command) {
  const child = spawnSync(command[0], [...command.slice(1), work], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: 300_000 });
  if (child.status !== 0) throw new Error(`${command.join(' ')} failed (${child.signal ?? child.status})`);
  return child.stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}
const print = (figure, value, unit, goal, against) => console.log(JSON.stringify({ figure, value, unit, goal, against }));
const short = (value) => `${Number(value.toPrecision(3))}/s`;

install();
fs.mkdirSync(path.join(root, 'build'), { recursive: true });
const work = fs.mkdtempSync(path.join(root, 'build/workflow-'));
try {
  // Ours runs before and after, and the mean of both stands beside the rival: a machine that others use as well is not the
  // same from one minute to the next.
  const before = lines([path.join(bin, 'bench_workflow')]);
  const theirs = Object.fromEntries(lines(['node', path.join(root, 'bench/rivals/langgraph_workflow.mjs')]).map((line) => [line.measure, line.value]));
  const after = Object.fromEntries(lines([path.join(bin, 'bench_workflow'), '--rates']).map((line) => [line.figure, line.value]));
  for (const { figure, value, unit, goal, against } of before) {
    const [, kind, where = '', many = ''] = /^workflow\.runs_per_second_(sequential|concurrent)(_in_a_conversation)?(_64)?$/.exec(figure) ?? [];
    if (!kind) {
      print(figure, value, unit, goal, against);
      continue;
    }
    const mean = (value + after[figure]) / 2;
    const rival = theirs[`${kind}_runs_per_second${where}${many}`];
    print(figure, mean, unit, '', against);
    print(`workflow.${kind}${where}${many}_langgraph`, mean / rival, 'times', many ? '>= 50' : '>= 8', `LangGraph.js: ${short(rival)}, ours ${short(mean)}`);
  }
} finally {
  fs.rmSync(work, { recursive: true, force: true });
}
