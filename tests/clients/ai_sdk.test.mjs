// The AI SDK: its providers, and the core of useChat.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { AbstractChat, DefaultChatTransport, generateText, isStepCount, lastAssistantMessageIsCompleteWithApprovalResponses, streamText, tool } from 'ai';
import { z } from 'zod';

import { startServer } from './harness.mjs';

let server;
let openai;
before(async () => {
  server = await startServer();
  openai = createOpenAI({ baseURL: server.base, apiKey: server.key });
});
after(() => server.stop());

const tools = { get_weather: tool({ description: 'The weather of a city.', inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `hail in ${city}` }) };

test('generateText', async () => {
  assert.equal((await generateText({ model: openai('default'), prompt: 'hello' })).text, 'You said: hello (1)');
  assert.equal((await generateText({ model: openai.chat('default'), prompt: 'hello' })).text, 'You said: hello (1)');
});

for (const kind of ['responses', 'chat']) {
  test(`a loop of two steps over ${kind}`, async () => {
    const result = await generateText({ model: openai[kind]('default'), prompt: 'the weather?', tools, stopWhen: isStepCount(3) });
    assert.equal(result.text, 'The tool says: hail in Lisbon');
    assert.equal(result.steps.length, 2);
  });
  test(`streamText over ${kind}`, async () => {
    const result = streamText({ model: openai[kind]('default'), prompt: 'hello' });
    let text = '';
    for await (const piece of result.textStream) text += piece;
    assert.equal(text, 'You said: hello (1)');
    assert.equal((await result.usage).totalTokens, 15);
  });
}

test('open responses', async () => {
  const provider = createOpenResponses({ name: 'tertulia', url: `${server.base}/responses`, apiKey: server.key });
  const result = await generateText({ model: provider('default'), prompt: 'the weather?', tools, stopWhen: isStepCount(3) });
  assert.equal(result.text, 'The tool says: hail in Lisbon');
});

// What a page keeps, without a page.
class State {
  messages = [];
  status = 'ready';
  error = undefined;
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}
class Chat extends AbstractChat {
  constructor(id, more = {}) {
    super({ id, state: new State(), transport: new DefaultChatTransport({ api: `${server.url}/api/v1/ui/chat`, body: more.body }), ...more });
  }
}
const textOf = (message) => message.parts.filter((part) => part.type === 'text').map((part) => part.text).join('');

test('a page talks, regenerates and edits', async () => {
  const chat = new Chat('page-1');
  await chat.sendMessage({ text: 'one' });
  await chat.sendMessage({ text: 'two' });
  assert.equal(chat.status, 'ready');
  assert.equal(textOf(chat.lastMessage), 'You said: two (2)');
  await chat.regenerate();
  assert.equal(textOf(chat.lastMessage), 'You said: two (2)');
  const stored = await (await fetch(`${server.url}/api/v1/sessions/page-1`)).json();
  assert.equal(stored.branches.length, 2);
});

test('a page sees the tools of the server', async () => {
  const chat = new Chat('page-2');
  await chat.sendMessage({ text: 'add' });
  const call = chat.lastMessage.parts.find((part) => part.type === 'dynamic-tool');
  assert.deepEqual([call.toolName, call.state, call.output], ['calculator', 'output-available', '5']);
  assert.equal(textOf(chat.lastMessage), 'The tool says: 5');
});

test('a page runs tools of its own', async () => {
  const declared = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
  const chat = new Chat('page-3', { body: { tools: declared } });
  await chat.sendMessage({ text: 'weather' });
  const call = chat.lastMessage.parts.find((part) => part.type === 'dynamic-tool');
  assert.equal(call.state, 'input-available');
  await chat.addToolOutput({ tool: 'get_weather', toolCallId: call.toolCallId, output: 'dew' });
  await chat.sendMessage();
  assert.equal(textOf(chat.lastMessage), 'The tool says: dew');
});

const settled = async (chat) => {
  while (chat.status !== 'ready') await new Promise((resolve) => setTimeout(resolve, 5));
};
const callOf = (chat) => chat.lastMessage.parts.find((part) => part.type === 'dynamic-tool');

