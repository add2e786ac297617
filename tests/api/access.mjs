// access.mjs PROGRAM: every route with every kind of principal, keys, origins and the audit log.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, moment, program, provider, run, Server, tertulia, tertuliaFails, test, until } from './support.mjs';
import { spawnSync } from 'node:child_process';

const data = folder();
const make = (...args) => JSON.parse(tertulia(data, '--json', ...args));
const keyOf = (tenant, access, user) =>
  make('--tenant', tenant, 'keys', 'create', '--access', access, ...(user ? ['--user', user] : []));
const admin = keyOf('acme', 'admin');
const writer = keyOf('acme', 'write', 'ana');
const reader = keyOf('acme', 'read', 'ana');
const other = keyOf('acme', 'write', 'bea');
const foreign = keyOf('globex', 'admin');
const revoked = keyOf('acme', 'admin');
const expired = make('--tenant', 'acme', 'keys', 'create', '--access', 'admin', '--expires-in', '1ms');
tertulia(data, 'keys', 'revoke', revoked.id);

const workflow = join(folder(), 'alone.toml');
writeFileSync(workflow, '[workflow]\nname = "alone"\nparticipants = ["one"]\nreview = ["one"]\n[agents.one]\ninstructions = "Speak."\n');
const config = `[server]\nkey_required = true\norigins = ["https://shop.example"]\n[workflows.alone]\nfile = "${workflow}"\n`;
const server = await Server.start({ data, config });
const routes = tertulia(data, 'serve', '--routes').trim().split('\n').map((line) => line.split(' '));

// What ana has.
const turn = await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'hers', message: 'Mine alone' }, key: writer.key });
const asset = await server.expect(201, 'POST', '/api/v1/sessions/hers/assets', { body: 'x', headers: { 'Content-Type': 'text/plain' }, key: writer.key });
// A response of hers, in the same session.
const response = await server.expect(200, 'POST', '/v1/responses',
  { body: { model: 'default', input: 'Mine alone' }, headers: { 'Tertulia-Session': 'hers' }, key: writer.key });
// What she remembers, and a run of hers that waits.
const memory = (status, path, body) => server.expect(status, 'POST', `/api/v1/memory/${path}`, { body, key: writer.key });
const job = await memory(200, 'documents?wait=true', { source: 'diary.txt', text: 'Mine alone' });
const { fact } = await memory(201, 'facts', { text: 'Mine alone is my secret' });
await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'past', message: 'Mine alone' }, key: writer.key });
await server.expect(200, 'POST', '/api/v1/sessions/past/close', { key: writer.key });
const [episode] = (await server.expect(200, 'GET', '/api/v1/memory/episodes', { key: writer.key })).episodes;
const waiting = await server.expect(200, 'POST', '/api/v1/workflows/alone/runs', { body: { message: 'Mine alone', session: 'flow' }, key: writer.key });
const own = { session: 'hers', branch: 'main', turn: turn.turn, message: turn.messages[0].id, call: '0', asset: asset.id, agent: 'default', user: 'ana',
  response: response.id, conversation: 'conv_hers', item: `msg_${turn.turn}_0_hers`, model: 'default', collection: 'user', job: job.id, fact: fact.id, entry: fact.id, episode: episode.id,
  procedure: 'none', workflow: 'alone', run: waiting.run, request: waiting.requests[0].id };
const pathOf = (pattern) => pattern.replace(/\{(\w+)\}/g, (_, name) => {
  check(own[name] !== undefined, `the matrix has nothing for {${name}} in ${pattern}: add it`);
  return own[name];
});
// A body that is well-formed JSON, and never right: it must not come to that.
const optionsFor = (method, pattern) =>
  ['POST', 'PATCH', 'PUT'].includes(method) && !/\/(close|reopen|cancel|approve)$/.test(pattern)
    ? { body: '{"matrix":1}', headers: { 'Content-Type': 'application/json' } } : {};
function badPrices() {
  const file = join(folder(), 'config.toml');
  writeFileSync(file, '[server]\nprices = ["gpt"]\n', { mode: 0o600 });
  return file;
}
const levels = { open: 0, read: 1, write: 2, admin: 3 };

test('Every route refuses whoever shows no key, or one that is not valid', async () => {
  for (const [method, pattern, access] of routes) {
    if (access === 'open') continue;
    for (const key of [undefined, 'tk_wrong', revoked.key, expired.key, '']) {
      const reply = await server.call(method, pathOf(pattern), { ...optionsFor(method, pattern), key });
      equal([reply.status, reply.json.error.code], [401, 'bad_key'], `${method} ${pattern} with ${key}:`);
      equal(reply.headers.get('www-authenticate'), 'Bearer');
    }
  }
});

