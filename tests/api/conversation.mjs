// conversation.mjs PROGRAM: sessions, branches, messages and turns through the API.
import { isOfOthers, operationOf, operations, unused } from './openapi.mjs';
import { check, equal, moment, provider, run, Server, tertulia, test } from './support.mjs';

const server = await Server.start();
const say = (body, options = {}) => server.expect(200, 'POST', '/api/v1/turns', { body, ...options });

test('A turn without a session makes one', async () => {
  const turn = await say({ message: 'Add 10 and 20' });
  equal(turn.status, 'committed');
  check(turn.text.length > 0 && turn.messages.length >= 2, 'it has an answer');
  const session = await server.expect(200, 'GET', `/api/v1/sessions/${turn.session}`);
  equal([session.revision, session.branches.map((branch) => branch.id)], [turn.revision, ['main']]);
  const page = await server.expect(200, 'GET', `/api/v1/sessions/${turn.session}/messages`);
  equal(page.messages.map((message) => message.index), page.messages.map((_, index) => index));
  equal([page.messages[0].text, page.messages.at(-1).text, page.total], ['Add 10 and 20', turn.text, page.messages.length]);
  equal((await server.expect(200, 'GET', `/api/v1/sessions/${turn.session}/turns/${turn.turn}`)).status, 'committed');
  const receipts = await server.expect(200, 'GET', `/api/v1/sessions/${turn.session}/turns/${turn.turn}/receipts`);
  check(receipts.receipts.length > 0, 'each model call has a receipt');
});

test('A session is made, changed, closed, reopened and deleted', async () => {
  const made = await server.call('POST', '/api/v1/sessions', { body: { id: 'user-1', metadata: { title: 'Sums', n: 1 } } });
  equal([made.status, made.json.id, made.headers.get('etag'), made.headers.get('location')], [201, 'user-1', '"1"', '/api/v1/sessions/user-1']);
  equal((await server.expect(409, 'POST', '/api/v1/sessions', { body: { id: 'user-1' } })).error.code, 'session_exists');
  const patched = await server.expect(200, 'PATCH', '/api/v1/sessions/user-1', { body: { metadata: { n: null, pinned: true } } });
  equal(patched.metadata, { title: 'Sums', pinned: true });
  const stale = await server.expect(409, 'PATCH', '/api/v1/sessions/user-1', { body: { metadata: { x: 1 } }, headers: { 'If-Match': '"1"' } });
  equal([stale.error.code, stale.error.current], ['revision_conflict', 2]);
  await server.expect(200, 'PATCH', '/api/v1/sessions/user-1', { body: { metadata: { x: 1 } }, headers: { 'If-Match': '"2"' } });
  const found = await server.expect(200, 'GET', '/api/v1/sessions?metadata.pinned=true&limit=5');
  equal(found.sessions.map((session) => session.id), ['user-1']);
  equal((await server.expect(200, 'POST', '/api/v1/sessions/user-1/close')).end_reason, 'user_closed');
  equal((await server.expect(200, 'GET', '/api/v1/sessions?status=closed')).sessions.length, 1);
  equal((await server.expect(200, 'POST', '/api/v1/sessions/user-1/reopen')).status, 'active');
  equal((await server.expect(200, 'DELETE', '/api/v1/sessions/user-1')).sessions, 1);
  equal((await server.expect(404, 'GET', '/api/v1/sessions/user-1')).error.code, 'no_session');
  equal((await server.expect(404, 'DELETE', '/api/v1/sessions/user-1')).error.code, 'no_session');
});

