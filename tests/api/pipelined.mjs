// pipelined.mjs PROGRAM: requests that come before the one before them is answered.
import net from 'node:net';
import { check, equal, moment, provider, run, Server, test, until } from './support.mjs';

const server = await Server.start();

const get = (path, ...fields) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const post = (path, body, ...fields) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields.map((field) => `${field}\r\n`).join('')}Content-Length: ${body.length}\r\n\r\n${body}`;

// The answers in a text, each with its status, head and body; what is behind the last whole one is `rest`.
function answersIn(text, { heads = [] } = {}) {
  const answers = [];
  let rest = text;
  while (true) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    const head = rest.slice(0, end + 4);
    const bare = heads.includes(answers.length);
    const length = bare ? 0 : Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1] ?? NaN);
    if (Number.isNaN(length) || rest.length < head.length + length) break;
    answers.push({ status: Number(head.slice(9, 12)), head, body: rest.slice(head.length, head.length + length) });
    rest = rest.slice(head.length + length);
  }
  return { answers, rest };
}
const statuses = (text, options) => answersIn(text, options).answers.map((answer) => answer.status);
const codeOf = (answer) => JSON.parse(answer.body).error.code;

// A connection whose text can be waited for.
function connect(to = server) {
  const socket = net.connect(to.port, '127.0.0.1');
  const line = { socket, text: '', closed: false };
  socket.on('data', (part) => (line.text += part.toString('latin1')));
  socket.on('error', () => {});
  socket.on('close', () => (line.closed = true));
  line.until = (condition) => until(() => condition(line.text));
  return line;
}

test('A hundred that come at once are answered in order, each with its own id', async () => {
  const paths = Array.from({ length: 100 }, (_, i) => ['/health', '/ready', '/api/v1/version', '/api/v1/me', '/nothing'][i % 5]);
  const { answers, rest } = answersIn(await server.raw(paths.map((path) => get(path)).join('') + get('/health', 'Connection: close')));
  equal(rest, '');
  equal(answers.map((answer) => answer.status), [...paths.map((path) => (path === '/nothing' ? answers[4].status : 200)), 200]);
  equal(answers.slice(0, 100).map((answer) => answer.body), paths.map((_, i) => answers[i % 5].body.replace(/"request":"[^"]*"/, /"request":"[^"]*"/.exec(answers[i].body)?.[0])));
  const ids = answers.map((answer) => Number(/\r\nTertulia-Request: \S+-(\d+)\r\n/.exec(answer.head)[1]));
  equal(ids, ids.map((_, i) => ids[0] + i));
  check(answers.slice(0, 100).every((answer) => !/\r\nConnection: close/.test(answer.head)) && /\r\nConnection: close/.test(answers[100].head), 'the last one closes');
});

test('They may be cut anywhere on their way', async () => {
  const bytes = get('/health') + post('/api/v1/turns', '{"session":"cut","message":"One"}') + get('/ready') + get('/health', 'Connection: close');
  for (const piece of [1, 7, 50, 143]) {
    const line = connect();
    for (let at = 0; at < bytes.length; at += piece) await new Promise((done) => line.socket.write(bytes.slice(at, at + piece), done));
    await until(() => line.closed);
    equal(statuses(line.text), [200, 200, 200, 200], `in pieces of ${piece}:`);
  }
});

test('A malformed one behind good ones is refused by name behind their answers, and is the last', async () => {
  for (const [bad, status, code] of [
    ['nonsense\r\n\r\n', 400, 'bad_request_line'],
    ['GET /health HTTP/1.1\r\n\r\n', 400, 'bad_header'],
    [get('/health', 'Bad Name: x'), 400, 'bad_header'],
    [get('/health', `X: ${'a'.repeat(17_000)}`), 431, 'headers_too_large'],
    [post('/api/v1/turns', '{}', 'Content-Length: 3'), 400, 'ambiguous_length'],
    ['POST /api/v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400, 'bad_chunk'],
  ]) {
    const line = connect();
    line.socket.end(get('/health') + get('/ready') + bad + get('/health'));
    await until(() => line.closed);
    const { answers } = answersIn(line.text);
    // One that is well-formed as HTTP is refused without closing: what is behind it is clear.
    equal(answers.slice(0, 3).map((answer) => answer.status), [200, 200, status], JSON.stringify(bad.slice(0, 60)));
    equal(codeOf(answers[2]), code);
    equal(answers.length, /\r\nConnection: close/.test(answers[2].head) ? 3 : 4);
  }
});

// What one reader takes for a body another takes for a request.
test('What stands behind a request whose length is not clear never runs', async () => {
  const inner = '{"session":"smuggled","message":"Hello"}';
  const smuggled = post('/api/v1/turns', inner);
  const cases = [];
  for (const encoding of ['identity', 'gzip', 'xchunked', 'chunked, gzip', 'gzip, chunked', 'chunked, chunked', '"chunked"', 'chunked;q=1', '', '\x0bchunked', '\r\n chunked']) {
    cases.push([`Transfer-Encoding: ${encoding}`], [`Transfer-Encoding: ${encoding}`, `Content-Length: ${smuggled.length}`], [`Content-Length: 0`, `Transfer-Encoding: ${encoding}`]);
  }
  cases.push(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], ['Transfer-Encoding: chunked', 'Content-Length: 0']);
  for (const length of ['+0', '-0', '0, 0', '0x0', '', '0 0', '18446744073709551616']) cases.push([`Content-Length: ${length}`]);
  cases.push(['Content-Length: 0', `Content-Length: ${smuggled.length}`], ['Content-Length : 0'], ['Transfer-Encoding : chunked'], ['X: y\rTransfer-Encoding: chunked'], ['X: y', ' Content-Length: 5']);
  for (const fields of cases) {
    for (const version of ['1.1', '1.0']) {
      const head = `POST /api/v1/turns HTTP/${version}\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields.join('\r\n')}\r\n\r\n`;
      const { answers } = answersIn(await server.raw(Buffer.from(head + smuggled + get('/health'), 'latin1')));
      equal(answers.map((answer) => answer.status), [400], JSON.stringify(fields));
      check(/\r\nConnection: close/.test(answers[0].head), 'and it is the last');
    }
  }
  equal((await server.call('GET', '/api/v1/sessions/smuggled')).status, 404);
});

test('What comes beside the data of a body is bounded', async () => {
  const head = 'POST /api/v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  for (const [what, bytes] of [
    ['a line', `2;${'x'.repeat(1 << 20)}`],
    ['extensions', `1;${'x'.repeat(900)}\r\n \r\n`.repeat(100)],
    ['trailers', `0\r\n${`T: ${'x'.repeat(500)}\r\n`.repeat(100)}`],
    ['a size', `${'0'.repeat(100)}1\r\n`],
  ]) {
    const text = await server.raw(head + bytes);
    equal(codeOf(answersIn(text).answers[0]), 'bad_chunk', what);
  }
});

test('A body is followed by the next request, whether it has a length or comes in chunks', async () => {
  const body = '{"session":"bodies","message":"Hello"}';
  const chunked = `POST /api/v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const text = await server.raw(post('/api/v1/turns', body) + get('/health') + chunked + get('/ready') + post('/api/v1/turns', '{') + get('/health', 'Connection: close'));
  equal(statuses(text), [200, 200, 200, 200, 400, 200]);
});

