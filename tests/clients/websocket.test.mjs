// WebSockets: the package `ws`, the socket of the openai package, and bytes as they are.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import WebSocket from 'ws';

import { checkEvents, checkResponse } from './fields.mjs';
import { startServer } from './harness.mjs';

let server;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const address = (path, at = server) => at.url.replace('http', 'ws') + path;

// A socket whose messages can be waited for, one after the other; null when it has closed.
async function open(path, { protocols, headers, at, origin } = {}) {
  const socket = new WebSocket(address(path, at), protocols, { headers, origin });
  const came = [];
  let wake = () => {};
  socket.on('message', (data) => { came.push(JSON.parse(data)); wake(); });
  const closed = new Promise((done) => socket.on('close', (code, reason) => { done({ code, reason: String(reason) }); came.push(null); wake(); }));
  socket.on('error', () => {});
  const refused = new Promise((_, reject) => socket.on('unexpected-response', (request, reply) => reject(Object.assign(new Error(`refused with ${reply.statusCode}`), { status: reply.statusCode, headers: reply.headers }))));
  await Promise.race([once(socket, 'open'), refused]);
  const next = async () => {
    while (came.length === 0) await new Promise((done) => (wake = done));
    return came[0] === null ? null : came.shift();
  };
  const until = async (wanted) => {
    const seen = [];
    for (let message = await next(); message; message = await next()) {
      seen.push(message);
      if (wanted(message)) return seen;
    }
    throw new Error(`it closed before that came, after ${JSON.stringify(seen).slice(0, 500)}`);
  };
  return { socket, closed, next, until, send: (message) => socket.send(JSON.stringify(message)) };
}

const terminal = (event) => ['response.completed', 'response.failed', 'response.incomplete', 'error'].includes(event.type);
const create = (input, more = {}) => ({ type: 'response.create', model: 'default', input, ...more });
async function answer(socket, input, more) {
  socket.send(create(input, more));
  return (await socket.until(terminal)).at(-1);
}

test('the socket of the openai package gets the events that SSE has', async () => {
  const client = new OpenAI({ baseURL: server.base, apiKey: server.key });
  const socket = new ResponsesWS(client);
  const events = [];
  const ended = new Promise((done, failed) => {
    socket.on('event', (event) => { events.push(event); if (terminal(event)) done(); });
    socket.on('error', failed);
  });
  socket.send(create('hello'));
  await ended;
  socket.close();
  checkEvents(events);
  checkResponse(events.at(-1).response);
  assert.equal(events.at(-1).response.output[0].content[0].text, 'You said: hello (1)');
  const kept = await client.responses.retrieve(events.at(-1).response.id);
  assert.equal(kept.output_text, 'You said: hello (1)');
});

test('responses that are asked for at once are said one after the other, and follow each other', async () => {
  const socket = await open('/v1/responses');
  socket.send(create('first'));
  socket.send(create('second'));
  const one = await socket.until(terminal);
  const two = await socket.until(terminal);
  for (const events of [one, two]) {
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
    assert.equal(events[0].type, 'response.created');
  }
  assert.equal(one.at(-1).response.output[0].content[0].text, 'You said: first (1)');
  const third = await answer(socket, 'third', { previous_response_id: two.at(-1).response.id });
  assert.equal(third.response.output[0].content[0].text, 'You said: third (2)');
  socket.socket.close();
  assert.equal((await socket.closed).code, 1005);
});

test('a response that is not stored lives in its socket, until one that goes on from it has failed', async () => {
  const socket = await open('/v1/responses');
  const first = await answer(socket, 'ember', { store: false });
  const second = await answer(socket, 'again', { store: false, previous_response_id: first.response.id });
  assert.equal(second.response.output[0].content[0].text, 'You said: again (2)');
  const elsewhere = await open('/v1/responses');
  const missing = await answer(elsewhere, 'x', { store: false, previous_response_id: second.response.id });
  assert.equal(missing.error.code, 'previous_response_not_found');
  const orphan = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }];
  const failed = await answer(socket, orphan, { store: false, previous_response_id: second.response.id });
  assert.equal(failed.type, 'error');
  const gone = await answer(socket, 'x', { store: false, previous_response_id: second.response.id });
  assert.equal(gone.error.code, 'previous_response_not_found');
  // And one that is stored may begin with what was not.
  const third = await answer(socket, 'new', { store: false });
  const kept = await answer(socket, 'kept', { previous_response_id: third.response.id });
  assert.equal(kept.response.output[0].content[0].text, 'You said: kept (2)');
  const later = await answer(elsewhere, 'later', { previous_response_id: kept.response.id });
  assert.equal(later.response.output[0].content[0].text, 'You said: later (3)');
  socket.socket.close();
  elsewhere.socket.close();
});

test('calls are handed back and their results taken, without anything being stored', async () => {
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
  const socket = await open('/v1/responses');
  const called = await answer(socket, 'the weather', { store: false, tools });
  const call = called.response.output.find((item) => item.type === 'function_call');
  const told = await answer(socket, [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }],
    { store: false, tools, previous_response_id: called.response.id });
  assert.equal(told.response.output[0].content[0].text, 'The tool says: sunny');
  socket.socket.close();
});