test('A conversation that is closed is remembered in another, until it is deleted', async () => {
  await say({ session: 'beach', message: 'My dog Rex loves the beach.' });
  await server.expect(200, 'POST', '/api/v1/sessions/beach/close');
  equal((await server.expect(200, 'GET', '/api/v1/sessions/beach/episodes')).episodes.length, 1);
  const recalled = async (session) => {
    const { turn } = await say({ session, message: 'What does my dog Rex love?' });
    const { receipts } = await server.expect(200, 'GET', `/api/v1/sessions/${session}/turns/${turn}/receipts`);
    return receipts.some((receipt) => receipt.items.some((item) => item.tier === 'episode'));
  };
  equal(await recalled('later'), true);
  await server.expect(200, 'DELETE', '/api/v1/sessions/beach');
  equal(await recalled('much-later'), false);
});

test('A branch is forked, labelled, compared, merged back and deleted', async () => {
  await say({ session: 'tree', message: 'One' });
  await say({ session: 'tree', message: 'Two' });
  const fork = await server.expect(201, 'POST', '/api/v1/sessions/tree/branches', { body: { id: 'formal', at_index: 1, label: 'Formal' } });
  equal([fork.forked_from, fork.messages, fork.label, fork.siblings.total], [{ branch: 'main', at_index: 1 }, 2, 'Formal', 2]);
  equal((await server.expect(409, 'POST', '/api/v1/turns', { body: { session: 'tree', message: 'Which?' } })).error.code, 'ambiguous_branch');
  const turn = await say({ sessionId: 'tree', branchId: 'formal', agentId: 'default', message: 'Three' });
  equal(turn.branch, 'formal');
  const diff = await server.expect(200, 'GET', '/api/v1/sessions/tree/branches/formal/diff?with=main');
  equal([diff.common, diff.ours[0].text, diff.theirs[0].text], [2, 'Three', 'Two']);
  const tags = await server.expect(200, 'PATCH', '/api/v1/sessions/tree/branches/formal', { body: { tags: ['a', 'b'] } });
  equal([tags.tags, tags.label], [['a', 'b'], 'Formal']);
  const merged = await server.expect(200, 'POST', '/api/v1/sessions/tree/branches/main/merge', { body: { from: 'formal' } });
  equal(merged.turns, 1);
  equal((await server.expect(200, 'POST', '/api/v1/sessions/tree/branches/main/merge', { body: { from: 'formal' } })).turns, 0);
  const none = await server.expect(404, 'POST', '/api/v1/sessions/tree/branches/main/merge', { body: { from: 'formal', turns: [9999] } });
  equal([none.error.code, none.error.param], ['no_turn', 'turns']);
  const main = await server.expect(200, 'GET', '/api/v1/sessions/tree/messages?branch=main');
  equal(main.messages.filter((message) => message.role === 'user').map((message) => message.text), ['One', 'Two', 'Three']);
  equal((await server.expect(409, 'DELETE', '/api/v1/sessions/tree/branches/main')).error.code, 'protected_branch');
  equal((await server.expect(200, 'DELETE', '/api/v1/sessions/tree/branches/formal')).deleted, ['formal']);
  const bad = await server.expect(400, 'POST', '/api/v1/sessions/tree/branches', { body: { at_index: 99 } });
  equal(bad.error.code, 'bad_fork_point');
});

test('A long branch is summarised from its beginning and its end, and the answer says by whom and of what', async () => {
  let shown = '';
  const speaks = await Server.start({
    config: await provider((asked) => {
      const task = JSON.stringify(asked.messages);
      if (!task.includes('You condense conversations')) return ['Noted.'];
      shown = asked.messages.at(-1).content;
      return ['They planned it.'];
    }),
  });
  const turn = (branch, message) => speaks.expect(200, 'POST', '/api/v1/turns', { body: { session: 'long', ...(branch && { branch }), message } });
  await turn(undefined, 'Hello');
  await speaks.expect(201, 'POST', '/api/v1/sessions/long/branches', { body: { id: 'aside', from: 'main' } });
  for (let i = 0; i < 8; i += 1) await turn('aside', `Step ${i}: ${'very long '.repeat(2_500)}`);
  const merged = await speaks.expect(200, 'POST', '/api/v1/sessions/long/branches/main/merge', { body: { from: 'aside', summary: true } });
  equal([merged.summary, merged.summary_by, merged.left_out > 0], ['They planned it.', 'm', true]);
  check(shown.includes('Step 0:') && shown.includes('Step 7:') && !shown.includes('Step 3:'), 'the beginning and the end');
  check(shown.includes(`[${merged.left_out} messages are left out here]`), shown.slice(0, 200));
  await speaks.stop();
});

