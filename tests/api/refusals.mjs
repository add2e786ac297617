// refusals.mjs PROGRAM: what is well-formed and cannot be done, each with its own code and the facts that help.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, equal, folder, moment, provider, run, Server, tertulia, test } from './support.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const server = await Server.start();
const say = (body, on = server) => on.expect(200, 'POST', '/api/v1/turns', { body });
// The error of a request that must be refused so.
async function refused(status, code, method, path, options = {}, on = server) {
  const { error } = await on.expect(status, method, path, options);
  equal(error.code, code, `${method} ${path} ${error.message}`);
  return error;
}
const turn = (status, code, body, on) => refused(status, code, 'POST', '/api/v1/turns', { body }, on);

test('Every code that a client can be told stands in the contract', () => {
  const names = (file, list) => [...readFileSync(join(root, file), 'utf8').matchAll(list)].map((match) => match[1]);
  const codes = [...names('libs/base/include/tertulia/base/error_code.h', /^\s*X\(k\w+, "(\w+)"/gm), ...names('apps/server/http/problem.h', /^\s*X\(k\w+, "(\w+)", \d+/gm)];
  check(codes.length > 80, `${codes.length} codes`);
  const contract = readFileSync(join(root, 'docs/contracts/api.md'), 'utf8');
  const table = contract.slice(contract.indexOf('## Errors'), contract.indexOf('## Sessions'));
  equal(codes.filter((code) => !table.includes(`\`${code}\``)), []);
});

test('Sessions and branches', async () => {
  await say({ session: 's', message: 'One' });
  await say({ session: 's', message: 'Two' });
  await server.expect(201, 'POST', '/api/v1/sessions/s/branches', { body: { id: 'fork', at_index: 1 } });
  await server.expect(201, 'POST', '/api/v1/sessions/s/branches', { body: { id: 'twig', from: 'fork' } });
  const ambiguous = await turn(409, 'ambiguous_branch', { session: 's', message: 'Where?' });
  equal([...ambiguous.branches].sort(), ['fork', 'main', 'twig']);
  await turn(404, 'no_branch', { session: 's', branch: 'nowhere', message: 'x' });
  await refused(409, 'branch_exists', 'POST', '/api/v1/sessions/s/branches', { body: { id: 'fork', from: 'main' } });
  const parent = await refused(409, 'has_children', 'DELETE', '/api/v1/sessions/s/branches/fork');
  check(Number(parent.n) === 1, JSON.stringify(parent));
  const point = await refused(400, 'bad_fork_point', 'POST', '/api/v1/sessions/s/branches', { body: { from: 'main', at_index: 400 } });
  check(point.nearest !== undefined, JSON.stringify(point));
  for (const at_index of [-1, 1.5, 2 ** 40, '1']) {
    const { error } = await server.expect(400, 'POST', '/api/v1/sessions/s/branches', { body: { from: 'main', at_index } });
    check(['out_of_range', 'wrong_type', 'bad_fork_point'].includes(error.code), `${at_index}: ${error.code}`);
  }
  await refused(413, 'too_large', 'PATCH', '/api/v1/sessions/s', { body: { metadata: { text: 'x'.repeat(20_000) } } });
  await refused(400, 'out_of_range', 'PATCH', '/api/v1/sessions/s', { body: { metadata: {} }, headers: { 'If-Match': '17' } });
  const stale = await refused(409, 'revision_conflict', 'POST', '/api/v1/turns', { body: { session: 's', branch: 'main', message: 'x' }, headers: { 'If-Match': '"1"' } });
  equal(stale.current, (await server.expect(200, 'GET', '/api/v1/sessions/s')).revision);
  for (const id of ['.hidden', 'a/b', 'a b', 'x'.repeat(129), '', '\u0000', '~own']) {
    await refused(400, 'bad_id', 'POST', '/api/v1/sessions', { body: { id } }).catch(async (problem) => {
      if (id !== '') throw problem;
    });
  }
});

test('A closed session, a busy branch, a full queue, a key with other words', async () => {
  const held = moment();
  const config = `${await provider(() => ['Begun', () => held.happened])}[agents.default]\non_return = "reject"\n`;
  const own = await Server.start({ config });
  const first = await own.stream('POST', '/api/v1/turns', { body: { session: 'busy', message: 'Go' } });
  await first.until('text_delta');
  const running = await turn(409, 'turn_running', { session: 'busy', message: 'And?' }, own);
  check(running.turn === first.headers.get('tertulia-turn') && running.since, JSON.stringify(running));
  const waiting = [];
  for (let i = 0; i < 16; i += 1) waiting.push(own.call('POST', '/api/v1/turns', { body: { session: 'busy', message: `${i}`, on_busy: 'queue' } }));
  let full;
  for (let i = 0; i < 100 && full?.status !== 429; i += 1) full = await Promise.race([own.call('POST', '/api/v1/turns', { body: { session: 'busy', message: 'late', on_busy: 'queue' } }), new Promise((done) => setTimeout(() => done({}), 100))]);
  equal([full.status, full.json.error.code], [429, 'queue_full']);
  held.happen();
  await Promise.all(waiting);
  const headers = { 'Idempotency-Key': 'once' };
  await own.expect(200, 'POST', '/api/v1/turns', { body: { session: 'key', message: 'One' }, headers });
  await refused(422, 'key_reuse', 'POST', '/api/v1/turns', { body: { session: 'key', message: 'Two' }, headers }, own);
  await refused(413, 'too_large', 'POST', '/api/v1/turns', { body: { session: 'key', message: 'Two' }, headers: { 'Idempotency-Key': 'x'.repeat(200) } }, own);
  await own.expect(200, 'POST', '/api/v1/sessions/key/close');
  await turn(409, 'session_closed', { session: 'key', message: 'Hello?' }, own);
  await refused(409, 'nothing_to_resume', 'POST', '/api/v1/sessions/busy/resume', { body: {} }, own);
});

test('What does not fit the model', async () => {
  const small = await turn(400, 'budget_too_small', { session: 'b', message: 'Hello', options: { budget: 5 } });
  check(Number(small.need) > Number(small.have), JSON.stringify(small));
  await turn(413, 'message_exceeds_context', { session: 'b', message: 'word '.repeat(200_000) });
  const large = await turn(413, 'too_large', { session: 'b', message: 'word '.repeat(300_000) });
  check(large.limit === 2 ** 20, JSON.stringify(large));
  equal((await server.expect(200, 'GET', '/api/v1/sessions/b/messages')).messages, []);
});

test('Events', async () => {
  const { turn: id } = await say({ session: 'e', message: 'One' });
  const path = `/api/v1/sessions/e/turns/${id}/events`;
  for (const last of ['7', `${id}`, `${id}.x`, `${id}.-1`, '06gnf9d5z7s2w3r8k1m4q0t6y2.1']) await refused(400, 'bad_event_id', 'GET', path, { headers: { 'Last-Event-ID': last } });
  await refused(400, 'out_of_range', 'GET', `${path}?after=x`);
  await say({ session: 'e', message: 'Two' });
  await refused(410, 'stream_gone', 'GET', path);
  await refused(404, 'no_session', 'GET', `/api/v1/sessions/other/turns/${id}/events`);
  await refused(426, 'upgrade_required', 'GET', '/v1/responses');
});

test('Streams that are too many', async () => {
  const held = moment();
  const data = folder();
  const { key } = JSON.parse(tertulia(data, '--json', '--tenant', 'acme', 'keys', 'create'));
  const own = await Server.start({ data, config: `${await provider(() => ['Begun', () => held.happened])}[server]\nstreams_per_key = 2\n` });
  const open = [];
  for (const session of ['a', 'b']) open.push(await own.stream('POST', '/api/v1/turns', { body: { session, message: 'Go' }, key }));
  const third = await own.call('POST', '/api/v1/turns', { body: { session: 'c', message: 'Go', stream: true }, key });
  equal([third.status, third.json.error.code, third.headers.get('retry-after')], [503, 'too_many_streams', '2']);
  held.happen();
  for (const stream of open) await stream.all();
});

test('The API of other people\'s clients', async () => {
  const chat = (status, code, body) => refused(status, code, 'POST', '/v1/chat/completions', { body: { model: 'default', ...body } });
  const user = { role: 'user', content: 'x' };
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
  await refused(400, 'missing_field', 'POST', '/v1/chat/completions', { body: { model: 'default' } });
  await chat(400, 'empty_message', { messages: [] });
  await chat(400, 'unpaired_tool_call', { messages: [user, { role: 'tool', tool_call_id: 'c1', content: 'y' }] });
  await chat(400, 'unpaired_tool_call', { messages: [user, { role: 'assistant', tool_calls: [call] }, user] });
  await chat(400, 'unpaired_tool_call', { messages: [user, { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'c1', content: 'y' }, { role: 'tool', tool_call_id: 'c1', content: 'z' }, user] });
  await chat(404, 'model_not_found', { model: 'gpt-none', messages: [user] });
  await chat(400, 'unsupported_parameter', { messages: [user], n: 2 });
  await chat(400, 'unsupported_parameter', { messages: [user], logprobs: true });
  await chat(400, 'wrong_type', { messages: [user], stream: 'true' });
  for (const more of [{ max_tokens: -1 }, { max_tokens: 1.5 }, { temperature: 3 }, { temperature: -0.1 }, { top_p: 2 }]) {
    const { error } = await server.expect(400, 'POST', '/v1/chat/completions', { body: { model: 'default', messages: [user], ...more } });
    check(['out_of_range', 'wrong_type'].includes(error.code), `${JSON.stringify(more)}: ${error.code}`);
  }
  for (const url of ['http://127.0.0.1/x.png', 'file:///etc/passwd', 'http://[::ffff:a9fe:a9fe]/', 'http://169.254.169.254/latest', 'gopher://x', 'http://10.0.0.1/a']) {
    await chat(400, 'url_not_allowed', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
  }
  await refused(400, 'url_not_allowed', 'POST', '/v1/responses', { body: { model: 'default', input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'http://localhost/x' }] }] } });
  await turn(400, 'url_not_allowed', { message: { parts: [{ kind: 'image', media_type: 'image/png', address: 'http://127.0.0.1:9/x.png' }] } });
  await refused(404, 'not_found', 'GET', '/v1/conversations/conv_none');
  await refused(404, 'not_found', 'GET', '/v1/responses/resp_none');
});

