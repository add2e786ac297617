// meetings.mjs PROGRAM: every two verbs that touch a session, in both orders and at once. Whatever they make of one
// another, the server lives, nothing that was acknowledged is lost or doubled, and the session can be used.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, folder, provider, run, Server, tertulia, test } from './support.mjs';

const place = folder();
writeFileSync(join(place, 'asked.toml'), `[workflow]
kind = "sequential"
participants = ["writer", "critic"]
review = ["writer"]
[agents.writer]
instructions = "You are the writer."
[agents.critic]
instructions = "You are the critic."
`);
const config = `${await provider(() => ['Yes.'])}[workflows.asked]\nfile = "${join(place, 'asked.toml')}"\n`;
const server = await Server.start({ config });
const post = (path, body) => server.call('POST', path, { body });
const at = (session) => `/api/v1/sessions/${session}`;
let count = 0;

// A session with two turns on `main`, a fork `side` with one more, and a run that waits for an answer.
async function prepare() {
  const session = `m${(count += 1)}`;
  for (const message of ['Zero', 'One']) await post('/api/v1/turns', { session, message });
  await post(`${at(session)}/branches`, { from: 'main', at: 1, id: 'side' });
  await post('/api/v1/turns', { session, branch: 'side', message: 'Aside' });
  const asked = (await post('/api/v1/workflows/asked/runs', { session, branch: 'main', message: 'Write' })).json;
  const { messages } = (await server.call('GET', `${at(session)}/messages?branch=main`)).json;
  const archive = (await server.call('GET', `${at(session)}/export`)).text;
  return { session, asked, messages, archive, said: new Map(), gone: new Set() };
}

let words = 0;
// A turn's words, noted as acknowledged if the answer says so.
async function say(here, branch, path, body, field = 'message') {
  const text = `Words ${(words += 1)}.`;
  const reply = await post(path, { ...body, [field]: text });
  if (reply.status === 200) here.said.set(text, branch);
  return reply;
}
const verbs = {
  turn: (here) => say(here, 'main', '/api/v1/turns', { session: here.session, branch: 'main', on_busy: 'queue' }),
  aside: (here) => say(here, 'side', '/api/v1/turns', { session: here.session, branch: 'side', on_busy: 'queue' }),
  run: (here) => say(here, 'main', '/api/v1/workflows/asked/runs', { session: here.session, branch: 'main' }),
  fork: (here) => post(`${at(here.session)}/branches`, { from: 'main', at: 1, id: `f${(words += 1)}` }),
  merge: (here) => post(`${at(here.session)}/branches/main/merge`, { from: 'side' }),
  delete_branch: async (here) => {
    const reply = await server.call('DELETE', `${at(here.session)}/branches/side?recursive=true`);
    if (reply.status === 200) here.gone.add('side');
    return reply;
  },
  erase_message: (here) => server.call('DELETE', `${at(here.session)}/messages/${here.messages[0].id}`),
  erase_session: async (here) => {
    const reply = await server.call('DELETE', at(here.session));
    if (reply.status === 200) here.gone.add('main').add('side');
    return reply;
  },
  close: (here) => post(`${at(here.session)}/close`, {}),
  reopen: (here) => post(`${at(here.session)}/reopen`, {}),
  import: (here) => server.call('POST', '/api/v1/import', { body: here.archive, headers: { 'Content-Type': 'application/x-ndjson' } }),
  answer: (here) => post(`/api/v1/workflows/asked/runs/${here.asked.run}/requests/${here.asked.requests[0].id}`, { answer: '' }),
  fork_run: (here) => post(`/api/v1/workflows/asked/runs/${here.asked.run}/fork`, { checkpoint: `${here.asked.run}/1` }),
  cancel: async (here) => {
    const { running } = (await server.call('GET', `${at(here.session)}/turns`)).json ?? {};
    for (const { turn } of running ?? []) await post(`${at(here.session)}/turns/${turn}/cancel`, {});
    return { status: 200 };
  },
  forget: async (here) => {
    const { episodes } = (await server.call('GET', '/api/v1/memory/episodes')).json ?? {};
    const own = (episodes ?? []).find((one) => one.session === here.session);
    return own ? server.call('DELETE', `/api/v1/memory/episodes/${own.id}`) : { status: 200 };
  },
};

// What must be true of a session after whatever happened.
async function look(here, name, replies) {
  check(server.process.exitCode === null, `${name}: the server has ended: ${server.errors.slice(-2000)}`);
  for (const reply of replies) check(reply.status < 500, `${name}: ${reply.status} ${reply.text}`);
  const shown = await server.call('GET', at(here.session));
  check(shown.status === 200 || shown.status === 404, `${name}: ${shown.status} ${shown.text}`);
  if (shown.status === 200) {
    for (const { id } of shown.json.branches) {
      const { messages } = await server.expect(200, 'GET', `${at(here.session)}/messages?branch=${encodeURIComponent(id)}&limit=1000`);
      const ids = messages.map((message) => message.id);
      check(new Set(ids).size === ids.length, `${name}: a message stands twice in ${id}`);
      // Merged words are told with their origin, as messages of their own: those with the words as they were said count.
      for (const [text, branch] of here.said) {
        if (branch !== id || here.gone.has(branch)) continue;
        const times = messages.filter((message) => message.text === text).length;
        check(times === 1, `${name}: "${text}" stands ${times} times in ${id}`);
      }
    }
  } else {
    check(here.gone.has('main'), `${name}: the session is gone, and nobody erased it`);
  }
  const next = await post('/api/v1/turns', { session: here.session, branch: 'main', message: 'Still there?', on_busy: 'queue' });
  check(next.status === 200, `${name}: the next turn: ${next.status} ${next.text}`);
}

const names = Object.keys(verbs);
const full = process.env.TERTULIA_FULL || process.env.TERTULIA_LONG;
const rounds = process.env.TERTULIA_LONG ? 60 : full ? 30 : 1;
for (const [index, first] of names.entries()) {
  test(`${first} meets every verb, before it, behind it and at once`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      for (const second of names.slice(full ? 0 : index)) {
        for (const order of [[first, second], [second, first]]) {
          const here = await prepare();
          const replies = [await verbs[order[0]](here), await verbs[order[1]](here)];
          await look(here, `${order[0]}, then ${order[1]}`, replies);
        }
        const here = await prepare();
        const replies = await Promise.all([verbs[first](here), verbs[second](here)]);
        await look(here, `${first} and ${second} at once`, replies);
      }
    }
  });
}

test('Behind all of it the store is whole, and the server starts again', async () => {
  const { code, signal } = await server.stop();
  check(code === 0, `it ended with ${code ?? signal}: ${server.errors.slice(-2000)}`);
  tertulia(server.data, 'verify');
  const again = await Server.start({ config, data: server.data });
  await again.expect(200, 'GET', '/api/v1/sessions');
  check((await again.stop()).code === 0, 'it ends');
});

await run();
