// approval_matrix.mjs WORKER KIND: an agent asks about three calls of a batch of four. Each way of deciding is gone
// through with answers of the same process and of another one, and the process is killed at each point of it. At the end
// every call must have run exactly as often as it was allowed to, counted outside of the process.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { place_in_memory } from './agent_ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind] = process.argv.slice(2);
const lives = new Lives(worker);
const folder = mkdtempSync(join(place_in_memory(), `tertulia-approvals-${kind}-`));
// No life between two questions has more of them.
const LEFT_POINTS = 20;
// "misled-": before that somebody allows the call with other arguments, which is no answer to it.
const DECISIONS = [
  'once,once,once', 'deny,deny,deny', 'once,deny,deny', 'deny,once,once', 'always,once,once',
  'misled-once,misled-deny,misled-once', 'misled-deny,once,misled-deny',
];

function fail(message) {
  console.error(`${kind}: ${message}\nthe store is left in ${folder}`);
  process.exit(1);
}

// Whether it was killed, and what it said.
async function run(place, verb, decisions = '-', at = 0) {
  const words = [verb, kind, `${place}-data`, `${place}-ledger`, decisions];
  const { killed, status, lines } = await lives.live(words, { kill_at: at });
  const wrong = lines.find((line) => line.startsWith('fail'));
  if (wrong) fail(`${verb} ${decisions}, point ${at}: ${wrong}`);
  if (!killed && status !== 0) fail(`${verb} ${decisions}, point ${at}: ended with ${status}`);
  return { killed, lines };
}

// Killed at the point; then again and again without, until the turn is committed. Where somebody else answers, the first
// lives each end at a question at the latest, and all of those are killed at the point.
async function go_through(place, decisions, elsewhere, at) {
  const own = elsewhere ? 'leave,leave,leave' : decisions;
  const killed_lives = elsewhere ? 5 : 1;
  let { killed } = await run(place, 'turn', own, at);
  const hit = killed;
  for (let life = 1; killed; life += 1) {
    if (life > 15) fail(`${decisions}, point ${at}: it never ends`);
    if (elsewhere && decisions.includes('misled-')) await ask_again(place);
    if (elsewhere) await run(place, 'answer', decisions.replaceAll('misled-', ''), 0);
    ({ killed } = await run(place, 'turn', own, life < killed_lives ? at : 0));
  }
  return hit;
}

const ledger_of = (place) => (existsSync(`${place}-ledger`) ? readFileSync(`${place}-ledger`, 'utf8').split('\n').filter(Boolean) : []);

// Somebody answers to other arguments. Whoever goes on with the turn runs nothing for that, and asks again.
async function ask_again(place) {
  const { lines } = await run(place, 'mislead');
  const misled = lines.filter((line) => line.startsWith('misled')).length;
  if (misled === 0) return;
  const before = ledger_of(place).length;
  const life = await run(place, 'turn', 'leave,leave,leave');
  if (!life.killed || !life.lines.some((line) => line.startsWith('asked'))) fail('an answer to other arguments was taken for one');
  if (ledger_of(place).length !== before) fail('an answer to other arguments has run something');
}

async function check(place, decisions, at) {
  const wanted = ['-', ...decisions.replaceAll('misled-', '').split(',')];
  // A standing rule for a tool holds for its later calls.
  if (wanted[1] === 'always') wanted[3] = 'always';
  const ledger = ledger_of(place);
  const { lines } = await run(place, 'list');
  const calls = lines.filter((line) => line.startsWith('call '));
  const where = `${decisions}, killed at point ${at}`;
  if (calls.length !== 4) fail(`${where}: ${calls.length} calls are on record`);
  if (!lines.includes('open 0')) fail(`${where}: questions are left over`);
  for (const line of calls) {
    const [, key, tool, outcome] = line.split(' ');
    const number = Number(key.split('/').at(-1));
    const runs = ledger.filter((one) => one === `${key} ${tool}`).length;
    const denied = wanted[number] === 'deny';
    if (denied && (runs !== 0 || outcome !== 'denied')) fail(`${where}: ${line}, and it ran ${runs} times`);
    if (denied) continue;
    const unsafe = tool === 'pay';
    const right = outcome === 'ok' ? (unsafe ? runs === 1 : runs >= 1) : outcome === 'unknown' && unsafe && runs <= 1;
    if (!right) fail(`${where}: ${line}, and it ran ${runs} times`);
  }
  if (ledger.some((line) => !calls.some((call) => line.startsWith(call.split(' ')[1])))) fail(`${where}: something ran that is not on record`);
}

let ways = 0;
for (const decisions of DECISIONS) {
  for (const elsewhere of [false, true]) {
    for (let at = 1; ; at += 1) {
      const place = join(folder, `${ways}`);
      const hit = await go_through(place, decisions, elsewhere, at);
      await check(place, decisions, at);
      ways += 1;
      rmSync(`${place}-data`, { recursive: true, force: true });
      rmSync(`${place}-ledger`, { force: true });
      // With "leave" it always ends by being killed: by itself, at the first question.
      if (!hit || (elsewhere && at >= LEFT_POINTS)) break;
    }
  }
}
if (ways < 250) fail(`only ${ways} ways: the test proves nothing`);
lives.end();
rmSync(folder, { recursive: true });
console.log(`${kind}: ${ways} ways through the matrix, each call ran exactly as often as it was allowed to`);
