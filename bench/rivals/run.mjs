// run.mjs [--all]: Tertulia and its rivals on the same durable turn, one after the other on the same disk, and what
// follows as ratios: one JSON line a figure, as bench/run.mjs wants them. --all prints each rival's own figures as well.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from './install.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const all = process.argv.includes('--all');

// The figures of one program by name. A program that fails is named, and the others go on.
function measure(command, show = all) {
  const figures = {};
  const child = spawnSync(command[0], [...command.slice(1), work], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: 150_000 });
  for (const line of (child.stdout ?? '').split('\n').filter((one) => one.startsWith('{"rival"'))) {
    const { rival, measure: what, value, unit } = JSON.parse(line);
    figures[what] = value;
    if (show) print(`rivals.${rival}.${what}`, value, unit, '', '');
  }
  if (child.status !== 0) {
    console.error(`${command.join(' ')} failed (${child.signal ?? child.status})`);
    failed = true;
  }
  return figures;
}

// Whole turns of an agent a second, with an instant model and a tool: {one, many}.
function agentRates() {
  const child = spawnSync(path.join(root, 'build/release/bin/bench_agent'), [work, 'rates'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000 });
  const lines = (child.stdout ?? '').split('\n').filter((one) => one.startsWith('{')).map((one) => JSON.parse(one));
  const rate = (name) => lines.find((line) => line.figure === name)?.value ?? Number.NaN;
  return { turns_per_second: rate('agent turns, one session'), turns_per_second_64: rate('agent turns, 64 sessions') };
}

function print(figure, value, unit, goal, against) {
  console.log(JSON.stringify({ figure, value, unit, goal, against }));
}

let failed = false;
install();
fs.mkdirSync(path.join(root, 'build'), { recursive: true });
const work = fs.mkdtempSync(path.join(root, 'build/rivals-'));

// Ours runs before and after each rival, and the mean of both stands beside it: a machine that others use as well, and its
// disk, are not the same from one minute to the next.
const ours = [];
const rivals = [];
try {
  const own = [path.join(root, 'build/release/bin/bench_rivals')];
  ours.push(measure(own, false));
  for (const [name, program, ...words] of [
    ['AI SDK, files', 'ai_sdk'],
    ['AI SDK, files unsynced', 'ai_sdk', '--plain'],
    ['Agents SDK, own SQLite session', 'openai_agents'],
    ['LangGraph.js, SQLite', 'langgraph'],
    ['Mastra, libsql', 'mastra'],
  ]) {
    // Beside the rival that runs an agent's loop: ours with its own, and everything it promises.
    const agents = program === 'langgraph' ? [agentRates()] : [];
    const figures = measure(['node', path.join(here, `${program}.mjs`), ...words]);
    if (agents.length > 0) agents.push(agentRates());
    ours.push(measure(own, false));
    rivals.push({ name, product: program !== 'openai_agents' && !words.includes('--plain'), figures, ours: ours.slice(-2), agents });
  }
} finally {
  fs.rmSync(work, { recursive: true, force: true });
}

if (all) {
  for (const what of Object.keys(ours[0])) {
    const unit = what.startsWith('turns') ? '1/s' : what.includes('bytes') ? 'bytes' : 'ms';
    print(`rivals.tertulia.${what}`, ours.reduce((sum, run) => sum + run[what], 0) / ours.length, unit, '', '');
  }
}

// How many times better ours is than `rival`, or than the best product that is as durable. The Agents SDK brings no durable
// session for JavaScript: what stands there is our own, bare rows on better-sqlite3, a limit rather than a rival.
function ratio(figure, what, goal, rival, ours = 'ours') {
  const meant = (one) => (rival ? one.name.startsWith(rival) : one.product);
  const compared = rivals.filter((one) => what in one.figures && meant(one)).map((one) => {
    const theirs = one.figures[what];
    const own = one[ours].reduce((sum, run) => sum + run[what], 0) / one[ours].length;
    return { name: one.name, theirs, own, times: what.startsWith('turns_per_second') ? own / theirs : theirs / own };
  });
  if (compared.length === 0) return print(`rivals.${figure}`, null, 'times', goal, `${rival ?? 'no rival'} could not be measured`);
  const best = compared.reduce((a, b) => (a.times < b.times ? a : b));
  const unit = what.startsWith('turns') ? '/s' : what.includes('bytes') ? ' bytes' : ' ms';
  const short = (value) => `${Number(value.toPrecision(3))}${unit}`;
  print(`rivals.${figure}`, best.times, 'times', goal, `${best.name}: ${short(best.theirs)}, ours ${short(best.own)}`);
}

ratio('turns_one_session_langgraph', 'turns_per_second', '>= 20', 'LangGraph');
ratio('turns_one_session_best', 'turns_per_second', '');
ratio('turns_64_sessions_best', 'turns_per_second_64', '>= 10');
ratio('turns_64_sessions_bare_rows', 'turns_per_second_64', '>= 10', 'Agents SDK');
ratio('agent_one_session_langgraph', 'turns_per_second', '>= 15', 'LangGraph', 'agents');
ratio('agent_64_sessions_langgraph', 'turns_per_second_64', '>= 80', 'LangGraph', 'agents');
ratio('bytes_per_turn_langgraph', 'bytes_per_turn', '', 'LangGraph');
ratio('bytes_per_turn_best', 'bytes_per_turn', '');
ratio('load_10000_langgraph', 'load_10000_messages', '>= 50', 'LangGraph');
ratio('load_10000_best', 'load_10000_messages', '>= 2');
ratio('load_10000_work_best', 'load_10000_work', '');
ratio('fork_10000_best', 'fork_10000_messages', '');
ratio('fork_bytes_best', 'fork_bytes', '');
process.exit(failed ? 1 : 0);
