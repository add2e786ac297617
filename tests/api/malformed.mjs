// malformed.mjs PROGRAM [COUNT] [SEED]: what is not HTTP, not JSON, or not what a route asks for; slow and rude clients.
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { operations } from './openapi.mjs';
import { check, equal, run, Server, test } from './support.mjs';

const count = Number(process.argv[3] ?? 3000);
const seed = Number(process.argv[4] ?? 1);
const server = await Server.start();
await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'there', message: 'Hello' } });

// A small generator, so that a failure can be seen again.
let state = seed;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = (list) => list[random(list.length)];

const statusOf = (text) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
// Of the first answer: another may stand behind it.
const codeOf = (text) => {
  const begin = text.indexOf('\r\n\r\n') + 4;
  const length = Number(/\r\nContent-Length: (\d+)/.exec(text)[1]);
  return JSON.parse(text.slice(begin, begin + length)).error.code;
};
const isWhole = (text) => {
  const length = /\r\nContent-Length: (\d+)[^]*?\r\n\r\n/.exec(text);
  return length !== null && text.length >= length.index + length[0].length + Number(length[1]);
};
const get = (line, ...fields) => `${line}\r\nHost: localhost\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;

test('Each thing that is not HTTP has its name', async () => {
  for (const [bytes, status, code] of [
    ['nonsense\r\n\r\n', 400, 'bad_request_line'],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400, 'bad_request_line'],
    [get('GET /health HTTP/2.0'), 505, 'unsupported_version'],
    [get('GET /api/v1/me HTTP/1.1', 'Accept: text/csv, image/*'), 406, 'not_acceptable'],
    [get('GET health HTTP/1.1'), 400, 'bad_target'],
    [get('GET http://localhost/health HTTP/1.1'), 400, 'bad_target'],
    [get(`GET /${'a'.repeat(9000)} HTTP/1.1`), 400, 'bad_target'],
    ['GET /health HTTP/1.1\r\n\r\n', 400, 'bad_header'],
    [get('GET /health HTTP/1.1', 'Host: other'), 400, 'bad_header'],
    [get('GET /health HTTP/1.1', 'Bad Name: x'), 400, 'bad_header'],
    [get('GET /health HTTP/1.1', 'X: a\x00b'), 400, 'bad_header'],
    [get('GET /health HTTP/1.1', 'X: a', ' b'), 400, 'bad_header'],
    [get('GET /health HTTP/1.1', `X: ${'a'.repeat(17000)}`), 431, 'headers_too_large'],
    [get('GET /health HTTP/1.1', ...Array.from({ length: 70 }, (_, i) => `X-${i}: 1`)), 431, 'headers_too_large'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Length: 3', 'Content-Length: 4') + '{}', 400, 'ambiguous_length'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Length: 3', 'Transfer-Encoding: chunked') + '{}', 400, 'ambiguous_length'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Length: -1'), 400, 'ambiguous_length'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked') + 'zz\r\n', 400, 'bad_chunk'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked') + 'fffffffffffffffff\r\n', 400, 'bad_chunk'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 99999999'), 413, 'body_too_large'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Type: text/plain', 'Content-Length: 2') + '{}', 415, 'unsupported_media_type'],
    [get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Expect: gold', 'Content-Length: 2') + '{}', 417, 'bad_expectation'],
    [get('GET /nothing/here HTTP/1.1', 'Connection: close'), 404, 'no_route'],
    [get('GET /api/v1/turns HTTP/1.1', 'Connection: close'), 405, 'method_not_allowed'],
    [get('BREW /api/v1/turns HTTP/1.1', 'Connection: close'), 405, 'method_not_allowed'],
    [get('GET /api/v1/sessions/%zz HTTP/1.1', 'Connection: close'), 400, 'bad_target'],
    [get('GET /api/v1/sessions/a%0d%0ab HTTP/1.1', 'Connection: close'), 400, 'bad_target'],
    [get('GET /api/v1/sessions/..%2f..%2fetc HTTP/1.1', 'Connection: close'), 400, 'bad_id'],
    [get('GET /api/v1/sessions/.hidden HTTP/1.1', 'Connection: close'), 400, 'bad_id'],
    [get('GET /health HTTP/1.1', 'Content-Length: 5', 'Connection: close') + 'hello', 413, 'body_too_large'],
  ]) {
    const reply = await server.raw(Buffer.from(bytes, 'latin1'), { enough: isWhole });
    equal([statusOf(reply), codeOf(reply)], [status, code], `${JSON.stringify(bytes.slice(0, 80))}:`);
    check(/\r\nTertulia-Request: \S+\r\n/.test(reply), 'every answer has its id');
  }
});

test('Each thing that is not JSON, or not what a turn is, has its name', async () => {
  for (const [body, status, code] of [
    ['', 400, 'empty_body'],
    ['{', 400, 'bad_json'],
    ['[]', 400, 'wrong_type'],
    ['{"message":1}', 400, 'wrong_type'],
    ['{"message":""}', 400, 'empty_message'],
    ['{"message":"  "}', 400, 'empty_message'],
    ['{}', 400, 'missing_field'],
    ['{"message":"x","message":"y"}', 400, 'duplicate_key'],
    ['{"message":"x","tenant":"acme"}', 400, 'unknown_field'],
    ['{"message":"x","session":"a/b"}', 400, 'bad_id'],
    ['{"message":"x","session":7}', 400, 'wrong_type'],
    ['{"message":"x","stream":"true"}', 400, 'wrong_type'],
    ['{"message":"x","on_busy":"later"}', 400, 'out_of_range'],
    ['{"message":"x","options":{"temperature":-1}}', 400, 'out_of_range'],
    ['{"message":"x","options":{"temperature":1e999}}', 400, 'bad_number'],
    ['{"message":"\\ud800"}', 400, 'bad_unicode'],
    [Buffer.from('{"message":"\xff"}', 'latin1'), 400, 'bad_unicode'],
    [`{"message":${'['.repeat(100_000)}`, 400, 'too_deep'],
    ['{"message":"x","agent":"nobody"}', 404, 'not_found'],
    ['{"message":{"parts":[{"kind":"sound"}]}}', 400, 'out_of_range'],
  ]) {
    const reply = await server.call('POST', '/api/v1/turns', { body, headers: { 'Content-Type': 'application/json' } });
    equal([reply.status, reply.json?.error?.code], [status, code], `${String(body).slice(0, 60)}:`);
  }
  equal((await server.expect(400, 'GET', '/api/v1/sessions?limit=0')).error.code, 'out_of_range');
  equal((await server.expect(400, 'GET', '/api/v1/sessions?limt=1')).error.code, 'unknown_field');
  equal((await server.expect(400, 'GET', '/api/v1/sessions?cursor=xx')).error.code, 'out_of_range');
});

// A request that was right, until something in it was changed.
function mutated() {
  const { method, path } = pick(operations);
  const values = ['there', 'main', 'nobody', '~own', '..', '%2e%2e', '%00', 'a'.repeat(200), '', '06gnf9d5z7s2w3r8k1m4q0t6y2', '-1', 'ñ', "'; --"];
  const target = path.replace(/\{\w+\}/g, () => pick(values)) + pick(['', '', '?limit=1', '?limit=-1', '?a=b', '?limit=1&limit=2', '?%ff', '?branch=main', '?after=x']);
  const body = pick(['', '{}', '{"message":"x"', '[1]', 'null', '{"message":null}', '{"metadata":{"a":[[[]]]}}', '{"id":"\\u0000"}', '"', '\xff\xfe', '{"choice":"once"}', '{"from":"x","turns":[-1]}', `{"a":${'9'.repeat(400)}}`]);
  const fields = [`Host: ${pick(['localhost', '127.0.0.1', 'evil.example', ''])}`];
  if (random(4)) fields.push(`Content-Length: ${pick([body.length, body.length, body.length, 0, body.length + 1, 'x', '1e3', '+2'])}`);
  if (random(3)) fields.push(`Content-Type: ${pick(['application/json', 'application/json; charset=utf-8', 'text/html', ';', 'application/x-ndjson'])}`);
  if (!random(5)) fields.push(pick(['If-Match: "x"', 'If-Match: "1"', 'Tertulia-User: ../..', 'Authorization: Bearer', 'Authorization: Bearer tk_x', 'Last-Event-ID: 7', 'Expect: 100-continue', 'Transfer-Encoding: gzip', 'Origin: null', 'X-Api-Key: \x80', 'Range: bytes=0-']));
  fields.push('Connection: close');
  let text = `${pick([method, method, method, 'GET', 'POST', 'get', 'TRACE'])} ${target} HTTP/1.${pick([1, 1, 1, 0, 9])}\r\n${fields.join('\r\n')}\r\n\r\n${body}`;
  for (let cuts = random(3); cuts > 0 && !random(3); cuts -= 1) {
    const at = random(text.length);
    text = text.slice(0, at) + pick(['', '\r', '\n', '\0', ' ', 'A', '%']) + text.slice(at + random(3));
  }
  return text;
}

test(`${count} generated requests are answered or refused by name, and nothing of them kills`, async () => {
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const bytes = mutated();
      const reply = await server.raw(Buffer.from(bytes, 'latin1'), { end: true });
      // Nothing at all is the answer to a request that was never finished.
      if (reply === '') continue;
      const status = statusOf(reply.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''));
      check((status >= 200 && status < 500) || status === 505, `${JSON.stringify(bytes.slice(0, 300))} gives ${reply.slice(0, 300)}`);
      if (status >= 400 && !/^HEAD/.test(bytes)) {
        const code = codeOf(reply.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''));
        check(/^[a-z_]+$/.test(code), `a code: ${code}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  await server.expect(200, 'GET', '/health');
  equal(server.process.exitCode, null);
});

