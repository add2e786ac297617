// killed.mjs PROGRAM [ROUNDS] [SEED]: kill -9 under load through the API. What was acknowledged is there afterwards, as it was told;
// what was not can be sent again with its key, and is done once.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, provider, run, Server, tertulia, test } from './support.mjs';

const rounds = Number(process.argv[3] ?? 12);
let state = Number(process.argv[4] ?? 1);
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const sessions = Array.from({ length: 6 }, (_, i) => `s${i}`);
// By message: the session, and what was acknowledged of it, if anything was.
const sent = new Map();
let count = 0;

const say = (server, session, message) =>
  server.call('POST', '/api/v1/turns', { body: { session, message, on_busy: 'queue' }, headers: { 'Idempotency-Key': message } });

// Sends turns until the server has gone, which happens behind so many answers.
async function load(server, answers) {
  let left = answers;
  const worker = async () => {
    while (true) {
      const [session, message] = [sessions[random(sessions.length)], `Message ${(count += 1)}`];
      sent.set(message, { session });
      try {
        const reply = await say(server, session, message);
        if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
        sent.get(message).acknowledged = { revision: reply.json.revision, turn: reply.json.turn };
      } catch (problem) {
        // The connection broke: nothing is known.
        if (problem instanceof TypeError) return;
        throw problem;
      }
      if ((left -= 1) === 0) server.process.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: 12 }, worker));
  await server.ended;
}

// Where each message of the user stands, in every session.
async function stored(server) {
  const found = new Map();
  for (const session of sessions) {
    const reply = await server.call('GET', `/api/v1/sessions/${session}/messages?limit=1000`);
    if (reply.status === 404) continue;
    const { messages, total } = reply.json;
    check(messages.length === total, `${session} has ${total} messages`);
    let revision = 0;
    for (const message of messages) {
      check(message.revision >= revision, `${session}: revisions rise`);
      revision = message.revision;
      if (message.role !== 'user') continue;
      check(!found.has(message.text), `${message.text} is there twice`);
      found.set(message.text, { session, revision: message.revision, turn: message.turn });
    }
  }
  return found;
}

test(`${rounds} kills in a row take back nothing that was acknowledged`, async () => {
  const data = folder();
  for (let round = 0; round < rounds; round += 1) {
    const server = await Server.start({ data });
    for (const [text, { session, acknowledged }] of sent) {
      // What the last process left goes on by itself; the answer of a turn that was acknowledged does not change.
      if (!acknowledged && random(2)) {
        const reply = await say(server, session, text);
        equal(reply.status, 200, `${text}: ${reply.text}`);
        sent.get(text).acknowledged = { revision: reply.json.revision, turn: reply.json.turn };
      }
    }
    await load(server, 10 + random(40));
  }
  const server = await Server.start({ data });
  for (const [text, one] of sent) {
    if (one.acknowledged) continue;
    const reply = await say(server, one.session, text);
    equal(reply.status, 200, `${text}: ${reply.text}`);
    one.acknowledged = { revision: reply.json.revision, turn: reply.json.turn };
  }
  const found = await stored(server);
  for (const [text, { session, acknowledged }] of sent) equal(found.get(text), { session, ...acknowledged }, `${text}:`);
  equal(found.size, sent.size);
  // No turn without its line, and each line has its end or says that it was cut.
  await server.stop();
  const lines = readFileSync(join(data, 'audit.jsonl'), 'utf8').trim().split('\n').map(JSON.parse);
  const begun = lines.filter((line) => line.state === 'begun').map((line) => line.request);
  const ended = new Set(lines.filter((line) => line.state !== 'begun').map((line) => line.request));
  check(begun.length >= found.size, `${found.size} turns, ${begun.length} lines that one began`);
  equal(begun.filter((request) => !ended.has(request)), []);
  tertulia(data, 'audit', 'verify');
  // What was cut says whether it landed, and what the store can tell was looked up.
  const cut = lines.filter((line) => line.state === 'cut');
  check(cut.length > 0 && cut.every(({ landed }) => ['yes', 'no', 'begun', 'unknown'].includes(landed)), JSON.stringify(cut.slice(0, 3)));
  console.log(`${sent.size} turns, ${rounds} kills`);
});

test('A line that a kill has cut says whether its change landed', async () => {
  const data = folder();
  let server = await Server.start({ data, config: await provider(() => new Promise(() => {})) });
  await server.expect(201, 'POST', '/api/v1/sessions', { body: { id: 'there' } });
  // A turn whose model never answers is begun, and in its journal.
  const never = server.call('POST', '/api/v1/turns', { body: { session: 'speaks', message: 'Hello' } }).catch(() => {});
  for (let begun = false; !begun; ) {
    const turns = await server.call('GET', '/api/v1/sessions/speaks/turns');
    begun = turns.status === 200 && turns.json.running.some(({ input }) => input);
  }
  await server.kill();
  await never;
  // As if the process had ended in the middle of each: the end of its line is not there.
  const file = join(data, 'audit.jsonl');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const begunAt = lines.findIndex((line) => line.includes('"/api/v1/sessions"') && line.includes('begun'));
  writeFileSync(file, `${lines.slice(0, begunAt + 1).join('\n')}\n`);
  server = await Server.start({ data });
  await server.stop();
  const after = readFileSync(file, 'utf8').trim().split('\n').map(JSON.parse);
  equal(after.filter(({ state }) => state === 'cut').map(({ route, session, landed }) => [route, session, landed]), [['/api/v1/sessions', 'there', 'yes']]);

  const other = folder();
  server = await Server.start({ data: other, config: await provider(() => new Promise(() => {})) });
  const waits = server.call('POST', '/api/v1/turns', { body: { session: 'speaks', message: 'Hello' } }).catch(() => {});
  for (let begun = false; !begun; ) {
    const turns = await server.call('GET', '/api/v1/sessions/speaks/turns');
    begun = turns.status === 200 && turns.json.running.some(({ input }) => input);
  }
  await server.kill();
  await waits;
  server = await Server.start({ data: other });
  await server.stop();
  const told = readFileSync(join(other, 'audit.jsonl'), 'utf8').trim().split('\n').map(JSON.parse);
  equal(told.filter(({ state }) => state === 'cut').map(({ session, landed }) => [session, landed]), [['speaks', 'begun']]);
});

await run();
