// agent_loop.mjs WORKER KIND ROUNDS [SEED]: kills an agent that works in several sessions, at random moments, and
// compares what it says with what its tools really did. A failure prints the seed and the round.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { AgentLedger, place_in_memory } from './agent_ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind, roundsText, seedText] = process.argv.slice(2);
const rounds = Number(roundsText) * (process.env.TERTULIA_LONG ? 25 : 1);
const seed = Number(seedText ?? Date.now() % 1_000_000_007);
const lives = new Lives(worker);
const folder = mkdtempSync(join(place_in_memory(), `tertulia-agents-${kind}-`));
const ROUNDS_PER_STORE = 20;

let state = seed;
const random = () => {  // mulberry32
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

function fail(message) {
  console.error(`seed ${seed}: ${message}\nthe store is left in ${folder}`);
  process.exit(1);
}

async function killed_run(ledger, round) {
  let timer;
  const words = ['load', kind, ledger.directory, ledger.file, String(round)];
  const { killed, status } = await lives.live(words, {
    on_line: (line, kill) => {
      if (!ledger.note(line)) fail(`round ${round}: ${line}`);
      // Some rounds are cut while the last ones are still being gone on with.
      timer ??= setTimeout(kill, random() * random() * 120);
    },
  });
  clearTimeout(timer);
  if (!killed) fail(`round ${round}: the worker ended by itself with ${status}`);
}

let acknowledged = 0;
let effects = 0;
let slowest = 0;
let ledger;
for (let round = 1; round <= rounds; round += 1) {
  const place = join(folder, String(Math.floor((round - 1) / ROUNDS_PER_STORE)));
  if ((round - 1) % ROUNDS_PER_STORE === 0) ledger = new AgentLedger(lives, kind, `${place}-data`, `${place}-ledger`);
  await killed_run(ledger, round);
  // Not after each: then some turns die twice.
  if (random() < 0.3 && round % ROUNDS_PER_STORE !== 0 && round !== rounds) continue;
  const wrong = await ledger.check();
  if (wrong) fail(`round ${round}: ${wrong}`);
  slowest = Math.max(slowest, ledger.slowest);
  if (round % ROUNDS_PER_STORE !== 0 && round !== rounds) continue;
  acknowledged += ledger.acked.size;
  effects += ledger.effects().size;
  rmSync(`${place}-data`, { recursive: true, force: true });
  rmSync(`${place}-ledger`, { force: true });
}
if (acknowledged === 0) fail('nothing was ever acknowledged: the test proves nothing');
lives.end();
rmSync(folder, { recursive: true });
console.log(`${kind}: ${rounds} kills, ${acknowledged} acknowledged turns, 0 lost, ${effects} effects, none twice that must not, `
  + `usable after ${slowest} ms at most (seed ${seed})`);