for (const approved of [true, false]) {
  test(`a call that must be allowed is asked about in the page, which says ${approved ? 'yes' : 'no'}`, async () => {
    const chat = new Chat(`page-asks-${approved}`, { body: { agent: 'asking' }, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await chat.sendMessage({ text: 'add' });
    assert.equal(chat.status, 'ready');
    assert.equal(callOf(chat).state, 'approval-requested');
    assert.deepEqual(callOf(chat).input, { expression: '2+3' });
    const { id } = callOf(chat).approval;
    const sent = new Promise((resolve) => { const before = chat.onFinish; chat.onFinish = (...args) => { before?.(...args); resolve(); }; });
    await chat.addToolApprovalResponse({ id, approved });
    await sent;
    await settled(chat);
    assert.equal(chat.messages.length, 2);
    assert.equal(callOf(chat).state, approved ? 'output-available' : 'output-denied');
    if (approved) assert.equal(callOf(chat).output, '5');
    assert.match(textOf(chat.lastMessage), approved ? /^The tool says: 5$/ : /^The tool says: /);
    const { messages, branch } = await (await fetch(`${server.url}/api/v1/sessions/page-asks-${approved}/messages`)).json();
    assert.deepEqual([branch, messages.map((message) => message.role)], ['main', ['user', 'assistant', 'tool', 'assistant']]);
  });
}

test('a page that comes back while something is asked is asked as well, also after a crash', async () => {
  const first = new Chat('page-asks-again', { body: { agent: 'asking' } });
  await first.sendMessage({ text: 'add' });
  await server.restart();
  const second = new Chat('page-asks-again', { body: { agent: 'asking' }, messages: [first.messages[0]] });
  await second.resumeStream();
  assert.equal(callOf(second).state, 'approval-requested');
  await second.addToolApprovalResponse({ id: callOf(second).approval.id, approved: true });
  await second.sendMessage();
  assert.equal(textOf(second.lastMessage), 'The tool says: 5');
  // What was answered is over.
  await assert.rejects(second.transport.sendMessages({ chatId: 'page-asks-again', messages: first.messages.concat({ id: 'x', role: 'assistant',
    parts: [{ type: 'dynamic-tool', toolName: 'calculator', toolCallId: 'call_s', state: 'approval-responded', input: {}, approval: { id: callOf(first).approval.id, approved: true } }] }), trigger: 'submit-message' }), /no_question/);
});

test('a page shows nothing of an answer that broke off', async () => {
  const chat = new Chat('page-cut');
  await chat.sendMessage({ text: 'cut' });
  assert.equal(textOf(chat.lastMessage), 'whole');
});

test('a page comes back to a turn that goes on, and to none', async () => {
  const chat = new Chat('page-4');
  const sent = chat.sendMessage({ text: 'hold' });
  const reader = new Chat('page-4');
  while (!chat.lastMessage || chat.lastMessage.role !== 'assistant' || !textOf(chat.lastMessage).includes('two')) await new Promise((resolve) => setTimeout(resolve, 5));
  const resumed = reader.resumeStream();
  while (!reader.lastMessage || !textOf(reader.lastMessage).includes('two')) await new Promise((resolve) => setTimeout(resolve, 5));
  await server.model.letGo();
  await Promise.all([sent, resumed]);
  assert.equal(textOf(chat.lastMessage), 'one two three');
  assert.equal(textOf(reader.lastMessage), 'one two three');
  await reader.resumeStream();
  assert.equal(reader.status, 'ready');
});

test('a page whose server was killed sees the whole answer once', async () => {
  const chat = new Chat('page-5', { onError: () => {} });
  const sent = chat.sendMessage({ text: 'hold' });
  while (!chat.lastMessage || chat.lastMessage.role !== 'assistant' || !textOf(chat.lastMessage).includes('two')) await new Promise((resolve) => setTimeout(resolve, 5));
  await server.restart();
  await sent;
  const resumed = chat.resumeStream();
  while (chat.status !== 'streaming') await new Promise((resolve) => setTimeout(resolve, 5));
  await server.model.letGo();
  await resumed;
  assert.equal(textOf(chat.lastMessage), 'one two three');
});
