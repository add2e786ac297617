// The client of AG-UI, which verifies the order of events itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HttpAgent } from '@ag-ui/client';

import { startServer } from './harness.mjs';

let server;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const connect = (threadId) => new HttpAgent({ url: `${server.url}/api/v1/ag-ui`, threadId });
const say = (agent, content) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
async function go(agent, parameters = {}) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => { events.push(event); } });
  return events;
}

test('a run tells a turn, and the next one goes on', async () => {
  const agent = connect('thread-1');
  say(agent, 'one');
  const events = await go(agent);
  assert.deepEqual(events.map((event) => event.type), [
    'RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED']);
  assert.equal(agent.messages.at(-1).content, 'You said: one (1)');
  say(agent, 'two');
  await go(agent);
  assert.equal(agent.messages.at(-1).content, 'You said: two (2)');
});

test('tools of the server are told with their results', async () => {
  const agent = connect('thread-2');
  say(agent, 'add');
  const events = await go(agent);
  assert.equal(events.find((event) => event.type === 'TOOL_CALL_RESULT').content, '5');
  assert.equal(agent.messages.at(-1).content, 'The tool says: 5');
});

test('tools of the page run there', async () => {
  const agent = connect('thread-3');
  const tools = [{ name: 'get_weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
  say(agent, 'weather');
  await go(agent, { tools });
  const [call] = agent.messages.at(-1).toolCalls;
  assert.equal(call.function.name, 'get_weather');
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'mist' });
  await go(agent, { tools });
  assert.equal(agent.messages.at(-1).content, 'The tool says: mist');
});

test('a call that must be allowed interrupts the run, and the answer resumes it', async () => {
  const agent = connect('thread-4');
  say(agent, 'add');
  const events = await go(agent, { forwardedProps: { agent: 'asking' } });
  const { outcome } = events.at(-1);
  assert.equal(outcome.type, 'interrupt');
  const resume = outcome.interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: true } }));
  const rest = await go(agent, { resume });
  assert.equal(rest.at(-1).outcome.type, 'success');
  assert.equal(agent.messages.at(-1).content, 'The tool says: 5');
});

test('the same run sent again is the same turn', async () => {
  const body = { threadId: 'thread-5', runId: 'run-1', state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: '1', role: 'user', content: 'once' }] };
  const send = async () => (await fetch(`${server.url}/api/v1/ag-ui`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).text();
  const first = await send();
  assert.equal(await send(), first);
  const stored = await (await fetch(`${server.url}/api/v1/sessions/thread-5/messages`)).json();
  assert.equal(stored.messages.length, 2);
});

test('a model that breaks off and is asked again leaves no message open', async () => {
  const agent = connect('thread-6');
  say(agent, 'cut');
  const events = await go(agent);
  assert.deepEqual(events.map((event) => event.type).filter((type) => /START|END|CUSTOM|FINISHED/.test(type)),
    ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'CUSTOM', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'RUN_FINISHED']);
  assert.equal(agent.messages.at(-1).content, 'whole');
});

test('a run whose server was killed is joined by sending it again, and told once', async () => {
  const body = { threadId: 'thread-7', runId: 'run-7', state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: '1', role: 'user', content: 'hold' }] };
  const reply = await fetch(`${server.url}/api/v1/ag-ui`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const reader = reply.body.getReader();
  for (let seen = ''; !seen.includes('two '); ) seen += new TextDecoder().decode((await reader.read()).value);
  await server.restart();
  const agent = connect('thread-7');
  agent.addMessage(body.messages[0]);
  const run = go(agent, { runId: 'run-7' });
  await server.model.letGo();
  await run;
  assert.deepEqual(agent.messages.map((message) => message.content), ['hold', 'one two three']);
  const stored = await (await fetch(`${server.url}/api/v1/sessions/thread-7/messages`)).json();
  assert.equal(stored.messages.length, 2);
});
