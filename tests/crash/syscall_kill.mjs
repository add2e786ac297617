// syscall_kill.mjs WORKER KIND: kills the worker with SIGKILL at its first, second, … write, sync, rename, removal and
// creation, until it runs through, and compares the store with a ledger each time. Also lets each of those calls be
// interrupted (EINTR), which nobody may notice.
//
// A call is killed when it begins, so that it has no effect. Needs strace and the right to trace.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ledger } from './ledger.mjs';
import { Lives } from './lives.mjs';

const [worker, kind] = process.argv.slice(2);
const lives = new Lives(worker);
const folder = mkdtempSync(join(tmpdir(), `tertulia-syscall-${kind}-`));
// `write` is how the worker speaks to us; neither store uses it for files.
const CALLS = ['pwrite64', 'fdatasync', 'fsync', 'rename', 'unlink,rmdir,unlinkat', 'ftruncate', 'mkdir,mkdirat', 'openat'];
// A store opens files for each thing it does; only those that may create one matter, and strace cannot tell them apart.
const stride = (call, at) => (process.env.TERTULIA_LONG ? 1 : call === 'openat' ? 4 : at > 24 ? 5 : at > 8 ? 2 : 1);

function fail(message, directory) {
  console.error(`${kind}: ${message}\nthe store is left in ${directory}`);
  process.exit(1);
}

// `refuses`: the worker may give up with an I/O error.
function traced(call, what, directory, refuses = false) {
  const ledger = new Ledger();
  const run = spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:${what}`,
    worker, 'once', kind, directory], { encoding: 'utf8' });
  if (run.error) fail(`strace cannot be run: ${run.error.message}`, directory);
  if (/PTRACE|ptrace|not permitted/.test(run.stderr)) fail(`this machine does not permit tracing: ${run.stderr}`, directory);
  for (const line of run.stdout.split('\n').filter(Boolean)) {
    if (!ledger.note(line) && !(refuses && line.includes('storage_io'))) fail(`${call} ${what}: ${line}`, directory);
  }
  return { ledger, killed: run.signal === 'SIGKILL' || run.status === 137, status: run.status, stderr: run.stderr };
}

let kills = 0;
let rounds = 0;
for (const call of CALLS) {
  for (let at = 1; ; at += stride(call, at)) {
    const directory = join(folder, `${call.split(',')[0]}-${at}`);
    const { ledger, killed, status, stderr } = traced(call, `signal=KILL:when=${at}`, directory);
    rounds += 1;
    if (!killed && status !== 0) fail(`${call} ${at}: the worker ended with ${status}: ${stderr}`, directory);
    if (killed) kills += 1;
    const wrong = await ledger.check(lives, kind, directory);
    if (wrong) fail(`killed at ${call} number ${at}: ${wrong}`, directory);
    // It goes on where it stopped.
    if (killed && at % 8 === 1) {
      const again = await lives.live(['once', kind, directory]);
      if (again.status !== 0) fail(`killed at ${call} number ${at}, started again: ${again.status}\n${again.lines.join('\n')}`, directory);
    }
    rmSync(directory, { recursive: true, force: true });
    if (!killed) break;
  }
}
if (kills < 30) fail(`only ${kills} kills: the test proves nothing`, folder);

let interruptions = 0;
for (const call of ['pwrite64', 'fdatasync', 'fsync']) {
  for (const when of ['1', '2', '3+2']) {
    const directory = join(folder, `${call}-eintr`);
    // An interrupted sync is a failed one for those who cannot tell: refusing is right, losing is not.
    const { ledger, status, stderr } = traced(call, `error=EINTR:when=${when}`, directory, call !== 'pwrite64');
    interruptions += 1;
    if (status !== 0 && call === 'pwrite64') fail(`EINTR in ${call} ${when}: ${status}: ${stderr}`, directory);
    const wrong = await ledger.check(lives, kind, directory);
    if (wrong) fail(`EINTR in ${call} ${when}: ${wrong}`, directory);
    rmSync(directory, { recursive: true, force: true });
  }
}
lives.end();
rmSync(folder, { recursive: true });
console.log(`${kind}: killed at ${kills} system calls in ${rounds} rounds, interrupted in ${interruptions}, 0 acknowledged lost`);
