// LangChain over both APIs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';

import { startServer } from './harness.mjs';

let server;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const declared = { type: 'function', function: { name: 'get_weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } } };
const textOf = (message) => (typeof message.content === 'string' ? message.content : message.content.map((part) => part.text ?? '').join(''));

for (const useResponsesApi of [true, false]) {
  const name = useResponsesApi ? 'responses' : 'chat completions';
  const make = () => new ChatOpenAI({ model: 'default', apiKey: server.key, useResponsesApi, maxRetries: 0, configuration: { baseURL: server.base } });
  test(`${name}: invoke, stream and tools`, async () => {
    assert.equal(textOf(await make().invoke('hello')), 'You said: hello (1)');
    let text = '';
    for await (const chunk of await make().stream('hello')) text += textOf(chunk);
    assert.equal(text, 'You said: hello (1)');
    const called = await make().bindTools([declared]).invoke('the weather?');
    assert.equal(called.tool_calls[0].name, 'get_weather');
    assert.deepEqual(called.tool_calls[0].args, { city: 'Lisbon' });
  });
}

test('responses go on behind an earlier one', async () => {
  const model = new ChatOpenAI({ model: 'default', apiKey: server.key, useResponsesApi: true, configuration: { baseURL: server.base } });
  const first = await model.invoke('one');
  const second = await model.invoke('two', { previous_response_id: first.response_metadata.id });
  assert.equal(textOf(second), 'You said: two (2)');
});

test('embeddings find what is meant', async () => {
  const embeddings = new OpenAIEmbeddings({ model: 'default', apiKey: server.key, maxRetries: 0, configuration: { baseURL: server.base } });
  const [cat, tax] = await embeddings.embedDocuments(['The cat sleeps on the sofa.', 'Taxes are due in April.']);
  const query = await embeddings.embedQuery('Where is the cat sleeping?');
  const cosine = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  assert.ok(cosine(query, cat) > cosine(query, tax));
});