test('Every route refuses a key that may less than it needs', async () => {
  for (const [method, pattern, access] of routes) {
    for (const [key, level] of [[reader.key, 1], [writer.key, 2]]) {
      if (level >= levels[access]) continue;
      const reply = await server.call(method, pathOf(pattern), { ...optionsFor(method, pattern), key });
      equal([reply.status, reply.json?.error.code], [403, 'not_permitted'], `${method} ${pattern} at level ${level}:`);
    }
  }
});

test('What belongs to somebody else is not there, on every route that names something', async () => {
  for (const [method, pattern] of routes) {
    if (!/\{(session|response|conversation|job|fact|episode|run)\}/.test(pattern)) continue;
    for (const key of [other.key, foreign.key]) {
      const reply = await server.call(method, pathOf(pattern), { ...optionsFor(method, pattern), key });
      // A body that is wrong may be seen first: it says nothing about the session. Nor does it that nothing goes on.
      const fine = reply.status === 404 || reply.status === 204 ||
        (reply.status === 400 && ['unknown_field', 'missing_field'].includes(reply.json.error.code));
      check(fine, `${method} ${pattern} answers ${reply.status} ${reply.text.slice(0, 200)}`);
      check(!reply.text.includes('Mine alone'), `${method} ${pattern} leaks`);
    }
  }
  equal((await server.expect(200, 'GET', '/api/v1/sessions', { key: other.key })).sessions, []);
  equal((await server.expect(200, 'GET', '/api/v1/sessions?user=%2A', { key: foreign.key })).sessions, []);
  equal((await server.expect(200, 'GET', '/api/v1/sessions?user=%2A', { key: admin.key })).sessions.map((session) => session.user), ['ana', 'ana', 'ana']);
  await server.expect(404, 'GET', '/api/v1/users/ana/export', { key: other.key });
  await server.expect(200, 'GET', '/api/v1/sessions/hers', { key: writer.key });
  // Nor by looking for it.
  for (const key of [other.key, foreign.key]) {
    for (const path of ['collections', 'documents', 'jobs', 'items', 'facts', 'episodes']) {
      const reply = await server.call('GET', `/api/v1/memory/${path}`, { key });
      equal([reply.status, Object.values(reply.json)], [200, [[]]], path);
    }
    equal((await server.expect(200, 'GET', '/api/v1/workflow-runs', { key })).runs, []);
    for (const path of ['search', 'episodes/search']) {
      const reply = await server.call('POST', `/api/v1/memory/${path}`, { body: { query: 'Mine alone' }, key });
      equal([reply.status, Object.values(reply.json)], [200, [[]]], path);
    }
  }
});

test('A key has the same say however it is shown, and two keys are refused', async () => {
  await server.expect(200, 'GET', '/api/v1/me', { headers: { 'X-Api-Key': writer.key } });
  await server.expect(200, 'GET', '/api/v1/me', { headers: { Authorization: `bearer ${writer.key}` } });
  await server.expect(401, 'GET', '/api/v1/me', { headers: { 'X-Api-Key': other.key, Authorization: `Bearer ${writer.key}` } });
  await server.expect(401, 'GET', '/api/v1/me', { headers: { Authorization: `Basic ${writer.key}` } });
  await server.expect(401, 'GET', `/api/v1/me?key=${writer.key}`);
});

test('A key that is bound to a user speaks for that user only', async () => {
  equal((await server.expect(403, 'GET', '/api/v1/me', { key: writer.key, headers: { 'Tertulia-User': 'bea' } })).error.code, 'not_permitted');
  equal((await server.expect(200, 'GET', '/api/v1/me', { key: admin.key, headers: { 'Tertulia-User': 'bea' } })).user, 'bea');
  equal((await server.expect(400, 'GET', '/api/v1/me', { key: admin.key, headers: { 'Tertulia-User': '../x' } })).error.code, 'bad_id');
});

test('The program keeps its own sessions to itself', async () => {
  equal((await server.expect(400, 'GET', '/api/v1/sessions/~memory', { key: writer.key })).error.code, 'bad_id');
  equal((await server.expect(400, 'POST', '/api/v1/turns', { body: { session: '~m', message: 'x' }, key: writer.key })).error.code, 'bad_id');
});

