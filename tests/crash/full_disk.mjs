// full_disk.mjs WORKER KIND ROUNDS: a disk of 2 MB that is filled, freed and filled again by a process that is killed
// somewhere in it and started again, while the disk is full as often as not. Each start must open the store; with room
// every change must succeed, without room the store must say storage_full; nothing acknowledged may be lost.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ledger } from './ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind, usual] = process.argv.slice(2);
const rounds = process.env.TERTULIA_FULL ? 1000 : Number(usual);
const lives = new Lives(worker);
const folder = mkdtempSync(join(tmpdir(), `tertulia-full-${kind}-`));
const disk = join(folder, 'disk');
mkdirSync(disk);
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { encoding: 'utf8' }).status === 0;
process.on('exit', () => {
  if (mounted) spawnSync('umount', [disk]);
  rmSync(folder, { recursive: true, force: true });
});
function fail(message) {
  if (process.env.TERTULIA_KEEP) spawnSync('cp', ['-a', disk, process.env.TERTULIA_KEEP]);
  console.error(`${kind}: ${message}`);
  process.exit(1);
}
if (!mounted) {
  console.log(`${kind}: no tmpfs can be mounted here; the simulated disk of the fault tests is filled instead`);
  process.exit(0);
}

const directory = join(disk, 'data');
const ballast = join(disk, 'ballast');
const room = () => { const s = statfsSync(disk); return s.bavail * s.bsize; };
let ledger = new Ledger();
let seed = Number(process.env.TERTULIA_SEED ?? 1);
const random = (below) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * below); };
let kept = 0;
let began_full = 0;
for (let round = 0; round < rounds; ++round) {
  if (room() < 16_384) ++began_full;
  const { killed, status, lines } = await lives.live(['press', kind, directory, ballast, `s${round % 2}`, String(1_000 + random(60_000))]);
  for (const line of lines) if (!ledger.note(line)) fail(`round ${round}: ${line}`);
  if (!killed) fail(`round ${round}: the worker ended with ${status}\n${lines.slice(-5).join('\n')}`);
  // As full as it was left: looking must be possible.
  if (existsSync(directory) && round % 10 === 9) {
    const wrong = await ledger.check(lives, kind, directory);
    if (wrong) fail(`round ${round}, ${room()} bytes free: ${wrong}`);
  }
  // What is kept must leave room for more.
  rmSync(ballast, { force: true });
  if (room() < 700_000) {
    const wrong = await ledger.check(lives, kind, directory);
    if (wrong) fail(`round ${round}: ${wrong}`);
    kept += ledger.acked.size;
    ledger = new Ledger();
    rmSync(directory, { recursive: true });
  }
  // Half of the starts find no room at all; to make a store there must be some.
  const is_made = existsSync(join(directory, 'tertulia.db')) || existsSync(join(directory, 'tertulia.json'));
  if (is_made && random(2) === 0) writeFileSync(ballast, Buffer.alloc(Math.max(0, room() - random(2) * random(30_000)), 1));
}
lives.end();
console.log(`${kind}: ${rounds} rounds of a full disk, ${began_full} of them begun on one, ${kept + ledger.acked.size} changes acknowledged, 0 lost, 0 stuck`);
