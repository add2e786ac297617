// once.mjs PROGRAM: one Idempotency-Key, one turn: at every door that begins one, while the first still runs and after it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, moment, provider, run, Server, test, until } from './support.mjs';

// How often the model was asked about what, and when it may answer.
const asked = new Map();
let gate = moment();
gate.happen();
const lastWords = (messages) => {
  const { content } = messages.findLast(({ role }) => role === 'user');
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
};
const config = await provider((request) => {
  const words = lastWords(request.messages);
  asked.set(words, (asked.get(words) ?? 0) + 1);
  if (words.includes('broken') && asked.get(words) === 1) return { refused: 400 };
  return ['Fine: ', () => gate.happened, words];
});
const file = join(folder(), 'one.toml');
writeFileSync(file, '[workflow]\nname = "one"\nkind = "sequential"\nparticipants = ["writer"]\n[agents.writer]\ninstructions = "You are the writer."\n');
const server = await Server.start({ config: `${config}\n[workflows.one]\nfile = "${file}"\n` });

const before = await server.expect(200, 'POST', '/v1/responses', { body: { model: 'default', input: 'First' } });
const chat = (words, more = {}) => ({ model: 'default', messages: [{ role: 'user', content: words }], ...more });
const line = (words) => [{ id: 'm1', role: 'user', content: words, parts: [{ type: 'text', text: words }] }];
const doors = {
  'a turn in a session': (words) => ['/api/v1/turns', { session: 'kept', message: words }],
  'a turn in no session': (words) => ['/api/v1/turns', { message: words }],
  'a turn that is streamed': (words) => ['/api/v1/turns', { session: 'streamed', message: words, stream: true }],
  'a response': (words) => ['/v1/responses', { model: 'default', input: words }],
  'a response behind another': (words) => ['/v1/responses', { model: 'default', input: words, previous_response_id: before.id }],
  'a response behind another, streamed': (words) => ['/v1/responses', { model: 'default', input: words, previous_response_id: before.id, stream: true }],
  'a response that is not stored': (words) => ['/v1/responses', { model: 'default', input: words, store: false }],
  'a response behind another that is not stored': (words) => ['/v1/responses', { model: 'default', input: words, store: false, previous_response_id: before.id }],
  'a chat': (words) => ['/v1/chat/completions', chat(words)],
  'a chat that is streamed': (words) => ['/v1/chat/completions', chat(words, { stream: true })],
  'a chat in a session': (words) => ['/v1/chat/completions', chat(words, { metadata: { session: 'chat' } })],
  'AG-UI': (words) => ['/api/v1/ag-ui', { threadId: 'agui', runId: 'r1', messages: line(words), tools: [], context: [], state: {}, forwardedProps: {} }],
  useChat: (words) => ['/api/v1/ui/chat', { id: 'page', messages: line(words), trigger: 'submit-message' }],
  'a workflow': (words) => ['/api/v1/workflows/one/runs', { message: words }],
};

// What a client keeps of an answer: the words, whatever they came in.
const post = async (path, body, key) => {
  const reply = await fetch(server.url + path, { method: 'POST', headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key }, body: JSON.stringify(body) });
  return { status: reply.status, text: await reply.text() };
};

for (const [name, door] of Object.entries(doors)) {
  test(`${name} is begun once for a key`, async () => {
    const words = `Say ${name}`;
    const key = `key-${name.replaceAll(/[^a-z]/gi, '-')}`;
    gate = moment();
    const [path, body] = door(words);
    const first = post(path, body, key);
    await until(() => asked.get(words) === 1);
    // While it is being said; both at once.
    const joined = [post(path, body, key), post(path, body, key)];
    await new Promise((done) => setImmediate(done));
    const other = await post(...door(`${words} otherwise`), key);
    equal(other.status, 422, `${name}: another body under its key: ${other.text.slice(0, 200)}`);
    gate.happen();
    const answers = [await first, ...(await Promise.all(joined)), await post(path, body, key)];
    for (const { status, text } of answers) check(status >= 200 && status < 300, `${name}: ${status} ${text.slice(0, 300)}`);
    if (!path.includes('workflow')) for (const { text } of answers) check(text.includes(words), `${name}: ${text.slice(0, 300)}`);
    equal([asked.get(words), asked.get(`${words} otherwise`) ?? 0], [1, 0], name);
  });
}

test('What failed before any tool ran may be said again under its key', async () => {
  const body = chat('a broken one');
  check((await post('/v1/chat/completions', body, 'k-broken')).status >= 400, 'it failed');
  equal((await post('/v1/chat/completions', body, 'k-broken')).status, 200);
  equal(asked.get('a broken one'), 2);
});

await run();
