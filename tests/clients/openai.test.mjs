// The openai package against the server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { checkEvents, checkResponse } from './fields.mjs';
import { startServer } from './harness.mjs';

let server;
let client;
before(async () => {
  server = await startServer();
  client = new OpenAI({ baseURL: server.base, apiKey: server.key, maxRetries: 0 });
});
after(() => server.stop());

const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  strict: true,
};
const chatWeather = { type: 'function', function: { name: weather.name, description: weather.description, parameters: weather.parameters } };
const ask = (input, more = {}) => client.responses.create({ model: 'default', input, ...more });
const collect = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};

test('models are agents', async () => {
  const models = await client.models.list();
  assert.ok(models.data.some((model) => model.id === 'default' && model.object === 'model'));
  assert.equal((await client.models.retrieve('default')).id, 'default');
  await assert.rejects(client.models.retrieve('nobody'), { status: 404, code: 'model_not_found' });
});

test('embeddings: a text, several, and tokens, as numbers and as base64', async () => {
  const one = await client.embeddings.create({ model: 'default', input: 'The ferry leaves at nine.' });
  assert.equal(one.object, 'list');
  assert.equal(one.data[0].object, 'embedding');
  assert.equal(one.data[0].embedding.length, 256);
  assert.ok(Math.abs(one.data[0].embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-4);
  assert.ok(one.usage.prompt_tokens > 0 && one.usage.total_tokens === one.usage.prompt_tokens);
  // The client asks for base64 by itself; numbers are the same vector.
  const plain = await client.embeddings.create({ model: 'static', input: ['The ferry leaves at nine.', 'A dog.'], encoding_format: 'float' });
  assert.deepEqual(plain.data.map((item) => item.index), [0, 1]);
  plain.data[0].embedding.forEach((x, i) => assert.ok(Math.abs(x - one.data[0].embedding[i]) < 1e-6));
  // "hello world" in cl100k_base.
  const tokens = await client.embeddings.create({ model: 'default', input: [15339, 1917] });
  const words = await client.embeddings.create({ model: 'default', input: 'hello world' });
  assert.deepEqual(tokens.data[0].embedding, words.data[0].embedding);
  const lists = await client.embeddings.create({ model: 'default', input: [[15339, 1917], [15339]], dimensions: 256 });
  assert.deepEqual([lists.data.length, lists.data[0].embedding], [2, words.data[0].embedding]);
  for (const [bad, status, code] of [
    [{ model: 'nobody', input: 'x' }, 404, 'model_not_found'],
    [{ model: 'default', input: 'x', dimensions: 12 }, 400, 'unsupported_parameter'],
    [{ model: 'default', input: [] }, 400, 'empty_message'],
    [{ model: 'default', input: '' }, 400, 'empty_message'],
    [{ model: 'default', input: ['x', 3] }, 400, 'wrong_type'],
    [{ model: 'default', input: [2 ** 31] }, 400, 'out_of_range'],
    [{ model: 'default' }, 400, 'missing_field'],
  ]) {
    await assert.rejects(client.embeddings.create(bad), { status, code }, JSON.stringify(bad));
  }
});

test('a chat completion answers behind the messages it is given, and stores nothing', async () => {
  const completion = await client.chat.completions.create({
    model: 'default',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'noted' },
      { role: 'user', content: 'second' },
    ],
  });
  assert.equal(completion.choices[0].message.content, 'You said: second (2)');
  assert.equal(completion.choices[0].finish_reason, 'stop');
  assert.deepEqual([completion.usage.prompt_tokens, completion.usage.completion_tokens, completion.usage.total_tokens], [10, 5, 15]);
  assert.ok(!('system_fingerprint' in completion));
  const sessions = await (await fetch(`${server.url}/api/v1/sessions`)).json();
  assert.equal(sessions.sessions.length, 0);
});

