// small_disk.mjs WORKER TERTULIA KIND: fills a real disk of 2 MB until nothing fits, makes room again, and compares the store
// with a ledger; then has the command line meet the full disk, which it must leave with exit code 74.
//
// The disk is a tmpfs. Where it cannot be mounted, a limit on the size of files (RLIMIT_FSIZE) takes its place for the
// command line, and this says so.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ledger } from './ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, tertulia, kind] = process.argv.slice(2);
const lives = new Lives(worker);
const folder = mkdtempSync(join(tmpdir(), `tertulia-small-${kind}-`));
const disk = join(folder, 'disk');
mkdirSync(disk);
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { encoding: 'utf8' }).status === 0;
process.on('exit', () => {
  if (mounted) spawnSync('umount', [disk]);
  rmSync(folder, { recursive: true, force: true });
});

function fail(message) {
  console.error(`${kind}: ${message}`);
  process.exit(1);
}

// An archive that is larger than the disk, of text that cannot be packed.
const noise = () => randomBytes(37_500).toString('base64');
const archive = join(folder, 'large.json');
const node = (id, parent, child, role, text) => ({
  id, parent, children: child ? [child] : [],
  message: role && { id, author: { role }, create_time: 1, content: { content_type: 'text', parts: [text] } },
});
const conversations = Array.from({ length: 40 }, (_, n) => ({
  id: `c${n}`, conversation_id: `c${n}`, title: `c${n}`, create_time: 1, update_time: 2, current_node: 'b',
  mapping: { r: node('r', null, 'a'), a: node('a', 'r', 'b', 'user', noise()), b: node('b', 'a', null, 'assistant', noise()) },
}));
writeFileSync(archive, JSON.stringify(conversations));

function command_line(program, args, data) {
  return spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, TERTULIA_DATA: data, TERTULIA_STORE_KIND: kind, HOME: folder } });
}
function expect_full(run) {
  if (run.status !== 74) fail(`the command line left a full disk with ${run.status ?? run.signal}, not 74\n${run.stdout}${run.stderr}`);
  if (!/full|room|space|No space|too large/i.test(run.stderr)) fail(`it does not say that the disk is full: ${run.stderr}`);
}

if (!mounted) {
  console.log(`${kind}: no tmpfs can be mounted here: the size of files is limited instead, and nothing is filled and freed`);
  const data = join(folder, 'limited');
  expect_full(command_line('bash', ['-c', `trap '' XFSZ; ulimit -f 400; exec '${tertulia}' sessions import '${archive}'`], data));
  process.exit(0);
}

const directory = join(disk, 'data');
const ballast = join(disk, 'ballast');
writeFileSync(ballast, Buffer.alloc(600_000, 1));
const ledger = new Ledger();
const run = spawnSync(worker, ['fill', kind, directory, ballast], { encoding: 'utf8' });
const lines = run.stdout.split('\n').filter(Boolean);
for (const line of lines) if (!ledger.note(line)) fail(line);
if (run.status !== 0) fail(`the worker ended with ${run.status ?? run.signal}\n${lines.at(-1)}\n${run.stderr}`);
if (!lines.includes('full storage_full')) fail('the full disk was not called storage_full');
if (existsSync(ballast)) fail('the worker made no room');
const wrong = await ledger.check(lives, kind, directory);
if (wrong) fail(wrong);
rmSync(directory, { recursive: true });

// Opening needs a little room, which the removed ballast gives back.
writeFileSync(ballast, Buffer.alloc(200_000, 1));
expect_full(command_line(tertulia, ['sessions', 'import', archive], directory));
rmSync(ballast);
const verified = command_line(tertulia, ['verify'], directory);
if (verified.status !== 0 && verified.status !== 66) fail(`after the full disk: ${verified.stdout}${verified.stderr}`);
lives.end();
console.log(`${kind}: ${ledger.acked.size} turns on a disk of 2 MB, full and freed, 0 lost; the command line leaves with 74`);