test('Only pages of listed origins may call', async () => {
  const listed = await server.call('GET', '/api/v1/me', { key: writer.key, headers: { Origin: 'https://shop.example' } });
  equal([listed.status, listed.headers.get('access-control-allow-origin'), listed.headers.get('vary')], [200, 'https://shop.example', 'Origin']);
  const stranger = await server.call('GET', '/api/v1/me', { key: writer.key, headers: { Origin: 'https://evil.example' } });
  equal([stranger.status, stranger.json.error.code, stranger.headers.get('access-control-allow-origin')], [403, 'origin_not_allowed', null]);
  const ask = { 'Access-Control-Request-Method': 'POST' };
  equal((await server.call('OPTIONS', '/api/v1/turns', { headers: { Origin: 'https://shop.example', ...ask } })).status, 204);
  equal((await server.call('OPTIONS', '/api/v1/turns', { headers: { Origin: 'https://evil.example', ...ask } })).status, 403);
  // The headers of clients are many: those of the openai package, and the one that names a session.
  const sent = 'authorization,content-type,tertulia-session,x-stainless-lang,x-stainless-retry-count';
  const preflight = await server.call('OPTIONS', '/v1/chat/completions', { headers: { Origin: 'https://shop.example', ...ask, 'Access-Control-Request-Headers': sent } });
  equal([preflight.status, preflight.headers.get('access-control-allow-headers')], [204, sent]);
});

test('The figures of the whole server are not for the admin of one tenant', async () => {
  equal((await server.call('GET', '/metrics', { key: keyOf('acme', 'admin').key })).json.error.code, 'not_permitted');
  equal((await server.call('GET', '/metrics', { key: keyOf('local', 'admin').key })).status, 200);
});

test('A listed page is no administrator of a server that asks for no key', async () => {
  const open = await Server.start({ config: '[server]\norigins = ["https://shop.example"]\n' });
  const headers = { Origin: 'https://shop.example' };
  equal((await open.expect(200, 'GET', '/api/v1/me', { headers })).scopes, ['read', 'write']);
  equal((await open.call('DELETE', '/api/v1/users/local', { headers })).status, 403);
  equal((await open.expect(200, 'GET', '/api/v1/me', { headers: { Origin: open.url } })).scopes, ['read', 'write', 'admin']);
});

test('A key is good as soon as it is made, for everybody who shows it', async () => {
  for (let round = 0; round < 5; ++round) {
    const { key } = keyOf('acme', 'write');
    const answers = await Promise.all([1, 2, 3, 4].map(() => server.call('GET', '/api/v1/me', { key })));
    equal(answers.map(({ status }) => status), [200, 200, 200, 200]);
  }
});

test('A key that asks too often is told when to come again, in every API', async () => {
  const often = make('--tenant', 'acme', 'keys', 'create', '--requests-per-minute', '2').key;
  await server.expect(200, 'GET', '/api/v1/me', { key: often });
  await server.expect(200, 'GET', '/api/v1/me', { key: often });
  const native = await server.call('GET', '/api/v1/me', { key: often });
  equal([native.status, native.json.error.code], [429, 'rate_limited']);
  const wait = Number(native.headers.get('retry-after'));
  check(wait > 0 && wait <= 30 && wait === native.json.error.retry_after, `${wait} of ${native.text}`);
  const other = await server.call('GET', '/v1/models', { key: often });
  equal([other.status, other.json.error.code, other.json.error.type], [429, 'rate_limit_exceeded', 'rate_limit_error']);
});

test('A key chooses among the models that it was given', async () => {
  const place = folder();
  const file = join(folder(), 'config.toml');
  const models = '[models.cheap]\nprovider = "offline"\n[models.dear]\nprovider = "offline"\n';
  writeFileSync(file, models, { mode: 0o600 });
  const create = (...args) => spawnSync(program, ['--json', '--data', place, '--config', file, '--tenant', 'acme', 'keys', 'create', ...args], { encoding: 'utf8' });
  const [some, none, all] = [['--models', 'cheap'], ['--models', 'none'], []].map((args) => JSON.parse(create(...args).stdout).key);
  const typo = create('--models', 'chaep');
  check(typo.status !== 0 && typo.stderr.includes("'cheap'"), typo.stderr);
  const one = await Server.start({ data: place, config: `${models}[server]\nkey_required = true\n` });
  const listed = async (key) => (await one.expect(200, 'GET', '/api/v1/models', { key })).models.map((model) => model.name);
  equal([await listed(some), await listed(none), await listed(all)], [['cheap'], [], ['cheap', 'dear']]);
  const turn = (status, key, more) => one.expect(status, 'POST', '/api/v1/turns', { body: { message: 'Hello', ...more }, key });
  for (const key of [some, none, all]) await turn(200, key, {});
  await turn(200, some, { model: 'cheap' });
  await turn(200, all, { model: 'dear' });
  for (const [key, more] of [[some, { model: 'dear' }], [some, { options: { model: 'offline' } }], [none, { model: 'cheap' }], [none, { options: { model: 'offline' } }]]) {
    equal((await turn(403, key, more)).error.code, 'not_permitted', JSON.stringify(more));
  }
});

