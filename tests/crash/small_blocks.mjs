// small_blocks.mjs PROGRAM ROUNDS: a disk with blocks of 1 KiB, smaller than the pages of memory, that is filled under a server
// which is killed and started again, on the full disk as often as not. A file that is mapped has no room for all of its pages
// there, and writing to one that has none ends a process: no start and no request may. With room every change succeeds again.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [program, rounds] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tertulia-blocks-'));
const [image, disk] = [join(folder, 'image'), join(folder, 'disk')];
mkdirSync(disk);
writeFileSync(image, Buffer.alloc(12 << 20));
const made = spawnSync('mkfs.ext4', ['-q', '-b', '1024', '-m', '0', '-O', '^has_journal', image]).status === 0;
const mounted = made && spawnSync('mount', ['-o', 'loop', image, disk]).status === 0;
let server;
process.on('exit', () => {
  server?.process.kill('SIGKILL');
  if (mounted) spawnSync('umount', ['-l', disk]);
  rmSync(folder, { recursive: true, force: true });
});
if (!mounted) {
  console.log('no disk with small blocks can be made and mounted here: nothing was tried');
  process.exit(0);
}

const data = join(disk, 'data');
writeFileSync(join(folder, 'config.toml'), '[model]\nname = "offline"\n');
const port = await new Promise((resolve) => {
  const other = createServer().listen(0, '127.0.0.1', () => {
    const { port: free } = other.address();
    other.close(() => resolve(free));
  });
});
const url = `http://127.0.0.1:${port}`;
function fail(message) {
  console.error(`${message}\n${server?.said ?? ''}`);
  process.exit(1);
}
async function start() {
  const one = spawn(program, ['--config', join(folder, 'config.toml'), '--data', data, '--json', 'serve', '--port', String(port)], { env: { PATH: process.env.PATH, HOME: folder } });
  server = { process: one, said: '', ended: new Promise((resolve) => one.once('exit', (code, signal) => resolve(signal ?? code))) };
  one.stderr.on('data', (bytes) => (server.said = (server.said + bytes).slice(-2000)));
  const up = await Promise.race([new Promise((resolve) => one.stdout.on('data', (bytes) => String(bytes).includes('listening') && resolve(true))), server.ended]);
  if (up !== true) fail(`the server ended with ${up}, ${room()} bytes free`);
}
async function kill() {
  server.process.kill('SIGKILL');
  await server.ended;
}
// The status; the end of the server is the end of the test.
async function say(session, bytes) {
  try {
    const reply = await fetch(`${url}/api/v1/turns`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ session, message: Array.from({ length: bytes / 8 }, () => random(2 ** 32).toString(36)).join(' ') }) });
    await reply.text();
    return reply.status;
  } catch (problem) {
    return fail(`no answer (${problem.cause ?? problem}); the server ended with ${await server.ended}`);
  }
}
const room = () => { const at = statfsSync(disk); return at.bavail * at.bsize; };
const fill = (leave) => {
  try {
    writeFileSync(join(disk, `ballast-${readdirSync(disk).length}`), Buffer.alloc(Math.max(0, room() - leave), 1));
  } catch (problem) {
    if (problem.code !== 'ENOSPC') throw problem;
  }
};
const free = () => readdirSync(disk).filter((name) => name.startsWith('ballast')).forEach((name) => rmSync(join(disk, name)));
let seed = Number(process.env.TERTULIA_SEED ?? 5);
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};

let [full, kept] = [0, 0];
await start();
for (let round = 0; round < Number(rounds); ++round) {
  fill(random(3) ? random(8) * 4096 : random(200_000));
  for (let i = 0; i < 20; ++i) {
    const status = await say(`s${random(4)}`, 64 + random(2) * random(40_000));
    if (status === 200) kept += 1;
    else if (status === 507) full += 1;
    else fail(`round ${round}: status ${status} on a full disk`);
    if (status === 507) break;
  }
  if (random(4)) {
    await kill();
    if (random(2)) free();
    await start();
    await say('again', 5_000);
  }
  free();
  if (room() < 3_000_000) {
    await kill();
    rmSync(data, { recursive: true });
    await start();
  }
  const status = await say('after', 64);
  if (status !== 200) fail(`round ${round}: status ${status} with ${room()} bytes free`);
}
await kill();
console.log(`${rounds} rounds on blocks of 1 KiB: ${kept} turns kept, ${full} times full, no process ended`);
