// starved.mjs PROGRAM LIBRARY: memory runs out at the n-th allocation of a request, once and from then on, and threads cannot be
// started. The program lives, what it has acknowledged is there, and the next request is served as ever.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, run, Server, tertulia, test, until } from './support.mjs';

const library = process.argv[3];
const tries = process.env.TERTULIA_FULL ? 160 : 16;
const forEver = 1_000_000_000;
const place = folder();
const review = join(place, 'review.toml');
writeFileSync(review, '[workflow]\nname = "review"\nkind = "sequential"\nparticipants = ["writer", "critic"]\n[agents.writer]\n[agents.critic]\n');
const config = `[agents.default]\ntools = ["calculator"]\n[workflows.review]\nfile = "${review}"\n`;

// What tests/support/starving.cc reads and writes.
class Orders {
  constructor() {
    this.path = join(folder(), 'orders');
    writeFileSync(this.path, new Uint8Array(new BigInt64Array([-1n, 0n, 0n, 0n, -1n]).buffer));
    this.file = openSync(this.path, 'r+');
    this.env = { LD_PRELOAD: library, TERTULIA_STARVING: this.path };
  }
  read(at) {
    const bytes = new BigInt64Array(1);
    readSync(this.file, bytes, 0, 8, at * 8);
    return Number(bytes[0]);
  }
  write(at, number) {
    writeSync(this.file, new BigInt64Array([BigInt(number)]), 0, 8, at * 8);
  }
  // From the n-th allocation on so many fail.
  starve(n, inARow) {
    this.write(1, inARow);
    this.write(0, n);
  }
  feed() {
    this.write(0, -1);
  }
  get asked() {
    return this.read(2);
  }
  get refused() {
    return this.read(3);
  }
  set threads(n) {
    this.write(4, n);
  }
  close() {
    closeSync(this.file);
  }
}

// Not yet more than once: a run whose steps find no memory again and again still ends the program.
const forOnce = new Set(['a run of a workflow', 'a response']);
let number = 0;
const fresh = () => `s${(number += 1)}`;
const committed = new Map();
const post = (body) => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

// Each gives what to ask for, and what to do with an answer.
const requests = {
  'a turn with a tool': () => {
    const session = fresh();
    return ['/api/v1/turns', post({ session, message: 'What is 2+3?' }), (answer) => committed.set(session, JSON.parse(answer).turn)];
  },
  'a stream': () => {
    const session = fresh();
    return ['/api/v1/turns', post({ session, message: 'Hello there', stream: true }), (answer) => {
      const end = /event: turn_committed\n/.test(answer);
      if (end) committed.set(session, /"turn":"([^"]+)"/.exec(answer)?.[1]);
    }];
  },
  'a list': () => ['/api/v1/sessions?limit=5', {}],
  'messages': () => ['/api/v1/sessions/kept/messages', {}],
  'a fork': () => ['/api/v1/sessions/kept/branches', post({ from: 'main', id: fresh(), at_index: 1 })],
  'a document': () => ['/api/v1/memory/documents?wait=true', post({ source: fresh(), text: 'The shop opens at nine on weekdays. Bring the receipt within thirty days.' })],
  'a search': () => ['/api/v1/memory/search', post({ query: 'When does the shop open?' })],
  'a run of a workflow': () => ['/api/v1/workflows/review/runs', post({ message: 'A text.', session: fresh() })],
  'a response': () => ['/v1/responses', post({ model: 'default', input: 'Hello' })],
};

// What came back: the status, 0 if the connection was closed instead, 'none' if whoever asks has to give up: the answer itself may
// be what there was no memory for.
async function ask(server, [path, options, keep], patience = 30_000) {
  try {
    const reply = await fetch(server.url + path, { ...options, signal: AbortSignal.timeout(patience) });
    const text = await reply.text();
    if (reply.status === 200) keep?.(text);
    return { status: reply.status, text };
  } catch (problem) {
    return { status: problem.name === 'TimeoutError' ? 'none' : 0, text: `${problem}` };
  }
}

async function alive(server, when) {
  let health;
  // The connection that it comes on may have been the one that there was no memory for.
  for (let i = 0; i < 3 && health?.status !== 200; i += 1) {
    health = await fetch(`${server.url}/health`, { signal: AbortSignal.timeout(10_000) }).catch((problem) => problem);
  }
  check(server.process.exitCode === null && server.process.signalCode === null, `${when}: the program has ended: ${server.process.exitCode} ${server.process.signalCode}\n${server.errors.slice(-3000)}`);
  check(health.status === 200, `${when}: /health answers ${health.status ?? health}`);
}