test('A visitor speaks for one user, from a listed page, until the token or its key ends', async () => {
  const minter = keyOf('acme', 'write');
  const { token, user } = await server.expect(201, 'POST', '/api/v1/visitors', { body: { user: 'vera' }, key: minter.key });
  equal(user, 'vera');
  const from = (origin, more = {}) => ({ key: token, headers: { ...(origin && { Origin: origin }), ...more } });
  const shop = from('https://shop.example');
  equal((await server.expect(200, 'GET', '/api/v1/me', shop)), { tenant: 'acme', user: 'vera', scopes: ['read', 'write'] });
  equal((await server.expect(403, 'GET', '/api/v1/me', from(''))).error.code, 'origin_not_allowed');
  equal((await server.expect(403, 'GET', '/api/v1/me', from('https://evil.example'))).error.code, 'origin_not_allowed');
  await server.expect(403, 'GET', '/api/v1/me', from('https://shop.example', { 'Tertulia-User': 'ana' }));
  await server.expect(404, 'GET', '/api/v1/sessions/hers', shop);
  await server.expect(403, 'POST', '/api/v1/visitors', shop);
  for (const body of [{ message: 'Hi', model: 'dear' }, { message: 'Hi', options: { model: 'dear' } }]) {
    const { error } = await server.expect(403, 'POST', '/api/v1/turns', { ...shop, body });
    equal([error.code, error.param], ['not_permitted', 'model']);
  }
  await server.expect(403, 'DELETE', '/api/v1/users/vera', shop);
  for (const bad of [token.replace('vera', 'anna'), token.slice(0, -1), `tv1_${'0'.repeat(64)}/acme/vera//9`, 'tv1_']) {
    equal((await server.expect(401, 'GET', '/api/v1/me', { ...shop, key: bad })).error.code, 'bad_visitor_token');
  }
  const brief = await server.expect(201, 'POST', '/api/v1/visitors', { body: { seconds: 1 }, key: minter.key });
  check(brief.user.startsWith('visitor-'), 'nobody in particular');
  tertulia(server.data, 'keys', 'revoke', minter.id);
  await until(async () => (await server.call('GET', '/api/v1/me', shop)).status === 401);
});