test('a request that is refused ends nothing', async () => {
  const socket = await open('/v1/responses');
  socket.socket.send('no JSON');
  assert.equal((await socket.next()).error.code, 'bad_json');
  socket.send({ type: 'session.update' });
  assert.equal((await socket.next()).error.code, 'unsupported_parameter');
  socket.send(create('x', { background: true }));
  assert.equal((await socket.next()).error.param, 'background');
  assert.equal((await answer(socket, 'x', { model: 'nobody' })).error.code, 'model_not_found');
  assert.equal((await answer(socket, 'still here')).response.status, 'completed');
  socket.socket.close();
});

test('kill in mid-stream: a socket that comes back sees no gap and no duplicate', async () => {
  const socket = await open('/v1/responses');
  socket.send(create('hold'));
  const seen = await socket.until((event) => event.delta === 'two ');
  const id = seen[0].response.id;
  await server.restart();
  await socket.closed;
  const again = await open(`/v1/responses/${id}?stream=true&starting_after=${seen.at(-1).sequence_number}`);
  const rest = [];
  for (let message = await again.next(); message; message = await again.next()) {
    assert.equal(message.event, message.data.type);
    rest.push(message.data);
    if (message.data.delta === 'two ') await server.model.letGo();
  }
  assert.equal((await again.closed).code, 1000);
  const numbers = [...seen, ...rest].map((event) => event.sequence_number);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  assert.equal(rest.at(-1).type, 'response.completed');
  assert.equal(rest.at(-1).response.output[0].content[0].text, 'one two three');
});

test('the events of a turn come as messages, and on from any number after a kill', async () => {
  const begun = await fetch(`${server.url}/api/v1/turns`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ session: 'socket', message: 'hold', stream: true }),
  });
  const turn = begun.headers.get('tertulia-turn');
  const events = `/api/v1/sessions/socket/turns/${turn}/events`;
  const one = await open(events);
  const seen = await one.until((message) => message.data.text === 'two ');
  assert.equal(seen[0].id, `${turn}.0`);
  one.socket.close();
  const two = await open(`${events}?after=${seen[1].data.number}`);
  assert.deepEqual((await two.until((message) => message.data.text === 'two ')).map((message) => message.id), seen.slice(2).map((message) => message.id));
  await server.restart();
  await two.closed;
  const three = await open(`${events}?after=${seen.at(-1).data.number}`);
  await server.model.letGo();
  for (let message = await three.next(); message; message = await three.next()) seen.push(message);
  const numbers = seen.filter((message) => message.id).map((message) => message.data.number);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  assert.equal(seen.at(-1).event, 'outcome');
  assert.equal(seen.at(-1).data.text, 'one two three');
});

// Bytes as they are: gives what came until the server closed, without the head.
const mask = Buffer.from([1, 2, 3, 4]);
function frame(first, payload = '', { masked = true } = {}) {
  const bytes = Buffer.from(payload);
  const head = bytes.length < 126 ? [first, bytes.length] : [first, 126, bytes.length >> 8, bytes.length & 255];
  if (!masked) return Buffer.concat([Buffer.from(head), bytes]);
  head[1] |= 128;
  return Buffer.concat([Buffer.from(head), mask, Buffer.from(bytes.map((byte, i) => byte ^ mask[i % 4]))]);
}
const upgrade = ({ path = '/v1/responses', version = 13, key = randomBytes(16).toString('base64'), http = 'HTTP/1.1', more = '' } = {}) =>
  `GET ${path} ${http}\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n` +
  `${key ? `Sec-WebSocket-Key: ${key}\r\n` : ''}Sec-WebSocket-Version: ${version}\r\n${more}\r\n`;
async function raw(head, frames = [], { at = server, pause } = {}) {
  const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
  const parts = [];
  socket.on('error', () => {});
  socket.on('data', (part) => parts.push(part));
  socket.write(head);
  const all = () => Buffer.concat(parts);
  while (!all().includes('\r\n\r\n') && !socket.destroyed) await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  if (pause) socket.pause();
  for (const one of frames) if (!socket.write(one) && !pause) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
  socket.resume();
  if (!socket.destroyed) await once(socket, 'close');
  const end = all().indexOf('\r\n\r\n') + 4;
  return { head: all().subarray(0, end).toString(), body: all().subarray(end) };
}
const closedWith = ({ body }) => {
  const at = body.lastIndexOf(0x88);
  return at < 0 ? undefined : body.readUInt16BE(at + 2);
};

test('what breaks the protocol is closed with its code', async () => {
  const close = frame(0x88, Buffer.from([3, 232]));
  const cases = [
    [1000, [frame(0x89, 'ping'), close]],
    [1000, [frame(0x01, '{"type":'), frame(0x89), frame(0x80, '"x"}'), close]],
    [1000, [...close].map((byte) => Buffer.from([byte]))],
    [1002, [frame(0x81, 'x', { masked: false })]],
    [1002, [frame(0xc1, 'x')]],
    [1002, [frame(0x83, 'x')]],
    [1002, [frame(0x09, 'x')]],
    [1002, [frame(0x80, 'x')]],
    [1002, [frame(0x88, Buffer.from([3, 237]))]],
    [1003, [frame(0x82, 'x')]],
    [1007, [frame(0x81, Buffer.from([0xc3, 0x28]))]],
    [1009, [Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0]), mask])]],
  ];
  for (const [code, frames] of cases) assert.equal(closedWith(await raw(upgrade(), frames)), code, Buffer.concat(frames).toString('hex'));
});

