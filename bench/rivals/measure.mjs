// The same work on every rival, and the figures it prints: one JSON line each, {"rival","measure","value","unit"}.
//
// A rival is an object:
//   name        as it stands in the figures
//   open(dir)   → a store in that empty directory, with
//     session(id)             → whatever stands for a conversation, new
//     turn(session, n)        makes the n-th turn durable: the promise is kept when it is on the disk
//     fill(session, count)    `count` turns at once, for a history that is not measured
//     load(session)           → every message of the session
//     fork(session)           → another conversation that begins with all of its messages
//     settle()                optional: moves what a log holds to its place, before sizes are taken
//     close()
//
// The turn is that of bench/support/turns.h: user 200 characters, a tool call, its result, assistant 400 characters, in
// the rival's own message types (`turnOf` gives the texts).
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const prose = fs.readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), '../support/prose.txt'), 'utf8');

const mask = (1n << 64n) - 1n;
function scattered(n) {
  let x = ((BigInt(n) + 1n) * 0x9E3779B97F4A7C15n) & mask;
  x = ((x ^ (x >> 30n)) * 0xBF58476D1CE4E5B9n) & mask;
  x = ((x ^ (x >> 27n)) * 0x94D049BB133111EBn) & mask;
  return Number((x ^ (x >> 31n)) >> 11n);
}

function words(n, size) {
  const begin = scattered(n) % (prose.length - size);
  return prose.slice(begin, begin + size);
}

// Turns are made beforehand, and again and again the same ones: making them is not measured.
const turns = Array.from({ length: 2500 }, (_, n) => {
  const days = (scattered(n) % 9) + 1;
  return {
    user: words(3 * n, 200),
    call: `call_${scattered(n) % 1_000_000}`,
    input: { query: `weather ${n % 977}`, days },
    output: { sky: 'clear', high: days * 10 + 1, low: days, wind: 12 },
    answer: words(3 * n + 1, 400),
  };
});
export const turnOf = (n) => turns[n % turns.length];

function bytesWritten() {
  return Number(/wchar: (\d+)/.exec(fs.readFileSync('/proc/self/io', 'utf8'))[1]);
}

function bytesIn(dir) {
  let bytes = 0;
  for (const name of fs.readdirSync(dir, { recursive: true })) {
    const info = fs.statSync(path.join(dir, name));
    if (info.isFile()) bytes += info.size;
  }
  return bytes;
}

const seconds = () => performance.now() / 1000;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function timed(work) {
  const start = seconds();
  await work();
  return seconds() - start;
}

// The milliseconds of the best of some rounds, fewer if they take long: what else the machine does only adds to them. And
// those that this process was at work, which is what is left of them on a machine that others use as well.
async function best(work) {
  const times = [];
  const busy = [];
  const start = seconds();
  do {
    const before = process.cpuUsage();
    times.push(1000 * (await timed(work)));
    const { user, system } = process.cpuUsage(before);
    busy.push((user + system) / 1000);
  } while (times.length < 15 && seconds() - start < 5);
  return { milliseconds: Math.min(...times), busy: Math.min(...busy), rounds: times.length };
}

// 100 turns in one session after another, so that a turn whose cost grows with its history shows it.
async function oneSession(store, print) {
  const rates = [];
  const start = seconds();
  const before = bytesWritten();
  let sessions = 0;
  do {
    const session = await store.session(`one-${sessions++}`);
    rates.push(100 / (await timed(async () => { for (let n = 0; n < 100; ++n) await store.turn(session, n); })));
  } while (sessions < 5 && seconds() - start < 6);
  print('turns_per_second', median(rates), '1/s');
  print('bytes_per_turn', (bytesWritten() - before) / (sessions * 100), 'bytes');
}

// Each has 50 turns behind it, what a session of 100 has in the mean: some do not come far in the time.
async function manySessions(store, print) {
  const sessions = await Promise.all(Array.from({ length: 64 }, (_, i) => store.session(`many-${i}`)));
  for (const session of sessions) await store.fill(session, 50);
  const start = seconds();
  const until = start + 6;
  let done = 0;
  await Promise.all(sessions.map(async (session) => {
    for (let n = 0; n < 100 && seconds() < until; ++n, ++done) await store.turn(session, n);
  }));
  print('turns_per_second_64', done / (seconds() - start), '1/s');
}

async function longSession(store, dir, print) {
  const session = await store.session('long');
  await store.fill(session, 2500);
  const load = await best(async () => {
    // Some keep a call, its result and the answer in one message.
    const messages = await store.load(session);
    if (messages.length < 5000) throw new Error(`only ${messages.length} messages came back`);
  });
  print('load_10000_messages', load.milliseconds, 'ms');
  print('load_10000_work', load.busy, 'ms');
  await store.settle?.();
  const before = bytesIn(dir);
  const fork = await best(() => store.fork(session));
  await store.settle?.();
  print('fork_10000_messages', fork.milliseconds, 'ms');
  print('fork_bytes', (bytesIn(dir) - before) / fork.rounds, 'bytes');
}

export async function measure(rival) {
  const where = process.argv.slice(2).find((word) => !word.startsWith('--')) ?? os.tmpdir();
  const print = (what, value, unit) => console.log(JSON.stringify({ rival: rival.name, measure: what, value, unit }));
  for (const step of [oneSession, manySessions, longSession]) {
    const dir = fs.mkdtempSync(path.join(where, 'rival-'));
    const store = await rival.open(dir);
    try {
      await (step === longSession ? step(store, dir, print) : step(store, print));
    } finally {
      await store.close();
      fs.rmSync(dir, { recursive: true });
    }
  }
}