// As ever; on another connection, if the one that is kept was closed.
async function served(server, name) {
  let answer;
  for (let i = 0; i < 3 && !(answer?.status >= 200); i += 1) answer = await ask(server, requests[name]());
  check(answer.status < 300, `${name} is not served any more: ${answer.status} ${answer.text}`);
}

async function starve(server, orders, name, n, inARow) {
  const when = `${name}, allocation ${n}, ${inARow === 1 ? 'once' : 'from then on'}`;
  const before = orders.refused;
  orders.starve(n, inARow);
  let over = false;
  const asked = ask(server, requests[name](), 4_000).catch((problem) => ({ problem })).finally(() => (over = true));
  if (inARow > 1) {
    // Until the request has ended, or nothing more is tried for it, or the same again and again: then it may be answered.
    let last = -1;
    let still = 0;
    await until(() => {
      const now = orders.refused;
      still = now === last ? still + 1 : 0;
      last = now;
      return over || (now > before && (still > 4 || now > before + 300));
    });
    orders.feed();
  }
  const answer = await asked;
  check(!answer.problem, `${when}: ${answer.problem?.message}`);
  orders.feed();
  await alive(server, when);
  return { failed: orders.refused > before, status: answer.status };
}

test('Memory runs out in any request, once and for ever', async () => {
  for (const kind of ['sqlite', 'json']) {
    const orders = new Orders();
    const data = folder();
    committed.clear();
    const start = () => Server.start({ data, config: `${config}[store]\nkind = "${kind}"\n`, env: orders.env });
    const server = await start();
    equal((await ask(server, ['/api/v1/turns', post({ session: 'kept', message: 'Hello' })])).status, 200);
    const told = {};
    for (const name of Object.keys(requests)) {
      // What is made once is there by then.
      for (let i = 0; i < 3; i += 1) await ask(server, requests[name]());
      const before = orders.asked;
      await served(server, name);
      const count = orders.asked - before;
      check(count > 0, `${name} allocates nothing: the library is not loaded`);
      const statuses = {};
      for (const inARow of forOnce.has(name) ? [1] : [1, forEver]) {
        const stride = Math.max(1, Math.floor(count / tries));
        for (let n = inARow === 1 ? 0 : Math.floor(stride / 2); n < count; n += stride) {
          const { status } = await starve(server, orders, name, n, inARow);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
      }
      told[name] = [count, statuses];
      await served(server, name);
    }
    console.log(kind, JSON.stringify(told));
    for (const [session, turn] of committed) {
      const reply = await fetch(`${server.url}/api/v1/sessions/${session}/turns/${turn}`);
      equal(reply.status, 200, `${kind}: turn ${turn} of session ${session} was acknowledged;`);
    }
    await server.kill();
    tertulia(data, 'verify');
    const again = await start();
    await alive(again, 'opened again');
    await again.stop();
    orders.close();
  }
});

test('Where threads cannot be started the program ends with a sentence, or serves without them', async () => {
  let served = false;
  for (let n = 0; n < 64 && !served; n += 1) {
    const orders = new Orders();
    orders.threads = n;
    const data = folder();
    const child = spawn(process.argv[2], ['--json', '--data', data, 'serve', '--port', '0'], { env: { PATH: process.env.PATH, HOME: '/nonexistent', ...orders.env } });
    let errors = '';
    child.stderr.on('data', (bytes) => (errors += bytes));
    const ended = new Promise((done) => child.on('exit', (code, signal) => done({ code, signal })));
    const url = new Promise((done) => child.stdout.once('data', (bytes) => done(JSON.parse(`${bytes}`.split('\n')[0]).listening)));
    const first = await Promise.race([ended, url]);
    if (typeof first !== 'string') {
      equal(first.signal, null, `with ${n} threads: ${errors.slice(-2000)}`);
      check(first.code !== 0 && errors.length > 0, `with ${n} threads: ${first.code} ${errors}`);
      continue;
    }
    // It is there: what needs more threads is refused or done by those there are.
    const answer = await ask({ url: first }, ['/api/v1/turns', post({ session: 's', message: 'What is 2+3?' })]);
    check(answer.status > 0, `with ${n} threads: ${answer.text} ${errors.slice(-2000)}`);
    served = answer.status === 200;
    orders.threads = -1;
    equal((await ask({ url: first }, ['/api/v1/turns', post({ session: 'again', message: 'Hello' })])).status, 200, `with ${n} threads at first;`);
    child.kill();
    equal((await ended).signal, null, errors.slice(-2000));
    orders.close();
  }
  check(served, 'it never had threads enough');
});

await run();