test('A search that has not told everything says so', async () => {
  for (let i = 0; i < 5; i += 1) await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'many', message: `The zebrawood table number ${i}` } });
  const found = await server.expect(200, 'POST', '/api/v1/messages/search', { body: { query: 'zebrawood' } });
  equal([found.messages.length, found.incomplete], [3, true]);
  await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'few', message: 'One yellowheart chair' } });
  const one = await server.expect(200, 'POST', '/api/v1/messages/search', { body: { query: 'yellowheart chair one' } });
  equal([one.messages.some(({ session }) => session === 'few'), one.incomplete], [true, undefined]);
});

test('A branch is merged back as a few sentences, once', async () => {
  await say({ session: 'sum', message: 'Hello' });
  await server.expect(201, 'POST', '/api/v1/sessions/sum/branches', { body: { id: 'aside' } });
  await say({ session: 'sum', branch: 'aside', message: 'The invoice of Anna is about 1200 euros and due on Friday.' });
  const path = '/api/v1/sessions/sum/branches/main/merge';
  const merged = await server.expect(200, 'POST', path, { body: { from: 'aside', summary: true } });
  equal(merged.turns, 1);
  check(merged.summary.includes('1200 euros'), merged.summary);
  const { messages } = await server.expect(200, 'GET', '/api/v1/sessions/sum/messages?branch=main');
  equal([messages.length, messages[3].role, messages[3].origin, messages[3].text], [4, 'assistant', 'summary', merged.summary]);
  equal((await server.expect(200, 'POST', path, { body: { from: 'aside', summary: true } })).turns, 0);
  equal((await server.expect(200, 'POST', path, { body: { from: 'aside' } })).turns, 0);
});

test('A model condenses what is merged back, and the words stand in if it fails', async () => {
  let fails = false;
  const config = await provider((request) => (JSON.stringify(request.messages).includes('condense') ? (fails ? { refused: 400 } : ['In short: ', 'yes.']) : ['Yes.']));
  const own = await Server.start({ config });
  for (const branch of ['main', 'one', 'two']) {
    if (branch !== 'main') await own.expect(201, 'POST', '/api/v1/sessions/m/branches', { body: { id: branch, from: 'main', at_index: 1 } });
    await own.expect(200, 'POST', '/api/v1/turns', { body: { session: 'm', branch, message: `Shall we meet on branch ${branch}?` } });
  }
  const merge = (from) => own.expect(200, 'POST', '/api/v1/sessions/m/branches/main/merge', { body: { from, summary: true } });
  equal((await merge('one')).summary, 'In short: yes.');
  fails = true;
  check((await merge('two')).summary.includes('branch two'), 'taken from what was said');
});

test('A page of messages ends before an index or begins with one', async () => {
  for (const message of ['a', 'b', 'c', 'd']) await say({ session: 'pages', message });
  const last = await server.expect(200, 'GET', '/api/v1/sessions/pages/messages?limit=2');
  equal(last.messages.map((message) => message.index), [6, 7]);
  const before = await server.expect(200, 'GET', '/api/v1/sessions/pages/messages?limit=2&before=6');
  equal(before.messages.map((message) => message.index), [4, 5]);
  const from = await server.expect(200, 'GET', '/api/v1/sessions/pages/messages?limit=2&from=0');
  equal(from.messages.map((message) => message.index), [0, 1]);
});