test('a chat completion streams, with its usage at the end', async () => {
  const stream = await client.chat.completions.create({
    model: 'default', stream: true, stream_options: { include_usage: true }, messages: [{ role: 'user', content: 'hello' }],
  });
  const chunks = await collect(stream);
  assert.equal(chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.delta.content ?? '').join(''), 'You said: hello (1)');
  assert.equal(chunks.at(-2).choices[0].finish_reason, 'stop');
  assert.equal(chunks.at(-1).usage.total_tokens, 15);
});

test('tools of the client are called by the client', async () => {
  const messages = [{ role: 'user', content: 'the weather?' }];
  const first = await client.chat.completions.create({ model: 'default', messages, tools: [chatWeather] });
  assert.equal(first.choices[0].finish_reason, 'tool_calls');
  assert.equal(first.choices[0].message.content, null);
  const [call] = first.choices[0].message.tool_calls;
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Lisbon' });
  messages.push(first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'sun' });
  const second = await client.chat.completions.create({ model: 'default', messages, tools: [chatWeather] });
  assert.equal(second.choices[0].message.content, 'The tool says: sun');
});

test('runTools runs the loop of a chat', async () => {
  const runner = client.chat.completions.runTools({
    model: 'default',
    messages: [{ role: 'user', content: 'two of the weather' }],
    tools: [{ type: 'function', function: { ...chatWeather.function, parse: JSON.parse, function: ({ city }) => `rain in ${city}` } }],
  });
  assert.equal(await runner.finalContent(), 'The tool says: rain in Lisbon and rain in Porto');
});

test('tool calls stream', async () => {
  const stream = client.chat.completions.stream({ model: 'default', messages: [{ role: 'user', content: 'weather' }], tools: [chatWeather] });
  const message = await stream.finalMessage();
  assert.equal(message.tool_calls[0].function.name, 'get_weather');
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { city: 'Lisbon' });
});

test('a chat can live in a session, also with tools of the client and of the server', async () => {
  const headers = { 'Tertulia-Session': 'chat-1' };
  const say = (content, tools) =>
    client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content }], ...(tools && { tools }) }, { headers });
  assert.equal((await say('one')).choices[0].message.content, 'You said: one (1)');
  assert.equal((await say('two')).choices[0].message.content, 'You said: two (2)');
  assert.equal((await say('add it up')).choices[0].message.content, 'The tool says: 5');
  const asked = await say('weather', [chatWeather]);
  const [call] = asked.choices[0].message.tool_calls;
  const told = await client.chat.completions.create(
    { model: 'default', tools: [chatWeather], messages: [{ role: 'tool', tool_call_id: call.id, content: 'fog' }] }, { headers });
  assert.equal(told.choices[0].message.content, 'The tool says: fog');
  const stored = await (await fetch(`${server.url}/api/v1/sessions/chat-1/messages`)).json();
  assert.deepEqual(stored.messages.map((message) => message.role),
    ['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'tool', 'assistant']);
});

