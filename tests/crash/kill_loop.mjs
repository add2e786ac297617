// kill_loop.mjs WORKER KIND ROUNDS [SEED]: kills the worker with SIGKILL at random moments and compares the store with a
// ledger that the worker cannot take down with it.
//
// After each kill: everything acknowledged is there, nothing is there that was not tried, revisions rise by one, and
// `verify` has nothing to say. A failure prints the seed and the round.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ledger } from './ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind, roundsText, seedText] = process.argv.slice(2);
const rounds = Number(roundsText) * (process.env.TERTULIA_LONG ? 25 : 1);
const seed = Number(seedText ?? Date.now() % 1_000_000_007);
const lives = new Lives(worker);
const folder = mkdtempSync(join(tmpdir(), `tertulia-kill-${kind}-`));
const directory = join(folder, 'data');

let state = seed;
const random = () => {  // mulberry32
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

let ledger = new Ledger();

function fail(message) {
  console.error(`seed ${seed}: ${message}\nthe store is left in ${directory}`);
  process.exit(1);
}

// Runs the worker until some acknowledgements after a random time, then kills it.
async function killed_run(round) {
  let timer;
  const { killed, status } = await lives.live(['run', kind, directory, String(round)], {
    on_line: (line, kill) => {
      if (!ledger.note(line)) fail(`round ${round}: ${line}`);
      // Some rounds are cut while the first writes are under way, others later.
      timer ??= setTimeout(kill, random() * random() * 120);
    },
  });
  clearTimeout(timer);
  if (!killed) fail(`round ${round}: the worker ended by itself with ${status}`);
}

// What is checked grows with every round, so a store is used for a while and then begun anew.
const ROUNDS_PER_STORE = 25;
let total = 0;
for (let round = 1; round <= rounds; round += 1) {
  await killed_run(round);
  const wrong = await ledger.check(lives, kind, directory);
  if (wrong) fail(`round ${round}: ${wrong}`);
  if (round % ROUNDS_PER_STORE !== 0 && round !== rounds) continue;
  total += ledger.acked.size;
  ledger = new Ledger();
  rmSync(directory, { recursive: true, force: true });
}
if (total === 0) fail('nothing was ever acknowledged: the test proves nothing');
lives.end();
rmSync(folder, { recursive: true });
console.log(`${kind}: ${rounds} kills, ${total} acknowledged changes, 0 lost (seed ${seed})`);