test('A message is erased with what came from it, and the conversation goes on', async () => {
  const said = await say({ session: 'slip', message: 'My secret is xylophone' });
  await say({ session: 'slip', message: 'Add 1 and 2' });
  await server.expect(201, 'POST', '/api/v1/sessions/slip/branches', { body: { from: 'main', id: 'copy' } });
  await server.expect(201, 'POST', '/api/v1/memory/facts', { body: { text: 'My secret is xylophone', sources: [said.messages[0].id] } });
  const path = `/api/v1/sessions/slip/messages/${said.messages[0].id}`;
  const before = await server.expect(200, 'GET', '/api/v1/sessions/slip');
  equal((await server.expect(409, 'DELETE', path, { headers: { 'If-Match': '"1"' } })).error.code, 'revision_conflict');
  const gone = await server.expect(200, 'DELETE', path, { headers: { 'If-Match': `"${before.revision}"` } });
  check(gone.messages >= 1 && gone.items === 1, JSON.stringify(gone));
  // The answer has words of it, too.
  for (const { id } of said.messages.slice(1)) await server.expect(200, 'DELETE', `/api/v1/sessions/slip/messages/${id}`);
  for (const where of ['sessions/slip/messages?branch=main', 'sessions/slip/messages?branch=copy', 'sessions/slip/export', 'memory/facts', `sessions/slip/turns/${said.turn}/receipts`]) {
    check(!(await server.call('GET', `/api/v1/${where}`)).text.includes('xylophone'), `${where} still tells it`);
  }
  const { messages } = await server.expect(200, 'GET', '/api/v1/sessions/slip/messages?branch=main');
  equal([messages[0].id, messages.length], [said.messages[0].id, before.branches.find((branch) => branch.id === 'main').messages]);
  equal((await server.expect(200, 'DELETE', path)).messages, 0);
  equal((await say({ session: 'slip', branch: 'main', message: 'Add 10 and 20' })).text.includes('30'), true);
  equal((await server.expect(404, 'DELETE', `/api/v1/sessions/slip/messages/${said.turn}`)).error.code, 'no_message');
  equal((await server.expect(400, 'DELETE', '/api/v1/sessions/slip/messages/x')).error.code, 'bad_id');
});

test('Words that were said are found, each once, in conversations that go on', async () => {
  const find = async (query, more = {}) => (await server.expect(200, 'POST', '/api/v1/messages/search', { body: { query, ...more } })).messages;
  const said = await say({ session: 'zoo', message: 'The Okapi lives in Épulu' });
  await server.expect(201, 'POST', '/api/v1/sessions/zoo/branches', { body: { from: 'main', id: 'other' } });
  await say({ session: 'zoo', branch: 'other', message: 'And another okapi' });
  const found = (await find('okapi')).filter((one) => one.role === 'user');
  equal(found.map(({ session, branch, index }) => [session, branch, index]), [['zoo', 'other', 2], ['zoo', 'main', 0]]);
  equal([found[1].id, found[1].excerpt], [said.messages[0].id, 'The Okapi lives in Épulu']);
  equal((await find('lives in epu')).filter((one) => one.role === 'user').map((one) => one.id), [said.messages[0].id]);
  equal((await find('okapi', { limit: 1 })).length, 1);
  equal([await find('okapi zebra'), await find('kapi'), await find('?!')], [[], [], []]);
  equal((await server.expect(400, 'POST', '/api/v1/messages/search', { body: {} })).error.code, 'missing_field');
});

test('The same idempotency key gives the same turn, and other words are refused', async () => {
  const headers = { 'Idempotency-Key': 'k-1' };
  const first = await say({ session: 'once', message: 'Hello' }, { headers });
  const again = await say({ session: 'once', message: 'Hello' }, { headers });
  equal([again.turn, again.revision], [first.turn, first.revision]);
  equal((await server.expect(422, 'POST', '/api/v1/turns', { body: { session: 'once', message: 'Other' }, headers })).error.code, 'key_reuse');
});

