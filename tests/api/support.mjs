// What the tests of the server share: the program on a free port, a model that says what a test wants, and checks.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { holdTo } from './openapi.mjs';

export const program = resolve(process.argv[2]);

const cleanups = [];
export const later = (work) => cleanups.push(work);

// Runs the tests one after the other; ends the process with what came of them.
const tests = [];
export const test = (name, work) => tests.push({ name, work });
export async function run() {
  let failed = 0;
  for (const { name, work } of tests) {
    try {
      await work();
    } catch (problem) {
      failed += 1;
      console.error(`FAILED: ${name}\n${problem.stack}`);
    }
  }
  for (const work of cleanups.reverse()) await work();
  console.log(`${tests.length - failed} of ${tests.length} tests passed`);
  process.exit(failed ? 1 : 0);
}

export function check(condition, sentence) {
  if (!condition) throw new Error(sentence);
}
export function equal(got, expected, what = '') {
  const [one, two] = [JSON.stringify(got), JSON.stringify(expected)];
  if (one !== two) throw new Error(`${what} expected ${two}, got ${one}`);
}

// Waits for what comes to be without saying so.
export async function until(condition) {
  for (let left = 1200; left > 0; left -= 1) {
    if (await condition()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('it did not come to that');
}

export function tertulia(data, ...args) {
  const done = spawnSync(program, ['--data', data, ...args], { encoding: 'utf8', env: clean() });
  check(done.status === 0, `tertulia ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

// What it says where it refuses.
export function tertuliaFails(data, ...args) {
  const done = spawnSync(program, ['--data', data, ...args], { encoding: 'utf8', env: clean() });
  check(done.status !== 0, `tertulia ${args.join(' ')} did not fail: ${done.stdout}`);
  return done.stderr;
}

function clean(more = {}) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8', ...more };
  for (const name of Object.keys(process.env)) if (/^(ASAN|UBSAN|TSAN|LSAN)_/.test(name)) env[name] = process.env[name];
  return env;
}

export function folder() {
  const path = mkdtempSync(join(tmpdir(), 'tertulia-api-'));
  later(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export class Server {
  // `config` is the text of a configuration file.
  static async start({ data = folder(), config = '', args = [], env = {} } = {}) {
    const server = new Server();
    server.data = data;
    const file = join(folder(), 'config.toml');
    writeFileSync(file, config, { mode: 0o600 });
    server.config = file;
    server.process = spawn(program, ['--json', '--data', data, '--config', file, 'serve', '--port', '0', ...args], { env: clean(env) });
    server.ended = new Promise((done) => server.process.on('exit', (code, signal) => done({ code, signal })));
    server.errors = '';
    server.process.stderr.on('data', (bytes) => (server.errors += bytes));
    let said = '';
    await new Promise((ready, failed) => {
      server.process.stdout.on('data', (bytes) => {
        said += bytes;
        if (said.includes('\n')) ready();
      });
      server.ended.then(({ code }) => failed(new Error(`the server ended with ${code}: ${server.errors}`)));
    });
    server.url = JSON.parse(said.split('\n')[0]).listening;
    server.port = Number(new URL(server.url).port);
    later(() => server.stop());
    return server;
  }

  async stop(signal = 'SIGTERM') {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    return this.ended;
  }
  async kill() {
    this.process.kill('SIGKILL');
    return this.ended;
  }

  async call(method, path, { body, headers = {}, key } = {}) {
    const all = { ...headers };
    if (key) all.Authorization = `Bearer ${key}`;
    if (body !== undefined && !all['Content-Type']) all['Content-Type'] = 'application/json';
    const sent = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    const reply = await fetch(this.url + path, { method, headers: all, body: sent });
    const text = await reply.text();
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      // Not every body is JSON.
    }
    const answer = { status: reply.status, headers: reply.headers, text, json };
    const problem = holdTo(method, path, answer);
    check(!problem, `${method} ${path} answers otherwise than documented: ${problem} in ${text.slice(0, 500)}`);
    return answer;
  }
  // As call(), and the status must be this one.
  async expect(status, method, path, options) {
    const reply = await this.call(method, path, options);
    check(reply.status === status, `${method} ${path}: expected ${status}, got ${reply.status} ${reply.text.slice(0, 300)}`);
    return reply.json ?? reply.text;
  }

  // Opens a stream of events: next() gives the next frame, or null at the end.
  async stream(method, path, { body, headers = {}, key } = {}) {
    const all = { Accept: 'text/event-stream', ...headers };
    if (key) all.Authorization = `Bearer ${key}`;
    if (body !== undefined) all['Content-Type'] = 'application/json';
    const abort = new AbortController();
    const reply = await fetch(this.url + path, { method, headers: all, body: body && JSON.stringify(body), signal: abort.signal });
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
    holdTo(method, path, { status: 200 });
    return new EventStream(reply, abort);
  }

  // Sends bytes as they are and gives what comes back until the server closes, or `enough` says so.
  raw(bytes, { enough = () => false, end = false } = {}) {
    return new Promise((done, failed) => {
      const socket = net.connect(this.port, '127.0.0.1');
      let text = '';
      socket.on('data', (part) => {
        text += part.toString('latin1');
        if (enough(text)) socket.destroy();
      });
      socket.on('close', () => done(text));
      socket.on('error', (problem) => (problem.code === 'ECONNRESET' || problem.code === 'EPIPE' ? done(text) : failed(problem)));
      socket.write(bytes);
      if (end) socket.end();
    });
  }
}

class EventStream {
  constructor(reply, abort) {
    this.headers = reply.headers;
    this.reader = reply.body.getReader();
    this.abort = abort;
    this.text = '';
  }
  async next() {
    while (true) {
      const end = this.text.indexOf('\n\n');
      if (end >= 0) {
        const frame = this.text.slice(0, end);
        this.text = this.text.slice(end + 2);
        const fields = {};
        for (const line of frame.split('\n')) {
          const [, name, value] = /^(\w*): ?(.*)$/s.exec(line) ?? [];
          if (name) fields[name] = value;
        }
        if (fields.data === undefined) continue;
        return { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
      }
      const { value, done } = await this.reader.read();
      if (done) return null;
      this.text += new TextDecoder().decode(value);
    }
  }
  async until(kind) {
    const seen = [];
    for (let frame = await this.next(); frame; frame = await this.next()) {
      seen.push(frame);
      if (frame.event === kind) return seen;
    }
    throw new Error(`the stream ended before ${kind}: ${seen.map((frame) => frame.event)}`);
  }
  async all() {
    const seen = [];
    for (let frame = await this.next(); frame; frame = await this.next()) seen.push(frame);
    return seen;
  }
  close() {
    this.abort.abort();
  }
}

// A provider in the style of OpenAI on loopback. `script(request)` gives the parts of an answer: texts, {call, arguments}, and
// functions, which are waited for; or {refused: status}. Returns its address.
export async function endpoint(script) {
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', async () => {
      const asked = JSON.parse(body);
      const answer = await script(asked);
      if (answer.refused) {
        response.writeHead(answer.refused, { 'Content-Type': 'application/json' });
        response.end('{"error":{"message":"refused"}}');
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const chunk = (delta, finish = null) =>
        response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: asked.model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      let calls = 0;
      for (const part of answer) {
        if (typeof part === 'function') await part();
        else if (typeof part === 'string') chunk({ role: 'assistant', content: part });
        else {
          const call = { index: calls, id: `call_${calls}`, type: 'function', function: { name: part.call, arguments: JSON.stringify(part.arguments) } };
          calls += 1;
          chunk({ role: 'assistant', tool_calls: [call] });
        }
      }
      chunk({}, calls ? 'tool_calls' : 'stop');
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  later(() => new Promise((done) => (server.closeAllConnections(), server.close(done))));
  return `http://127.0.0.1:${server.address().port}/v1`;
}

// The configuration of a model that stands there.
export async function provider(script) {
  const url = await endpoint(script);
  return `[model]\nname = "openai-compatible/m"\nbase_url = "${url}"\nkey = "none"\n`;
}

// Something that happens once, and that others wait for.
export function moment() {
  let happen;
  const happened = new Promise((done) => (happen = done));
  return { happen, happened };
}
