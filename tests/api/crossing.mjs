// crossing.mjs PROGRAM [COUNT] [SEED]: requests for what belongs to others, and requests that are wrong, many of them; clients that
// come and go. Each answer is right or has the name of an error, none has a word of what others said, and the program lives.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { check, equal, folder, run, Server, tertulia, test } from './support.mjs';

const sanitized = Object.keys(process.env).some((name) => /^(A|T|UB)SAN_OPTIONS$/.test(name));
const count = Number(process.argv[3] ?? (sanitized ? 5_000 : 50_000));
const seed = Number(process.argv[4] ?? 1);
let state = seed;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = (list) => list[random(list.length)];

const data = folder();
const keyOf = (tenant, access, user) =>
  JSON.parse(tertulia(data, '--json', '--tenant', tenant, 'keys', 'create', '--access', access, ...(user ? ['--user', user] : []))).key;
const ana = keyOf('acme', 'admin', 'ana');
const strangers = [keyOf('globex', 'admin'), keyOf('globex', 'write'), keyOf('globex', 'read'), keyOf('acme', 'write', 'bea'), keyOf('acme', 'read', 'bea')];
const flow = join(folder(), 'flow.toml');
writeFileSync(flow, '[workflow]\nname = "flow"\nparticipants = ["one"]\nreview = ["one"]\n[agents.one]\ninstructions = "Speak."\n');
const config = `[server]\nkey_required = true\nstreams_per_key = 1000\n[workflows.flow]\nfile = "${flow}"\n`;
const server = await Server.start({ data, config });
const routes = tertulia(data, 'serve', '--routes').trim().split('\n').map((line) => line.split(' '));

// What ana has, in every place where something can be.
const canary = 'quetzalcoatlus';
const hers = (status, method, path, body, headers) => server.expect(status, method, path, { body, headers, key: ana });
await hers(201, 'POST', '/api/v1/sessions', { id: 'nest', metadata: { title: canary } });
const turn = await hers(200, 'POST', '/api/v1/turns', { session: 'nest', message: `My ${canary} is asleep.` });
await hers(201, 'POST', '/api/v1/sessions/nest/branches', { id: 'side', label: canary });
const asset = await hers(201, 'POST', '/api/v1/sessions/nest/assets', canary, { 'Content-Type': 'text/plain' });
const response = await hers(200, 'POST', '/v1/responses', { model: 'default', input: canary });
const job = await hers(200, 'POST', '/api/v1/memory/documents?wait=true', { source: `${canary}.txt`, text: `The ${canary} eats at noon.` });
const { fact } = await hers(201, 'POST', '/api/v1/memory/facts', { text: `I own a ${canary}` });
await hers(200, 'POST', '/api/v1/turns', { session: 'past', message: `The ${canary} flew.` });
await hers(200, 'POST', '/api/v1/sessions/past/close');
const [episode] = (await hers(200, 'GET', '/api/v1/memory/episodes')).episodes;
const waiting = await hers(200, 'POST', '/api/v1/workflows/flow/runs', { message: `Speak of the ${canary}`, session: 'talk' });
const { id: conversation } = await hers(200, 'POST', '/v1/conversations', { metadata: { name: canary } });
const before = await hers(200, 'GET', '/api/v1/sessions/nest');

const ids = {
  session: ['nest', 'past', 'talk'], branch: ['main', 'side'], turn: [turn.turn], message: [turn.messages[0].id], call: ['0', '1'], asset: [asset.id], agent: ['default'], user: ['ana', 'bea', 'local'],
  response: [response.id], conversation: [conversation, 'conv_nest'], item: [`msg_${turn.turn}_0_nest`], model: ['default'], collection: ['user', 'agent.default', 'shared.x'],
  job: [job.id], fact: [fact.id], entry: [fact.id], episode: [episode.id], procedure: ['none'], workflow: ['flow'], run: [waiting.run], request: [waiting.requests[0].id],
};
const wrong = ['nobody', '~runs', '~memory.user', '..', '%2e%2e', '%00', '%ff', 'a'.repeat(200), '06gnf9d5z7s2w3r8k1m4q0t6y2', '-1', '%C3%B1', "';--", '%2Fetc', 'NEST', 'null', '1e9'];
const known = {
  session: 'nest', branch: 'main', message: 'x', from: 'side', agent: 'default', model: 'default', input: 'x', query: 'quetzal', text: 'x', source: 'x.txt', name: 'p', description: 'd',
  checkpoint: `${waiting.run}/1`, handle: waiting.handle, previous_response_id: response.id, conversation, answer: '', choice: 'once', collection: 'user', user: 'ana', metadata: {},
  messages: [{ role: 'user', content: 'x' }], session_id: 'nest', id: 'nest', as_of: '2026-01-01T00:00:00Z', stream: true, top_k: 3, threadId: 'nest', runId: 'r', collections: ['user'], kinds: ['fact'],
};
const odd = [null, true, -1, 1e308, 1.5, '', 'x'.repeat(5000), [], {}, [[[[]]]], '\u0000', '../..', 'ana', 'nest', waiting.run, fact.id, { a: { b: [1] } }];