test('A stream tells every event once, and can be read again from any of them', async () => {
  const stream = await server.stream('POST', '/api/v1/turns', { body: { session: 'told', message: 'Hello' } });
  equal(stream.headers.get('tertulia-session'), 'told');
  const frames = await stream.all();
  equal([frames[0].event, frames.at(-2).event, frames.at(-1).event], ['turn_started', 'turn_committed', 'outcome']);
  const numbers = frames.slice(0, -1).map((frame) => frame.data.number);
  check(numbers.every((number, i) => i === 0 || number > numbers[i - 1]), 'numbers rise');
  const text = frames.filter((frame) => frame.event === 'text_delta').map((frame) => frame.data.text).join('');
  equal(text, frames.at(-1).data.text);
  const path = `/api/v1/sessions/told/turns/${stream.headers.get('tertulia-turn')}/events`;
  for (const at of [0, 3, frames.length - 2]) {
    const rest = await (await server.stream('GET', path, { headers: { 'Last-Event-ID': frames[at].id } })).all();
    equal(rest.map((frame) => frame.id), frames.slice(at + 1).map((frame) => frame.id), `behind ${at}:`);
    const same = await (await server.stream('GET', `${path}?after=${frames[at].data.number}`)).all();
    equal(same.length, rest.length);
  }
  equal((await server.expect(400, 'GET', path, { headers: { 'Last-Event-ID': 'other.7' } })).error.code, 'bad_event_id');
  await say({ session: 'told', message: 'And on' });
  equal((await server.expect(410, 'GET', path)).error.code, 'stream_gone');
});

test('Many watch a turn, wherever each of them begins, and all see the same', async () => {
  const [half, end] = [moment(), moment()];
  const words = Array.from({ length: 700 }, (_, i) => `w${i} `);
  const config = await provider(() => [...words.slice(0, 400), () => half.happened, ...words.slice(400), () => end.happened, 'done']);
  const own = await Server.start({ config });
  const asking = await own.stream('POST', '/api/v1/turns', { body: { session: 'many', message: 'Go' } });
  const path = `/api/v1/sessions/many/turns/${asking.headers.get('tertulia-turn')}/events`;
  const told = [];
  const watch = async (query) => {
    const stream = await own.stream('GET', path + query);
    const rest = stream.all();
    told.push({ after: Number(new URLSearchParams(query).get('after') ?? -1), rest });
  };
  for (const query of ['', '', '?after=5', '?after=350']) await watch(query);
  half.happen();
  // Those who come late begin far behind the others.
  for (const query of ['', '?after=1', '?after=500']) await watch(query);
  const leaving = await own.stream('GET', path);
  await leaving.next();
  leaving.close();
  end.happen();
  const all = (await asking.all()).filter((frame) => frame.id);
  const number = (frame) => Number(frame.id.split('.')[1]);
  for (const { after, rest } of told) {
    const frames = await rest;
    equal(frames.at(-1).event, 'outcome', `after ${after}`);
    equal(frames.slice(0, -1).map(number), all.map(number).filter((one) => one > after), `after ${after}`);
    equal(frames.slice(0, -1), all.filter((frame) => number(frame) > after), `after ${after}`);
  }
});

test('What is exported can be imported by somebody else', async () => {
  await say({ session: 'moving', message: 'Take me along' });
  const archive = await server.expect(200, 'GET', '/api/v1/sessions/moving/export');
  const headers = { 'Tertulia-User': 'bea', 'Content-Type': 'application/x-ndjson' };
  equal((await server.expect(403, 'POST', '/api/v1/import', { body: archive, headers })).error.code, 'not_permitted');
  equal((await server.expect(200, 'POST', '/api/v1/import?adopt=true', { body: archive, headers })).sessions, 1);
  await server.expect(200, 'GET', '/api/v1/sessions/moving', { headers: { 'Tertulia-User': 'bea' } });
  equal((await server.expect(200, 'DELETE', '/api/v1/users/bea')).sessions, 1);
  await server.expect(404, 'GET', '/api/v1/sessions/moving', { headers: { 'Tertulia-User': 'bea' } });
});

