// agent_points.mjs WORKER KIND: lets an agent kill itself at the first, second, … point of a turn with five tools, until
// it runs through; then the turn is gone on with, and everything must be as promised. Each point is also died at twice.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { AgentLedger, place_in_memory } from './agent_ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind] = process.argv.slice(2);
const lives = new Lives(worker);
const folder = mkdtempSync(join(place_in_memory(), `tertulia-points-${kind}-`));

function fail(message) {
  console.error(`${kind}: ${message}\nthe store is left in ${folder}`);
  process.exit(1);
}

// True if it was killed.
async function run(ledger, at) {
  const { killed, status, lines } = await lives.live(['once', kind, ledger.directory, ledger.file], { kill_at: at });
  for (const line of lines) {
    if (!ledger.note(line)) fail(`point ${at}: ${line}`);
  }
  if (!killed && status !== 0) fail(`point ${at}: the worker ended with ${status}`);
  return killed;
}

let points = 0;
let deaths = 0;
let slowest = 0;
for (let at = 1; ; at += 1) {
  let killed = false;
  for (const again of [false, true]) {
    const place = join(folder, `${at}-${again}`);
    const ledger = new AgentLedger(lives, kind, `${place}-data`, `${place}-ledger`);
    killed = await run(ledger, at);
    deaths += killed;
    if (killed && again) deaths += await run(ledger, at);
    // The client asks again with its key.
    if (killed && await run(ledger, 0)) fail(`point ${at}: killed by nobody`);
    if (ledger.acked.size !== 1) fail(`point ${at}: nothing was acknowledged`);
    const wrong = await ledger.check();
    if (wrong) fail(`killed at point ${at}${again ? ', twice' : ''}: ${wrong}`);
    slowest = Math.max(slowest, ledger.slowest);
    rmSync(`${place}-data`, { recursive: true, force: true });
    rmSync(`${place}-ledger`, { force: true });
  }
  if (!killed) break;
  points += 1;
}
if (points < 20) fail(`only ${points} points: the test proves nothing`);
lives.end();
rmSync(folder, { recursive: true });
console.log(`${kind}: ${points} points, ${deaths} deaths, nothing lost, nothing done twice, usable after ${slowest} ms at most`);