function body() {
  if (!random(4)) return pick(['', '{', '[]', 'null', '"', '{"a":1,"a":2}', '{"message":"\\ud800"}', `{"a":${'['.repeat(100)}`, `{"n":${'9'.repeat(500)}}`, '{"message":1}', '\xff\xfe', '{}}', 'NaN']);
  const form = {};
  const names = Object.keys(known);
  for (let fields = random(5); fields >= 0; fields -= 1) {
    const name = random(9) ? pick(names) : pick(['unknown', '__proto__', 'constructor', 'tenant', 'owner']);
    form[name] = random(3) ? known[name] ?? pick(odd) : pick(odd);
  }
  return JSON.stringify(form);
}

function query() {
  if (random(3)) return '';
  const one = () => `${pick(['limit', 'cursor', 'user', 'session', 'branch', 'turn', 'after', 'collection', 'source', 'as_of', 'all', 'kind', 'status', 'run', 'format', 'agent', 'with', 'recursive', 'wait', 'adopt', 'metadata.title', 'x'])}=${
    pick(['1', '0', '-1', '%2A', 'ana', 'nest', canary.slice(0, 5), 'true', 'x', '%ff', '2026-01-01T00:00:00Z', 'user', 'fact', 'active', waiting.run, 'svg', turn.turn, '9'.repeat(30)])}`;
  return `?${Array.from({ length: 1 + random(3) }, one).join('&')}`;
}

function request() {
  const [method, pattern] = pick(routes);
  const path = pattern.replace(/\{(\w+)\}/g, (_, name) => (random(4) ? pick(ids[name]) : pick(wrong)));
  const verb = random(12) ? method : pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
  const fields = ['Host: localhost'];
  const key = pick([...strangers, ...strangers, undefined, 'tk_wrong', `${ana.slice(0, -1)}_`, 'tv1_', '']);
  if (key !== undefined) fields.push(random(5) ? `Authorization: Bearer ${key}` : `X-Api-Key: ${key}`);
  if (!random(6)) fields.push(`Tertulia-User: ${pick(['ana', 'ana', 'bea', '../ana', '~shared', 'local', ''])}`);
  if (!random(8)) fields.push(pick([`Last-Event-ID: ${turn.turn}.1`, `Last-Event-ID: ${waiting.run}.1`, 'If-Match: "1"', 'If-Match: x', 'Idempotency-Key: k', 'Accept: text/event-stream', 'Tertulia-Session: nest',
    'Origin: https://evil.example', 'X-Forwarded-For: 127.0.0.1', 'Range: bytes=0-9', 'Tertulia-Tenant: acme']));
  let sent = Buffer.alloc(0);
  if (verb !== 'GET' && random(10)) {
    sent = Buffer.from(body(), 'latin1');
    fields.push(`Content-Type: ${random(8) ? 'application/json' : pick(['text/plain', 'application/pdf', 'text/html', 'application/x-ndjson', ';'])}`);
  }
  fields.push(`Content-Length: ${sent.length}`);
  return Buffer.concat([Buffer.from(`${verb} ${path}${query()} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`, 'latin1'), sent]);
}

// A connection that is kept: send() gives the next answer, whole.
class Line {
  constructor() {
    this.bytes = Buffer.alloc(0);
  }
  send(request) {
    return new Promise((done) => {
      this.answered = done;
      if (!this.socket) this.open();
      this.socket.write(request);
    });
  }
  open() {
    this.bytes = Buffer.alloc(0);
    const socket = net.connect(server.port, '127.0.0.1');
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (part) => {
      if (this.socket !== socket) return;
      this.bytes = this.bytes.length ? Buffer.concat([this.bytes, part]) : part;
      this.look(false);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.look(true);
    });
  }
  close() {
    const { socket } = this;
    this.socket = undefined;
    socket?.destroy();
  }
  look(closed) {
    if (!this.answered) return;
    const head = this.bytes.indexOf('\r\n\r\n');
    const text = head < 0 ? '' : this.bytes.toString('latin1', 0, head);
    const length = /\r\ncontent-length: (\d+)/i.exec(text);
    const chunked = /\r\ntransfer-encoding: chunked/i.test(text);
    let end = -1;
    if (head >= 0 && length) end = head + 4 + Number(length[1]);
    else if (head >= 0 && chunked) end = this.bytes.indexOf('\r\n0\r\n\r\n', head + 2) + 1 || -1;
    else if (head >= 0 && / (204|304) /.test(text.slice(0, 14))) end = head + 4;
    if (chunked && end > 0) end += 6;
    if (end > 0 && this.bytes.length >= end) {
      const answer = { head: text, body: this.bytes.toString('latin1', head + 4, end) };
      this.bytes = this.bytes.subarray(end);
      if (/\r\nconnection: close/i.test(text)) this.close();
      return this.finish(answer);
    }
    if (closed) this.finish({ head: text, body: head < 0 ? '' : this.bytes.toString('latin1', head + 4), cut: true });
  }
  finish(answer) {
    const { answered } = this;
    this.answered = undefined;
    answered(answer);
  }
}