test('An asset is stored and given back as bytes that cannot run', async () => {
  await server.expect(201, 'POST', '/api/v1/sessions', { body: { id: 'files' } });
  const bytes = new Uint8Array([0, 1, 2, 255]);
  const made = await server.expect(201, 'POST', '/api/v1/sessions/files/assets', { body: bytes, headers: { 'Content-Type': 'image/png' } });
  equal([made.media_type, made.bytes], ['image/png', 4]);
  const reply = await fetch(`${server.url}/api/v1/sessions/files/assets/${made.id}`);
  equal((await server.call('GET', `/api/v1/sessions/files/assets/${made.id}`)).status, 200);
  equal([...new Uint8Array(await reply.arrayBuffer())], [...bytes]);
  equal([reply.headers.get('content-type'), reply.headers.get('content-disposition')], ['image/png', 'attachment']);
  equal((await server.expect(200, 'GET', '/api/v1/sessions/files/assets')).assets.map((asset) => asset.id), [made.id]);
});

test('A turn that runs can be watched, steered, interrupted and cancelled', async () => {
  const gates = { slow: moment(), next: moment() };
  const config = await provider((request) => {
    const last = request.messages.findLast((message) => message.role === 'user').content;
    return String(JSON.stringify(last)).includes('slow') ? ['Be', 'gun', () => gates.slow.happened] : ['Quick'];
  });
  const own = await Server.start({ config });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'slow' } });
  await stream.until('text_delta');
  const turn = stream.headers.get('tertulia-turn');
  equal((await own.expect(200, 'GET', '/api/v1/sessions/s/turns')).running.map((running) => running.turn), [turn]);
  const busy = await own.expect(409, 'POST', '/api/v1/turns', { body: { session: 's', message: 'me too' } });
  equal([busy.error.code, busy.error.turn], ['turn_running', turn]);
  // A disconnect stops nothing.
  stream.close();
  const watch = await own.stream('GET', `/api/v1/sessions/s/turns/${turn}/events`);
  await watch.until('text_delta');
  equal((await own.expect(404, 'POST', `/api/v1/sessions/other/turns/${turn}/cancel`)).error.code, 'no_turn');
  const interrupted = await own.expect(200, 'POST', `/api/v1/sessions/s/turns/${turn}/interrupt`, { body: { message: 'now this' } });
  equal(interrupted.text, 'Quick');
  const frames = await watch.all();
  equal([frames.at(-1).event, frames.at(-1).data.status], ['outcome', 'interrupted']);
  equal((await own.expect(404, 'POST', `/api/v1/sessions/s/turns/${turn}/cancel`)).error.code, 'no_turn');

  const second = await own.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'slow again' } });
  await second.until('text_delta');
  await own.expect(202, 'POST', `/api/v1/sessions/s/turns/${second.headers.get('tertulia-turn')}/cancel`);
  equal((await second.all()).at(-1).data.status, 'interrupted');
  gates.slow.happen();
});

test('A message steers the turn that runs', async () => {
  const gate = moment();
  let asked = 0;
  const config = await provider((request) =>
    asked++ === 0 ? ['Wait', () => gate.happened, { call: 'calculator', arguments: { expression: '1+1' } }] : [JSON.stringify(request.messages.at(-1).content)]);
  const own = await Server.start({ config });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'Begin' } });
  await stream.until('text_delta');
  const turn = stream.headers.get('tertulia-turn');
  equal((await own.expect(202, 'POST', `/api/v1/sessions/s/turns/${turn}/steer`, { body: { message: 'To the left' } })).turn, turn);
  gate.happen();
  check((await stream.all()).at(-1).data.text.includes('To the left'), 'the model was told');
});