test('One that says it is the last is', async () => {
  const text = await server.raw(get('/health') + get('/ready', 'Connection: close') + get('/health') + get('/health'));
  equal(statuses(text), [200, 200]);
  equal(statuses(await server.raw(`${get('/health')}GET /health HTTP/1.0\r\n\r\n${get('/health')}`)), [200, 200]);
});

test('An answer without a body does not take that of the next', async () => {
  const head = 'HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
  equal(statuses(await server.raw(head + get('/ready') + head + get('/health', 'Connection: close')), { heads: [0, 2] }), [200, 200, 200, 200]);
});

test('What is refused behind a request without an answering body has its own', async () => {
  const head = 'HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const { answers } = answersIn(await server.raw(`${head}nonsense\r\n\r\n`), { heads: [0] });
  equal(answers.map((answer) => answer.status), [200, 400]);
  equal(codeOf(answers[1]), 'bad_request_line');
});

test('A long answer stands in its place', async () => {
  const { answers } = answersIn(await server.raw(get('/health') + get('/openapi.json') + get('/health', 'Connection: close')));
  equal(answers.map((answer) => answer.status), [200, 200, 200]);
  check(answers[1].body.length > 20_000 && JSON.parse(answers[1].body).openapi, 'the whole document');
});

test('What is answered does not wait for a request that is not whole', async () => {
  for (const half of ['GET /hea', 'POST /api/v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"mess']) {
    const line = connect();
    line.socket.write(get('/health') + get('/ready') + half);
    await line.until((text) => statuses(text).length === 2);
    line.socket.destroy();
  }
});