test('pings are all answered, though their answers are not read for a while', async () => {
  const count = 20_000;
  const pings = Buffer.concat(Array.from({ length: count }, () => frame(0x89, 'x'.repeat(100))));
  const { body } = await raw(upgrade(), [pings, frame(0x88, Buffer.from([3, 232]))], { pause: true });
  assert.equal(body.length, count * 102 + 4);
  assert.equal(closedWith({ body }), 1000);
});

test('each response that is asked for on an open socket is a request of its key', async () => {
  const { key } = JSON.parse(server.tertulia('--tenant', 'local', 'keys', 'create', '--access', 'write', '--requests-per-minute', '3'));
  const headers = { Authorization: `Bearer ${key}` };
  // A key that was made a moment ago may not be known yet; opening is the first request.
  let socket;
  while (!socket) socket = await open('/v1/responses', { headers }).catch((problem) => { if (problem.status !== 401) throw problem; });
  assert.equal((await answer(socket, 'one')).type, 'response.completed');
  assert.equal((await answer(socket, 'two')).type, 'response.completed');
  const refused = await answer(socket, 'three');
  assert.deepEqual([refused.type, refused.status, refused.error.code], ['error', 429, 'rate_limit_exceeded']);
  socket.socket.close();
});

test('what is no request for a WebSocket is refused', async () => {
  const status = async (head) => Number((await raw(head)).head.split(' ')[1]);
  assert.equal(await status(upgrade({ version: 8 })), 426);
  assert.equal(await status(upgrade({ key: '' })), 400);
  assert.equal(await status(upgrade({ key: 'short' })), 400);
  assert.equal(await status(upgrade({ http: 'HTTP/1.0' })), 400);
  assert.equal(await status(upgrade({ more: 'Content-Length: 3\r\n' })), 400);
  assert.equal(await status(upgrade({ more: 'Origin: https://evil.example\r\n' })), 403);
  assert.equal(await status(upgrade({ path: '/v1/nowhere' })), 404);
  assert.equal((await fetch(`${server.base}/responses`)).status, 426);
  const { head } = await raw(upgrade({ key: 'dGhlIHNhbXBsZSBub25jZQ==' }), [frame(0x88)]);
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
});

test('a key comes in a header, or in the first message of a page; one that is revoked ends its sockets', async () => {
  const guarded = await startServer({ more: '[server]\nkey_required = true\norigins = ["https://shop.example"]\n' });
  try {
    const authed = (key) => ({ at: guarded, protocols: ['tertulia.auth'], origin: 'https://shop.example', key });
    await assert.rejects(open('/v1/responses', { at: guarded }), { status: 401 });
    const header = await open('/v1/responses', { at: guarded, headers: { Authorization: `Bearer ${guarded.key}` } });
    assert.equal((await answer(header, 'hi')).response.status, 'completed');

    const page = await open('/v1/responses', authed());
    page.send({ type: 'authenticate', key: guarded.key });
    assert.equal((await answer(page, 'hi')).response.status, 'completed');

    const stranger = await open('/v1/responses', authed());
    stranger.send({ type: 'authenticate', key: 'tk_wrong' });
    assert.equal((await stranger.next()).error.code, 'bad_key');
    assert.equal((await stranger.closed).code, 1008);
    const silent = await open('/v1/responses', authed());
    silent.send(create('hi'));
    assert.equal((await silent.closed).code, 1008);
    const elsewhere = await open('/v1/responses', { ...authed(), origin: 'https://evil.example' });
    elsewhere.send({ type: 'authenticate', key: guarded.key });
    assert.equal((await elsewhere.next()).error.code, 'origin_not_allowed');

    guarded.tertulia('keys', 'revoke', guarded.keyId);
    assert.equal((await page.closed).code, 1008);
    assert.equal((await header.closed).code, 1008);
  } finally {
    await guarded.stop();
  }
});

test('a server that shuts down finishes the response that is being said, and closes', async () => {
  const draining = await startServer();
  try {
    const idle = await open('/v1/responses', { at: draining });
    const busy = await open('/v1/responses', { at: draining });
    busy.send(create('hold'));
    await busy.until((event) => event.delta === 'two ');
    draining.child.kill('SIGTERM');
    assert.equal((await idle.closed).code, 1001);
    busy.send(create('too late'));
    await draining.model.letGo();
    const last = (await busy.until(terminal)).at(-1);
    assert.equal(last.response.output[0].content[0].text, 'one two three');
    assert.equal((await busy.next()).error.code, 'shutting_down');
    assert.equal((await busy.closed).code, 1001);
  } finally {
    await draining.stop();
  }
});