test('errors have the form that clients know', async () => {
  const messages = [{ role: 'user', content: 'x' }];
  await assert.rejects(client.chat.completions.create({ model: 'gpt-none', messages }),
    (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found' && error.param === 'model');
  await assert.rejects(client.chat.completions.create({ model: 'default', messages: [] }), OpenAI.BadRequestError);
  await assert.rejects(client.chat.completions.create({ model: 'default', messages, n: 2 }), { code: 'unsupported_parameter', param: 'n' });
  await assert.rejects(ask('x', { previous_response_id: 'resp_none' }), OpenAI.NotFoundError);
});

test('a response has every field, and is kept', async () => {
  const response = await ask('hello', { instructions: 'Be kind.', metadata: { a: 'b' } });
  checkResponse(response);
  assert.equal(response.output_text, 'You said: hello (1)');
  assert.deepEqual(response.metadata, { a: 'b' });
  const again = await client.responses.retrieve(response.id);
  assert.equal(again.output_text, response.output_text);
  const items = await client.responses.inputItems.list(response.id);
  assert.equal(items.data[0].content[0].text, 'hello');
  await client.responses.delete(response.id);
  await assert.rejects(client.responses.retrieve(response.id), OpenAI.NotFoundError);
});

test('a response streams its events in order', async () => {
  const events = await collect(await ask('hello', { stream: true }));
  checkEvents(events);
  assert.deepEqual(events.slice(0, 4).map((event) => event.type),
    ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added']);
  const final = await client.responses.stream({ model: 'default', input: 'hello' }).finalResponse();
  assert.equal(final.output_text, 'You said: hello (1)');
});

test('two answers to one response are two branches', async () => {
  const first = await ask('one');
  const second = await ask('two', { previous_response_id: first.id });
  assert.equal(second.output_text, 'You said: two (2)');
  const other = await ask('zwei', { previous_response_id: first.id });
  assert.equal(other.output_text, 'You said: zwei (2)');
  const third = await ask('three', { previous_response_id: second.id });
  assert.equal(third.output_text, 'You said: three (3)');
  const passing = await ask('four', { previous_response_id: third.id, store: false });
  assert.equal(passing.output_text, 'You said: four (4)');
  const session = first.id.split('_')[2];
  const branches = await (await fetch(`${server.url}/api/v1/sessions/${session}/branches`)).json();
  assert.equal(branches.branches.length, 2);
});

test('functions of a response run at the client, also several at once', async () => {
  const first = await ask('two of the weather', { tools: [weather] });
  checkResponse(first);
  assert.deepEqual(first.tools, [weather]);
  const calls = first.output.filter((item) => item.type === 'function_call');
  assert.equal(calls.length, 2);
  const outputs = calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: `wind in ${JSON.parse(call.arguments).city}` }));
  const second = await ask(outputs, { previous_response_id: first.id, tools: [weather] });
  assert.equal(second.output_text, 'The tool says: wind in Lisbon and wind in Porto');
  await assert.rejects(ask('never mind', { previous_response_id: first.id }), /No tool output found for function call call_a/);
  // The same answer once more is another branch, not an error.
  assert.equal((await ask(outputs, { previous_response_id: first.id, tools: [weather] })).output_text, second.output_text);
  // And a client that keeps everything itself sends it all.
  const whole = await ask([{ role: 'user', content: 'two of the weather' }, ...first.output, ...outputs], { tools: [weather] });
  assert.equal(whole.output_text, second.output_text);
  const byReference = [{ role: 'user', content: 'two' }, ...first.output.map(({ id }) => ({ type: 'item_reference', id })), ...outputs];
  assert.equal((await ask(byReference, { tools: [weather] })).output_text, second.output_text);
});

test('function calls stream', async () => {
  const events = await collect(await ask('weather', { stream: true, tools: [weather] }));
  checkEvents(events);
  const done = events.find((event) => event.type === 'response.function_call_arguments.done');
  assert.deepEqual(JSON.parse(done.arguments), { city: 'Lisbon' });
});

test('tools of the server run underneath, and are told as calls that were made', async () => {
  const events = await collect(await ask('add', { stream: true }));
  checkEvents(events);
  const { response } = events.at(-1);
  assert.deepEqual(response.output.map((item) => item.type), ['mcp_call', 'message']);
  assert.equal(response.output[0].output, '5');
});

test('a response in the background is retrieved, watched from any event on, and cancelled', async () => {
  const begun = await ask('hold on', { background: true });
  assert.equal(begun.status, 'queued');
  const running = await client.responses.retrieve(begun.id);
  assert.equal(running.status, 'in_progress');
  const watched = collect(await client.responses.retrieve(begun.id, { stream: true, starting_after: 3 }));
  await server.model.letGo();
  const events = await watched;
  checkEvents(events, 4);
  assert.equal(events.at(-1).response.output_text ?? events.at(-1).response.output[0].content[0].text, 'one two three');
  assert.equal((await client.responses.retrieve(begun.id)).output_text, 'one two three');

  const other = await ask('hold it', { background: true });
  const cancelled = await client.responses.cancel(other.id);
  assert.equal(cancelled.status, 'cancelled');
  assert.equal((await client.responses.retrieve(other.id)).status, 'cancelled');
});

