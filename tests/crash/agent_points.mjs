// agent_points.mjs WORKER KIND: lets an agent kill itself at the first, second, … point of a turn with five tools, until
// it runs through; then the turn is gone on with, and everything must be as promised. Each point is also died at twice.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { AgentLedger, place_in_memory } from './agent_ledger.mjs';

const [worker, kind] = process.argv.slice(2);
const folder = mkdtempSync(join(place_in_memory(), `tertulia-points-${kind}-`));

function fail(message) {
  console.error(`${kind}: ${message}\nthe store is left in ${folder}`);
  process.exit(1);
}

// True if it was killed.
function run(ledger, at) {
  const env = { ...process.env };
  if (at) env.TERTULIA_KILL_AT = String(at);
  const child = spawnSync(worker, ['once', kind, ledger.directory, ledger.file], { encoding: 'utf8', env });
  for (const line of child.stdout.split('\n').filter(Boolean)) {
    if (!ledger.note(line)) fail(`point ${at}: ${line}`);
  }
  if (child.signal === 'SIGKILL') return true;
  if (child.status !== 0) fail(`point ${at}: the worker ended with ${child.status ?? child.signal}: ${child.stderr}`);
  return false;
}

let points = 0;
let deaths = 0;
let slowest = 0;
for (let at = 1; ; at += 1) {
  let killed = false;
  for (const again of [false, true]) {
    const place = join(folder, `${at}-${again}`);
    const ledger = new AgentLedger(worker, kind, `${place}-data`, `${place}-ledger`);
    killed = run(ledger, at);
    deaths += killed;
    if (killed && again) deaths += run(ledger, at);
    // The client asks again with its key.
    if (killed && run(ledger, 0)) fail(`point ${at}: killed by nobody`);
    if (ledger.acked.size !== 1) fail(`point ${at}: nothing was acknowledged`);
    const wrong = ledger.check();
    if (wrong) fail(`killed at point ${at}${again ? ', twice' : ''}: ${wrong}`);
    slowest = Math.max(slowest, ledger.slowest);
    rmSync(`${place}-data`, { recursive: true, force: true });
    rmSync(`${place}-ledger`, { force: true });
  }
  if (!killed) break;
  points += 1;
}
if (points < 20) fail(`only ${points} points: the test proves nothing`);
rmSync(folder, { recursive: true });
console.log(`${kind}: ${points} points, ${deaths} deaths, nothing lost, nothing done twice, usable after ${slowest} ms at most`);