test('The canaries are where they were planted', async () => {
  for (const path of ['sessions/nest', 'sessions/nest/messages?branch=main', `sessions/nest/assets/${asset.id}`, 'memory/documents', 'memory/facts', 'memory/episodes', 'sessions/talk/messages?branch=main', 'users/ana/export']) {
    check((await server.call('GET', `/api/v1/${path}`, { key: ana })).text.includes(canary), path);
  }
});

test(`${count} requests of strangers get nothing of hers, and each refusal has a name`, async () => {
  let left = count;
  const tally = {};
  const worker = async () => {
    const line = new Line();
    while (left-- > 0) {
      const bytes = request();
      let answer = await line.send(bytes);
      // The server may have closed the connection just before.
      if (answer.head === '') answer = await line.send(bytes);
      const shown = `${bytes.toString('latin1').slice(0, 600)}\n gives ${answer.head}\n${answer.body.slice(0, 600)}`;
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer.head)?.[1]);
      check(status >= 200 && (status < 500 || status === 503), shown);
      check(!answer.body.includes(canary) && !answer.head.includes(canary), `A LEAK: ${shown}`);
      tally[status] = (tally[status] ?? 0) + 1;
      if (status < 400) continue;
      const { error } = JSON.parse(answer.body);
      check(/^[a-z_]+$/.test(error.code) && typeof error.message === 'string', shown);
      check(status !== 503 || error.code === 'too_many_streams', shown);
    }
    line.close();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  console.log(`seed ${seed}: ${Object.entries(tally).map(([status, times]) => `${times} × ${status}`).join(', ')}`);
  for (const status of [200, 400, 401, 403, 404, 405]) check(tally[status] > 0, `no request came to ${status}: the generator has become dull`);
  equal(await hers(200, 'GET', '/api/v1/sessions/nest'), before);
  equal((await hers(200, 'GET', `/api/v1/workflows/flow/runs/${waiting.run}`)).status, 'waiting');
  equal((await hers(200, 'GET', '/api/v1/memory/facts')).facts.map((one) => one.id), [fact.id]);
  equal([server.process.exitCode, server.process.signalCode], [null, null]);
});

test('2,000 clients that go away in the middle leave no file and no memory behind', async () => {
  const files = () => readdirSync(`/proc/${server.process.pid}/fd`).length;
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))[1]) / 1024;
  const head = (line, ...fields) => `${line}\r\nHost: localhost\r\nAuthorization: Bearer ${strangers[0]}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
  const turnBody = '{"session":"gone","message":"x","on_busy":"queue"}';
  const starts = ['', 'GET ', head('GET /api/v1/me HTTP/1.1'), head('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 5000') + '{"message":"',
    head('GET /api/v1/memory/facts HTTP/1.1').repeat(5), head('POST /api/v1/memory/search HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 13') + '{"query":"x"}',
    head('POST /api/v1/turns HTTP/1.1', 'Accept: text/event-stream', 'Content-Type: application/json', `Content-Length: ${turnBody.length}`) + turnBody];
  const leave = (how) => new Promise((done) => {
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(how || ' ', () => socket.destroy()));
    socket.on('close', done);
    socket.on('error', done);
  });
  const settle = async (most) => {
    for (let i = 0; i < 1200 && files() > most; i += 1) await new Promise((done) => setTimeout(done, 50));
    return files();
  };
  const cycles = async (times) => {
    // Turns are durable and take their time: one in twenty.
    for (let i = 0; i < times; i += 1) await leave(i % 20 === 0 ? starts.at(-1) : pick(starts.slice(0, -1)));
  };
  // Sockets of the tests before have gone, and what is kept for reuse has been made.
  await cycles(300);
  let base = files();
  for (let same = 0; same < 20; same += 1) {
    await new Promise((done) => setTimeout(done, 50));
    if (files() !== base) [base, same] = [files(), 0];
  }
  const memory = resident();
  await cycles(2_000);
  const after = await settle(base);
  check(after <= base, `${base} files before, ${after} after`);
  const grown = resident() - memory;
  console.log(`files ${base} → ${after}, memory ${memory.toFixed(1)} MiB ${grown >= 0 ? '+' : ''}${grown.toFixed(1)} MiB`);
  check(sanitized || grown < 24, `${grown.toFixed(1)} MiB more than before`);
  equal((await hers(200, 'GET', '/api/v1/me')).user, 'ana');
});

await run();