test('What is answered does not wait for a turn that speaks, and what is behind that waits for it', async () => {
  const speak = moment();
  const slow = await Server.start({ config: await provider(() => ['One ', () => speak.happened, 'two']) });
  const line = connect(slow);
  line.socket.write(get('/health') + post('/api/v1/turns', '{"message":"Go"}') + get('/ready', 'Connection: close'));
  await line.until((text) => statuses(text).length === 1);
  speak.happen();
  await until(() => line.closed);
  equal(statuses(line.text), [200, 200, 200]);
  check(answersIn(line.text).answers[1].body.includes('One two'), 'the turn stands between them');
});

test('A stream of events begins behind the answers before it, and what is behind it comes when it has ended', async () => {
  const speak = moment();
  const slow = await Server.start({ config: await provider(() => ['One ', () => speak.happened, 'two']) });
  const line = connect(slow);
  line.socket.write(get('/health') + post('/api/v1/turns', '{"message":"Go","stream":true}') + get('/ready', 'Connection: close'));
  await line.until((text) => text.includes('One '));
  const { answers, rest } = answersIn(line.text);
  equal(answers.map((answer) => answer.status), [200]);
  check(rest.startsWith('HTTP/1.1 200') && rest.includes('Transfer-Encoding: chunked') && !rest.includes('ready'), 'the stream is second');
  speak.happen();
  await until(() => line.closed);
  equal(statuses(line.text.slice(line.text.indexOf('0\r\n\r\n') + 5)), [200]);
  check(line.text.endsWith('{"status":"ready"}'), 'and what was behind it is third');
});

test('A WebSocket begins behind the answers before it, with what came with it', async () => {
  const line = connect();
  const frame = (text) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([Buffer.from([0x81, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
  };
  const upgrade = get('/v1/responses', 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
  line.socket.write(Buffer.concat([Buffer.from(get('/health') + upgrade), frame('{"type":"nothing"}')]));
  await line.until((text) => text.includes('error'));
  const { answers, rest } = answersIn(line.text);
  equal(answers.map((answer) => answer.status), [200]);
  check(rest.startsWith('HTTP/1.1 101'), `the upgrade is second: ${rest.slice(0, 60)}`);
  line.socket.destroy();
});

test('Whoever asks and does not read is not answered without end, and gets everything once it reads', async () => {
  const count = 150_000;
  const answered = async () => Number(/tertulia_http_requests_total\{status="2xx"\} (\d+)/.exec(await server.expect(200, 'GET', '/metrics'))[1]);
  const before = await answered();
  const socket = net.connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(get('/health').repeat(count - 1) + get('/health', 'Connection: close'));
  let last = -1;
  // Until nothing moves any more: only the question itself is counted.
  await until(async () => {
    const now = await answered();
    const still = now - last === 1 && now > before + 1;
    last = now;
    return still;
  });
  check(last - before < count, `${last - before} of ${count} were answered to nobody`);
  let got = 0;
  let tail = '';
  const mark = 'HTTP/1.1 200 OK';
  socket.on('data', (part) => {
    const pieces = (tail + part.toString('latin1')).split(mark);
    got += pieces.length - 1;
    tail = pieces.at(-1).slice(1 - mark.length);
  });
  socket.resume();
  await new Promise((done) => socket.on('close', done));
  equal(got, count);
});

await run();