test('A turn whose model could not be had is parked and resumed', async () => {
  let key = false;
  const own = await Server.start({ config: await provider(() => (key ? ['Here I am.'] : { refused: 401 })) });
  const failed = await own.expect(502, 'POST', '/api/v1/turns', { body: { session: 'p', message: 'Are you there?' } });
  equal(failed.error.code, 'model_key');
  const [parked] = (await own.expect(200, 'GET', '/api/v1/sessions/p/turns')).interrupted;
  equal([parked.turn, parked.branch, parked.agent], [failed.error.turn, 'main', 'default']);
  equal((await own.expect(200, 'GET', `/api/v1/sessions/p/turns/${parked.turn}`)).status, 'parked');
  key = true;
  const resumed = await own.expect(200, 'POST', '/api/v1/sessions/p/resume');
  equal([resumed.turn, resumed.text], [parked.turn, 'Here I am.']);
  equal((await own.expect(409, 'POST', '/api/v1/sessions/p/resume')).error.code, 'nothing_to_resume');
});

test('A question is asked in the stream, listed, and answered', async () => {
  let calls = 0;
  const config = await provider(() => (calls++ === 0 ? [{ call: 'calculator', arguments: { expression: '6*7' } }] : ['It is 42.']));
  const own = await Server.start({ config: `${config}[agents.default]\ntools = ["calculator"]\npermissions = { read_only = "ask" }\n` });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 'q', message: 'What is 6*7?' } });
  const asked = (await stream.until('permission_asked')).at(-1).data;
  equal(asked.name, 'calculator');
  const [question] = (await own.expect(200, 'GET', '/api/v1/questions?session=q')).questions;
  equal([question.session, question.turn, question.call, question.tool], ['q', asked.turn, asked.index ?? 0, 'calculator']);
  const path = `/api/v1/sessions/q/turns/${question.turn}/questions/${question.call}`;
  await own.expect(200, 'POST', path, { body: { choice: 'once' } });
  equal((await stream.all()).at(-1).data.text, 'It is 42.');
  equal((await own.expect(404, 'POST', path, { body: { choice: 'once' } })).error.code, 'no_question');
  const trail = await own.expect(200, 'GET', '/api/v1/tool-calls?session=q');
  equal(trail.tool_calls.map((call) => [call.tool, call.outcome, call.approval]), [['calculator', 'ok', 'once']]);
  equal((await own.expect(200, 'GET', '/api/v1/unknown-outcomes')).tool_calls, []);
});

test('A command answers a question through the server that has the data', async () => {
  let calls = 0;
  const config = await provider(() => (calls++ === 0 ? [{ call: 'calculator', arguments: { expression: '6*7' } }] : ['It is 42.']));
  const own = await Server.start({ config: `${config}[agents.default]\ntools = ["calculator"]\npermissions = { read_only = "ask" }\n` });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 'q', message: 'What is 6*7?' } });
  await stream.until('permission_asked');
  const question = JSON.parse(tertulia(own.data, 'approve', '--json', '--server', own.url));
  equal([question.session, question.tool, question.arguments], ['q', 'calculator', { expression: '6*7' }]);
  check(tertulia(own.data, 'approve', '--server', own.url).includes('calculator'), 'it is listed');
  tertulia(own.data, 'approve', question.id, 'once', '--server', own.url);
  equal((await stream.all()).at(-1).data.text, 'It is 42.');
  check(tertulia(own.data, 'approve', '--server', own.url).includes('Nothing waits'), 'nothing is left');
});

test('What a message shows reaches the provider, as it takes it', async () => {
  const asked = [];
  const config = await provider((request) => {
    asked.push(request.messages.at(-1).content);
    return ['I see.'];
  });
  for (const [takes, sees] of [['images', true], ['known', false]]) {
    const own = await Server.start({ config: config.replace('[model]', `[model]\ntakes = "${takes}"`) });
    await own.expect(200, 'POST', '/api/v1/turns', { body: { session: 'pics', message: 'Hello' } });
    const made = await own.expect(201, 'POST', '/api/v1/sessions/pics/assets', { body: new Uint8Array([1, 2, 3]), headers: { 'Content-Type': 'image/png' } });
    const message = { parts: [{ kind: 'text', text: 'Look' }, { kind: 'image', media_type: 'image/png', asset: made.id }] };
    equal((await own.expect(200, 'POST', '/api/v1/turns', { body: { session: 'pics', message } })).text, 'I see.');
    const [text, image] = asked.at(-1);
    equal(text, { type: 'text', text: 'Look' });
    if (sees) equal(image, { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } });
    else check(image.text.includes('takes no images'), `the model is told: ${JSON.stringify(image)}`);
    const missing = { parts: [{ kind: 'image', media_type: 'image/png', asset: made.id.slice(0, -2) + (made.id.at(-2) === '5' ? '6' : '5') + made.id.at(-1) }] };
    equal((await own.expect(404, 'POST', '/api/v1/turns', { body: { session: 'pics', message: missing } })).error.code, 'not_found');
  }
});