test('On loopback nobody needs a key, but a page of another name does', async () => {
  const open = await Server.start();
  equal((await open.expect(200, 'GET', '/api/v1/me')).tenant, 'local');
  const head = (host) => `GET /api/v1/me HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  check((await open.raw(head(`localhost:${open.port}`))).startsWith('HTTP/1.1 200'), 'localhost is loopback');
  await open.expect(200, 'GET', '/api/v1/me', { key: 'sk-whatever-a-client-sends' });
  await open.expect(401, 'GET', '/api/v1/me', { key: 'tk_wrong' });
  check((await open.raw(head('rebound.example'))).startsWith('HTTP/1.1 401'), 'a name that leads here is not');
  check((await open.raw(head('localhost').replace('\r\n\r\n', '\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n'))).startsWith('HTTP/1.1 401'), 'nor is a proxy');
});

test('Where others can reach it the server does not start without a key', () => {
  const none = spawnSync(program, ['--data', folder(), 'serve', '--address', '0.0.0.0', '--port', '0'], { encoding: 'utf8' });
  equal(none.status, 78);
  check(none.stderr.includes('tertulia keys create'), none.stderr);
});

test('A key that is taken back ends its open streams', async () => {
  const place = folder();
  const key = JSON.parse(tertulia(place, '--json', '--tenant', 'acme', 'keys', 'create'));
  const gate = moment();
  const one = await Server.start({ data: place, config: `${await provider(() => ['Begun', () => gate.happened])}${config}` });
  const stream = await one.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'Go' }, key: key.key });
  await stream.until('text_delta');
  tertulia(place, 'keys', 'revoke', key.id);
  const rest = await stream.all().catch(() => []);
  equal(rest.filter((frame) => frame.event === 'outcome'), []);
  await one.expect(401, 'GET', '/api/v1/me', { key: key.key });
  gate.happen();
});

test('A key with a limit of tokens or money speaks until it is used up, also after a restart', async () => {
  const place = folder();
  const limited = (...args) => JSON.parse(tertulia(place, '--json', '--tenant', 'acme', 'keys', 'create', ...args)).key;
  const unpriced = tertuliaFails(place, 'keys', 'create', '--money-per-day', '1');
  check(unpriced.includes('server.prices'), unpriced);
  const priced = '[server]\nkey_required = true\nprices = ["*=1000/1000"]\n';
  const free = limited();
  const one = await Server.start({ data: place, config: priced });
  const speak = (where, key, status) => where.expect(status, 'POST', '/api/v1/turns', { body: { message: 'Hello' }, key });
  // As much as one turn uses, and not a token more. A token costs a thousandth.
  const { usage } = await speak(one, free, 200);
  const most = usage.input_tokens + usage.output_tokens;
  const [tokens, money] = [limited('--tokens-per-day', `${most}`), limited('--money-per-day', `${most / 1000}`, '--config', one.config)];
  equal((await speak(one, tokens, 200)).status, 'committed');
  const refused = (await speak(one, tokens, 429)).error;
  equal([refused.code, refused.unit, refused.limit, refused.actual], ['limit_reached', 'tokens', most, most]);
  check(refused.resets_at > new Date().toISOString(), refused.resets_at);
  // The other API counts as well.
  await one.expect(200, 'POST', '/v1/chat/completions', { body: { model: 'default', messages: [{ role: 'user', content: 'Hello' }] }, key: money });
  equal((await one.expect(429, 'POST', '/v1/chat/completions', { body: { model: 'default', messages: [{ role: 'user', content: 'Hello' }] }, key: money })).error.code, 'limit_reached');
  await one.expect(200, 'GET', '/api/v1/sessions', { key: tokens });
  for (let i = 0; i < 3; i += 1) await speak(one, free, 200);
  await one.stop();
  const listed = tertulia(place, '--json', 'keys', 'list').trim().split('\n').map((line) => JSON.parse(line));
  equal(listed.map((one_key) => [one_key.tokens_today, one_key.money_today]), [[undefined, undefined], [most, undefined], [undefined, `${most / 1000}`]]);
  check(tertulia(place, 'keys', 'list').includes(`${most} of ${most} tokens today`), 'people can read it');
  const again = await Server.start({ data: place, config: priced });
  equal((await speak(again, tokens, 429)).error.code, 'limit_reached');
  await speak(again, free, 200);
  equal(spawnSync(program, ['--data', folder(), '--config', badPrices(), 'serve', '--port', '0'], { encoding: 'utf8' }).status, 78);
});

// A provider that says words for as long as it is listened to, and a key that may have some of them.
async function talkative(...limit) {
  const place = folder();
  const { key, id } = JSON.parse(tertulia(place, '--json', '--tenant', 'acme', 'keys', 'create', ...limit));
  const spoken = moment();
  const config = await provider((request) => {
    const last = request.messages.at(-1).content;
    return last.includes('briefly') ? ['Yes.'] : [...Array.from({ length: 2000 }, (_, i) => `word${i} `), () => spoken.happened];
  });
  return { place, key, id, config: `${config}[server]\nkey_required = true\n`, spoken };
}

test('A turn that comes to the limit of its key is stopped with the reason, and the conversation stays whole', async () => {
  const { place, key, config: limits, spoken } = await talkative('--tokens-per-day', '900');
  const one = await Server.start({ data: place, config: limits });
  await one.expect(200, 'POST', '/api/v1/turns', { body: { session: 's', message: 'Answer briefly' }, key });
  const stream = await one.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'Tell me everything' }, key });
  const frames = await stream.all();
  const { event, data } = frames.at(-1);
  equal([event, data.error.code, data.error.unit, data.error.limit], ['failed', 'limit_reached', 'tokens', 900]);
  check(frames.filter((frame) => frame.event === 'text_delta').length > 20, 'it was under way');
  equal((await one.expect(200, 'GET', '/api/v1/sessions/s/messages', { key })).messages.map((message) => message.text), ['Answer briefly', 'Yes.']);
  equal(await one.expect(200, 'GET', '/api/v1/sessions/s/turns', { key }), { running: [], interrupted: [] });
  equal((await one.expect(429, 'POST', '/api/v1/turns', { body: { session: 's', message: 'briefly' }, key })).error.code, 'limit_reached');
  spoken.happen();
});

test('A turn that a crash has cut goes on at the expense of the key that began it', async () => {
  const { place, key, id, config: limits, spoken } = await talkative('--tokens-per-day', '900');
  const one = await Server.start({ data: place, config: limits });
  const stream = await one.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'Wait, then tell me everything' }, key });
  await stream.until('text_delta');
  await one.kill();
  const again = await Server.start({ data: place, config: limits });
  // Nobody reads it, and nobody asks for it.
  const spent = () => JSON.parse(readFileSync(join(place, 'spending.json'), 'utf8')).keys[id]?.tokens ?? 0;
  await until(async () => (await again.call('POST', '/api/v1/turns', { body: { session: 'other', message: 'briefly' }, key })).status === 429);
  await again.stop();
  check(spent() >= 900, `${spent()} tokens`);
  spoken.happen();
});

test('Runs of workflows count for the key that began them, also behind a restart', async () => {
  const { place, key, config: limits, spoken } = await talkative('--tokens-per-day', '900');
  const file = join(folder(), 'two.toml');
  writeFileSync(file, '[workflow]\nname = "two"\nparticipants = ["one", "two"]\nreview = ["one"]\n[agents.one]\ninstructions = "Answer briefly."\n[agents.two]\ninstructions = "Speak."\n');
  const flow = `${limits}[workflows.two]\nfile = "${file}"\n`;
  const one = await Server.start({ data: place, config: flow });
  const run = await one.expect(200, 'POST', '/api/v1/workflows/two/runs', { body: { message: 'Answer briefly' }, key });
  equal(run.status, 'waiting');
  await one.stop();
  const spent = () => Object.values(JSON.parse(readFileSync(join(place, 'spending.json'), 'utf8')).keys)[0]?.tokens ?? 0;
  const before = spent();
  check(before > 0, 'what the first agent used is counted');
  const again = await Server.start({ data: place, config: flow });
  await again.expect(200, 'POST', `/api/v1/workflows/two/runs/${run.run}/requests/${run.requests[0].id}`, { body: { answer: 'Tell me everything' }, key });
  const events = await (await again.stream('GET', `/api/v1/workflows/two/runs/${run.run}/events`, { key })).all();
  equal([events.at(-1).event, events.at(-1).data.error.code], ['failed', 'limit_reached']);
  equal((await again.expect(429, 'POST', '/api/v1/workflows/two/runs', { body: { message: 'briefly' }, key })).error.code, 'limit_reached');
  spoken.happen();
});

test('The audit log names who changed what, and shows when it was changed', async () => {
  const own_data = folder();
  const one = await Server.start({ data: own_data });
  await one.expect(201, 'POST', '/api/v1/sessions', { body: { id: 'a', metadata: { secret: 'canary' } } });
  await one.expect(200, 'DELETE', '/api/v1/sessions/a');
  // What a collector reads is none of them.
  await one.call('GET', '/metrics');
  await one.stop();
  const report = JSON.parse(tertulia(own_data, '--json', 'audit', 'verify'));
  equal(report.entries, 4);
  const file = join(own_data, 'audit.jsonl');
  const lines = readFileSync(file, 'utf8');
  check(!lines.includes('canary'), 'what was said is not in it');
  const told = lines.trim().split('\n').map(JSON.parse);
  equal(told.map(({ method, route, state, status }) => [method, route, state, status]), [
    ['POST', '/api/v1/sessions', 'begun', undefined], ['POST', '/api/v1/sessions', undefined, 201],
    ['DELETE', '/api/v1/sessions/{session}', 'begun', undefined], ['DELETE', '/api/v1/sessions/{session}', undefined, 200]]);
  equal([told[0].request, told[2].request], [told[1].request, told[3].request]);
  writeFileSync(file, lines.replace('"status":200', '"status":404'));
  const broken = spawnSync(program, ['--data', own_data, 'audit', 'verify'], { encoding: 'utf8' });
  equal(broken.status, 65);
  check(broken.stderr.includes('line 4'), broken.stderr);
});

await run();