test('A session that is damaged says so, and the others live', async () => {
  const config = '[store]\nkind = "json"\n';
  const data = folder();
  const before = await Server.start({ data, config });
  for (const message of ['The words of the record', 'More words']) {
    for (const session of ['ill', 'well']) await say({ session, message }, before);
  }
  await before.stop();
  const transcript = join(data, readdirSync(data, { recursive: true }).find((name) => name.includes('/ill~') && name.endsWith('transcript.jsonl')));
  writeFileSync(transcript, readFileSync(transcript, 'utf8').replace('The words', 'The wards'));
  const own = await Server.start({ data, config });
  await refused(503, 'session_damaged', 'GET', '/api/v1/sessions/ill/messages', {}, own);
  await turn(503, 'session_damaged', { session: 'ill', message: 'Hello?' }, own);
  await say({ session: 'well', message: 'Still there?' }, own);
  await own.expect(200, 'GET', '/api/v1/sessions');
});

test('Beside a session whose files are damaged, others are listed, recalled and erased, and it can be erased itself', async () => {
  const config = '[store]\nkind = "json"\n';
  for (const name of ['session.json', 'branch.json', 'episode.jsonl', 'receipt.jsonl', 'lease.jsonl']) {
    const data = folder();
    const before = await Server.start({ data, config });
    for (const session of ['ill', 'well', 'going']) {
      await say({ session, message: `I am ${session}` }, before);
      await before.expect(200, 'POST', `/api/v1/sessions/${session}/close`);
    }
    await before.stop();
    const file = join(data, readdirSync(data, { recursive: true }).find((one) => one.includes('/ill~') && one.endsWith(name)));
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(file, bytes);
    const own = await Server.start({ data, config });
    const { sessions } = await own.expect(200, 'GET', '/api/v1/sessions');
    equal(sessions.map((one) => one.id).sort(), ['going', 'ill', 'well'], name);
    const { episodes, damaged = [] } = await own.expect(200, 'GET', '/api/v1/memory/episodes');
    const told = episodes.map((one) => one.session);
    check(told.includes('well') && told.includes('going'), `${name}: the episodes of the others are missing`);
    check(told.includes('ill') || damaged.includes('ill'), `${name}: an episode was taken for missing`);
    const erased = await own.expect(200, 'DELETE', '/api/v1/sessions/going');
    equal(erased.sessions, 1, name);
    for (const path of ['questions', 'tool-calls', 'unknown-outcomes']) await own.expect(200, 'GET', `/api/v1/${path}`);
    await say({ session: 'well', message: 'Still there?' }, own);
    await own.expect(200, 'DELETE', '/api/v1/sessions/ill');
    await refused(404, 'no_session', 'GET', '/api/v1/sessions/ill', {}, own);
    check(!readdirSync(data, { recursive: true }).some((one) => one.includes('/ill~')), `${name}: files are left`);
    await own.stop();
  }
});

await run();