test('Whatever a client accepts beside what it is given is fine, and no answer is kept on the way', async () => {
  for (const accept of ['*/*', 'application/json', 'text/html, application/*;q=0.5', 'text/event-stream', 'APPLICATION/JSON;q=0.1']) {
    const reply = await server.call('GET', '/api/v1/me', { headers: { Accept: accept } });
    equal([reply.status, reply.headers.get('cache-control')], [200, 'no-store'], accept);
  }
  for (const path of ['/health', '/api/v1/nothing', '/v1/models']) equal((await server.call('GET', path)).headers.get('cache-control'), 'no-store', path);
});

test('Requests that come early are answered in order', async () => {
  const text = await server.raw(get('GET /health HTTP/1.1') + get('GET /ready HTTP/1.1') + get('GET /api/v1/version HTTP/1.1', 'Connection: close'));
  const bodies = text.split('\r\n\r\n').slice(1).map((part) => part.split('HTTP/1.1')[0]);
  equal(bodies.map((body) => Object.keys(JSON.parse(body))[0]), ['status', 'status', 'version']);
});

test('A body may come in chunks of any size, and one may be asked for first', async () => {
  const body = JSON.stringify({ session: 'chunks', message: 'In pieces' });
  const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join('');
  const head = get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: close');
  equal(statusOf(await server.raw(`${head}${chunks}0\r\n\r\n`)), 200);
  const reply = await new Promise((done) => {
    const socket = net.connect(server.port, '127.0.0.1');
    let text = '';
    socket.on('data', (part) => {
      text += part;
      if (text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body);
    });
    socket.on('close', () => done(text));
    socket.write(get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close'));
  });
  check(reply.startsWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200'), reply.slice(0, 100));
});

test('Whoever sends too slowly is told so and put out', async () => {
  const hasty = await Server.start({ config: '[server]\nhead_timeout = "500ms"\nbody_timeout = "500ms"\n' });
  const slow = await hasty.raw('GET /health HTTP/1.1\r\nHost: loc');
  equal([statusOf(slow), codeOf(slow)], [408, 'slow_request']);
  const body = await hasty.raw(get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 100') + '{"mess');
  equal([statusOf(body), codeOf(body)], [408, 'slow_request']);
});

test('Clients that go away leave nothing behind', async () => {
  const files = () => readdirSync(`/proc/${server.process.pid}/fd`).length;
  const settle = async (most) => {
    for (let i = 0; i < 600 && files() > most; i += 1) await new Promise((done) => setTimeout(done, 50));
    return files();
  };
  await server.expect(200, 'GET', '/health');
  const before = files();
  for (let i = 0; i < 400; i += 1) {
    await new Promise((done) => {
      const socket = net.connect(server.port, '127.0.0.1', () => {
        socket.write(pick(['', 'GET ', get('GET /health HTTP/1.1'), get('POST /api/v1/turns HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 50') + '{',
          get('POST /api/v1/turns HTTP/1.1', 'Accept: text/event-stream', 'Content-Type: application/json', 'Content-Length: 31') + '{"session":"gone","message":"x"}']), () => socket.destroy());
      });
      socket.on('close', done);
      socket.on('error', done);
    });
  }
  const after = await settle(before);
  check(after <= before, `${before} files before, ${after} after`);
});

await run();