test('a conversation holds items, and responses go on in it', async () => {
  const conversation = await client.conversations.create({
    metadata: { topic: 'x' }, items: [{ type: 'message', role: 'user', content: 'earlier' }, { type: 'message', role: 'assistant', content: 'yes' }],
  });
  assert.equal(conversation.object, 'conversation');
  const response = await ask('later', { conversation: conversation.id });
  assert.equal(response.output_text, 'You said: later (2)');
  assert.deepEqual(response.conversation, { id: conversation.id });
  const items = [];
  for await (const item of client.conversations.items.list(conversation.id, { order: 'asc', limit: 2 })) items.push(item);
  assert.deepEqual(items.map((item) => item.role), ['user', 'assistant', 'user', 'assistant']);
  assert.equal((await client.conversations.items.retrieve(items[3].id, { conversation_id: conversation.id })).content[0].text, 'You said: later (2)');
  await client.conversations.items.create(conversation.id, { items: [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }] });
  await client.conversations.items.create(conversation.id, { items: [{ type: 'function_call_output', call_id: 'c1', output: 'out' }] });
  const all = await client.conversations.items.list(conversation.id, { order: 'asc' });
  assert.deepEqual(all.data.map((item) => item.type), ['message', 'message', 'message', 'message', 'function_call', 'function_call_output']);
  await client.conversations.items.delete(all.data[5].id, { conversation_id: conversation.id });
  await client.conversations.items.delete((await client.conversations.items.list(conversation.id)).data[0].id, { conversation_id: conversation.id });
  assert.equal((await client.conversations.items.list(conversation.id)).data.length, 4);
  assert.equal((await ask('on', { conversation: conversation.id })).output_text, 'You said: on (3)');
  assert.deepEqual((await client.conversations.update(conversation.id, { metadata: { topic: 'y' } })).metadata, { topic: 'y' });
  assert.equal((await client.conversations.delete(conversation.id)).deleted, true);
  await assert.rejects(client.conversations.retrieve(conversation.id), OpenAI.NotFoundError);
});

test('tokens are counted and conversations compacted', async () => {
  const counted = await client.responses.inputTokens.count({ model: 'default', input: 'hello there' });
  assert.equal(counted.object, 'response.input_tokens');
  assert.ok(counted.input_tokens > 2);
  const compacted = await client.responses.compact({ model: 'default', input: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }] });
  assert.equal(compacted.object, 'response.compaction');
  assert.equal(compacted.output.at(-1).type, 'compaction');
  assert.match((await ask([...compacted.output, { role: 'user', content: 'go on' }])).output_text, /go on/);
  const missing = await fetch(`${server.base}/responses/compact`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"x"}' });
  assert.equal(missing.status, 400);
});

test('an answer that broke off is taken back where that can be told, and an error where it cannot', async () => {
  const { response } = (await collect(await ask('cut one', { stream: true }))).at(-1);
  assert.deepEqual(response.output.map((item) => item.content[0].text), ['whole']);
  const messages = [{ role: 'user', content: 'cut two' }];
  await assert.rejects(async () => collect(await client.chat.completions.create({ model: 'default', stream: true, messages })), /broke off/);
  const whole = await client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content: 'cut three' }] });
  assert.equal(whole.choices[0].message.content, 'whole');
});

test('a reader that comes back after the server was killed sees each event once', async () => {
  const begun = await ask('hold this', { background: true });
  const seen = [];
  const first = await client.responses.retrieve(begun.id, { stream: true });
  for await (const event of first) {
    seen.push(event);
    if (event.type === 'response.output_text.delta' && event.delta === 'two ') break;
  }
  await server.restart();
  const rest = await client.responses.retrieve(begun.id, { stream: true, starting_after: seen.at(-1).sequence_number });
  for await (const event of rest) {
    seen.push(event);
    if (event.type === 'response.output_text.delta' && event.delta === 'two ') await server.model.letGo();
  }
  const numbers = seen.map((event) => event.sequence_number);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  assert.equal(seen.at(-1).type, 'response.completed');
  assert.equal(seen.at(-1).response.output[0].content[0].text, 'one two three');
  assert.equal((await client.responses.retrieve(begun.id)).output_text, 'one two three');
});
