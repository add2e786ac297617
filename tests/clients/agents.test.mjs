// The OpenAI Agents SDK: its loop, its sessions and its approvals.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Agent, OpenAIConversationsSession, RunState, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

import { startServer } from './harness.mjs';

let server;
let client;
before(async () => {
  server = await startServer();
  client = new OpenAI({ baseURL: server.base, apiKey: server.key, maxRetries: 0 });
  setDefaultOpenAIClient(client);
  setOpenAIAPI('responses');
  setTracingDisabled(true);
});
after(() => server.stop());

const weather = (more = {}) =>
  tool({
    name: 'get_weather', description: 'The weather of a city.', parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `snow in ${city}`, ...more,
  });
const agent = (tools = []) => new Agent({ name: 'A', model: 'default', instructions: 'Be brief.', tools });

test('the loop runs tools', async () => {
  const result = await run(agent([weather()]), 'the weather?');
  assert.equal(result.finalOutput, 'The tool says: snow in Lisbon');
});

test('a session keeps the conversation', async () => {
  const session = new OpenAIConversationsSession({ client });
  await run(agent(), 'one', { session });
  const second = await run(agent([weather()]), 'the weather?', { session });
  assert.equal(second.finalOutput, 'The tool says: snow in Lisbon');
  const third = await run(agent(), 'three', { session });
  assert.equal(third.finalOutput, 'You said: three (3)');
  const before = (await session.getItems()).length;
  await session.popItem();
  assert.equal((await session.getItems()).length, before - 1);
});

test('a run streams', async () => {
  const result = await run(agent(), 'hello', { stream: true });
  let text = '';
  for await (const piece of result.toTextStream({ compatibleWithNodeStreams: false })) text += piece;
  await result.completed;
  assert.equal(text, 'You said: hello (1)');
});

test('a call waits for its approval, also in another process', async () => {
  const asking = agent([weather({ needsApproval: true })]);
  const first = await run(asking, 'the weather?');
  assert.equal(first.interruptions.length, 1);
  const state = await RunState.fromString(asking, first.state.toString());
  state.approve(state.getInterruptions()[0]);
  assert.equal((await run(asking, state)).finalOutput, 'The tool says: snow in Lisbon');
});

test('a run goes on behind an earlier response', async () => {
  const first = await run(agent(), 'one');
  const second = await run(agent([weather()]), 'the weather?', { previousResponseId: first.lastResponseId });
  assert.equal(second.finalOutput, 'The tool says: snow in Lisbon');
  const third = await run(agent(), 'three', { previousResponseId: second.lastResponseId });
  assert.equal(third.finalOutput, 'You said: three (3)');
});