test('Killed in mid-stream, the server goes on where it was, without a gap and without a duplicate', async () => {
  const gate = moment();
  let asked = 0;
  const config = await provider(() => (asked++ === 0 ? ['First ', 'half', () => gate.happened] : ['First ', 'and second half']));
  const own = await Server.start({ config });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 'k', message: 'Go' } });
  const turn = stream.headers.get('tertulia-turn');
  const seen = await stream.until('text_delta');
  await own.kill();
  gate.happen();
  const again = await Server.start({ data: own.data, config });
  const rest = await (await again.stream('GET', `/api/v1/sessions/k/turns/${turn}/events`, { headers: { 'Last-Event-ID': seen.at(-1).id } })).all();
  equal(rest[0].event, 'reset');
  const ids = [...seen, ...rest].map((frame) => frame.id).filter(Boolean);
  equal(new Set(ids).size, ids.length, 'no id twice:');
  const text = rest.slice(1).filter((frame) => frame.event === 'text_delta').map((frame) => frame.data.text).join('');
  equal([text, rest.at(-1).data.text, rest.at(-1).data.status], ['First and second half', 'First and second half', 'committed']);
});

test('Asked to end, the server finishes what it answers and says that it is going', async () => {
  const gate = moment();
  const config = await provider(() => ['Almost', () => gate.happened, ' done']);
  const own = await Server.start({ config: `${config}[server]\ndrain = "5m"\n` });
  const stream = await own.stream('POST', '/api/v1/turns', { body: { session: 'd', message: 'Go' } });
  await stream.until('text_delta');
  own.process.kill('SIGTERM');
  await new Promise((closed) => {
    const again = () => fetch(`${own.url}/health`).then(() => setTimeout(again, 20), closed);
    again();
  });
  gate.happen();
  equal((await stream.all()).at(-1).data.text, 'Almost done');
  equal((await own.ended).code, 0);
});

test('Every operation of the document was used, and every route is in it', async () => {
  for (const path of ['/health', '/ready', '/metrics', '/api/v1/version', '/api/v1/me', '/api/v1/agents', '/api/v1/agents/default', '/api/v1/models']) {
    await server.expect(200, 'GET', path);
  }
  await server.expect(200, 'GET', '/api/v1/sessions/tree/branches');
  await server.expect(200, 'GET', '/api/v1/sessions/tree/branches/main');
  await server.expect(200, 'GET', '/api/v1/sessions/tree/episodes');
  await server.expect(200, 'GET', '/api/v1/users/local/export');
  await server.expect(201, 'POST', '/api/v1/visitors');
  const routes = tertulia(server.data, 'serve', '--routes').trim().split('\n').map((line) => line.split(' '));
  const native = routes.filter(([, path]) => !isOfOthers(path));
  equal(native.map(([method, path]) => `${method} ${path}`).sort(), operations.map(({ method, path }) => `${method} ${path}`).sort());
  for (const [method, path, access] of native) {
    equal(operationOf(method, path).operation['x-access'], access, `${method} ${path}:`);
  }
  // Memory and workflows have tests of their own.
  equal(unused(/^(?!\/api\/v1\/(memory|workflow))/), []);
});

await run();
