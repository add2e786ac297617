// memory_services.mjs PROGRAM: memory that asks others: a model for summaries and facts, an endpoint for vectors. What
// they do when all is well, and what becomes of conversations when they are slow, down or talk nonsense.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { check, equal, folder, later, program, run, Server, test, until } from '../api/support.mjs';

// How each service answers: ok, silent, garbage, wide (other dimensions), or a status.
const mode = { words: 'ok', vectors: 'ok' };
const asked = { words: [], vectors: [] };
const topics = ['dog', 'rex', 'beach', 'lisbon', 'moved', 'tea', 'coffee', 'live'];

const service = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const form = JSON.parse(body);
  const kind = request.url.endsWith('/embeddings') ? 'vectors' : 'words';
  asked[kind].push({ key: request.headers.authorization, form });
  const how = mode[kind];
  if (how === 'silent') return;
  if (how === 'garbage') return response.end('<html>Welcome!</html>');
  if (typeof how === 'number') {
    response.statusCode = how;
    return response.end('{"error":{"message":"Not today."}}');
  }
  if (kind === 'vectors') {
    const vector = (text) => topics.map((topic) => (text.toLowerCase().includes(topic) ? 1 : 0.05));
    const data = form.input.map((text, index) => ({ index, embedding: how === 'wide' ? [...vector(text), 1] : vector(text) }));
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ data }));
  }
  const task = form.messages[0].content;
  const text = /lasting facts/.test(task) ? '[{"fact":"I live in Lisbon","from":[1]}]' : 'They moved to Lisbon with the dog Rex.';
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta, finish_reason) => response.write(`data: ${JSON.stringify({ id: 'r', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  send({ content: text }, null);
  send({}, 'stop');
  response.end('data: [DONE]\n\n');
});
await new Promise((ready) => service.listen(0, '127.0.0.1', ready));
later(() => { service.closeAllConnections(); service.close(); });
const address = `http://127.0.0.1:${service.address().port}/v1`;

const config = ({ url = address, timeout = '30s', more = '' } = {}) => `
[models.words]
provider = "openai-compatible"
model = "m"
base_url = "${url}"
key = "sk-words"
[memory]
model = "words"
timeout = "${timeout}"
embedder = "http"
[memory.http]
url = "${url}"
model = "vec"
dimensions = ${topics.length}
key = "sk-vec"
[agents.default.memory]
semantic_learning = true
retrieval_timeout = "20s"
${more}`;

// A data directory with its configuration, and the program on both.
class Home {
  constructor(text = config()) {
    this.data = folder();
    this.configure(text);
    mode.words = mode.vectors = 'ok';
  }
  configure(text) {
    this.file = join(folder(), 'config.toml');
    writeFileSync(this.file, text, { mode: 0o600 });
  }
  // What it wrote, and with which code it ended.
  async run(...args) {
    const child = spawn(program, ['--data', this.data, '--config', this.file, ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' } });
    child.stdin.end();
    let out = '';
    let err = '';
    child.stdout.on('data', (bytes) => (out += bytes));
    child.stderr.on('data', (bytes) => (err += bytes));
    const code = await new Promise((done) => child.on('close', done));
    return { out, err, code };
  }
  async say(session, text) {
    const { out, err, code } = await this.run('--json', 'chat', '--session', session, text);
    equal(code, 0, err);
    const events = out.trim().split('\n').map((line) => JSON.parse(line));
    return {
      text: events.filter((one) => one.kind === 'text_delta').map((one) => one.text).join(''),
      degraded: events.filter((one) => one.kind === 'context_degraded').map((one) => `${one.name}: ${one.text}`),
    };
  }
  async facts() {
    return (await this.run('--json', 'memory', 'list')).out.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line).text);
  }
  async summary() {
    return JSON.parse((await this.run('--json', 'memory', 'episodes')).out.split('\n')[0]).summary;
  }
}

const told = 'I moved to Lisbon with my dog Rex.';

test('A model writes what is remembered, and an endpoint finds it again', async () => {
  const home = new Home();
  await home.say('first', told);
  equal((await home.run('sessions', 'close', 'first')).out, "Closed 'first': 1 episode, 1 new fact.\n");
  equal(await home.facts(), ['I live in Lisbon']);
  equal(await home.summary(), 'They moved to Lisbon with the dog Rex.');
  const answer = await home.say('second', 'Where do I live?');
  check(answer.text.includes('I live in Lisbon'), answer.text);
  equal(answer.degraded, []);
  const found = await home.run('memory', 'search', 'Lisbon');
  check(found.out.includes('I live in Lisbon'), found.out);
  equal([...new Set(asked.words.map((one) => one.key))], ['Bearer sk-words']);
  equal([...new Set(asked.vectors.map((one) => one.key))], ['Bearer sk-vec']);
});

test('A model that cannot be asked costs its words only, and a log says why', async () => {
  for (const [how, code] of [['garbage', 'bad_stream'], [401, 'model_key'], ['silent', 'deadline_exceeded']]) {
    const home = new Home(config({ timeout: '1s' }));
    await home.say('first', told);
    mode.words = how;
    const closed = await home.run('sessions', 'close', 'first');
    equal([closed.code, closed.out], [0, "Closed 'first': 1 episode, 1 new fact.\n"], closed.err);
    equal(closed.err.split('\n').filter((line) => line.includes(`code=${code}`)).length, 2, closed.err);
    check(!closed.err.includes('Rex'), 'what was said is in no log');
    equal(await home.facts(), [told.slice(0, -1)]);
    check((await home.summary()).startsWith(told), 'the summary is in the words of the conversation');
  }
});

test('An endpoint that cannot be asked costs a turn its memories, and is named where it was needed', async () => {
  const cases = [
    ['garbage', 'the answer is not JSON', 1],
    [500, 'answered 500', 75],
    [401, 'refused the key', 77],
    ['wide', 'vectors of 9 numbers instead of 8', 1],
  ];
  for (const [how, sentence, code] of cases) {
    const home = new Home();
    await home.run('memory', 'add', 'I live in Lisbon');
    mode.vectors = how;
    const answer = await home.say('one', 'Where do I live?');
    equal(answer.text, 'You have not told me that in this conversation.');
    check(answer.degraded.length === 1 && answer.degraded[0].startsWith("knowledge: the embedder 'vec' at http://127.0.0.1"), String(answer.degraded));
    check(answer.degraded[0].includes(sentence), answer.degraded[0]);
    for (const args of [['add', 'I like tea'], ['search', 'tea']]) {
      const refused = await home.run('memory', ...args);
      equal(refused.code, code, refused.err);
      check(refused.err.includes("the embedder 'vec' at") && refused.err.includes(sentence), refused.err);
    }
    mode.vectors = 'ok';
    check((await home.say('two', 'Where do I live?')).text.includes('I live in Lisbon'), 'it is there again');
  }
});

test('An endpoint that is silent or gone holds nobody up', async () => {
  const home = new Home(config({ timeout: '1s' }));
  mode.vectors = 'silent';
  const answer = await home.say('one', 'Where do I live?');
  check(answer.degraded.some((one) => one.startsWith('knowledge: ')), String(answer.degraded));
  equal((await home.run('memory', 'search', 'tea')).code, 75);
  // A turn that waits no longer leaves nothing behind that does: the program ends at once.
  home.configure(config({ timeout: '10m', more: '' }).replace('"20s"', '"200ms"'));
  const left = await home.say('two', 'Where do I live?');
  check(left.degraded.includes('knowledge: it took longer than this turn waits for it'), String(left.degraded));
  const gone = createServer();
  await new Promise((ready) => gone.listen(0, '127.0.0.1', ready));
  const { port } = gone.address();
  await new Promise((closed) => gone.close(closed));
  home.configure(config({ url: `http://127.0.0.1:${port}/v1` }));
  const alone = await home.say('three', told);
  check(alone.degraded.some((one) => one.includes(`127.0.0.1:${port}`)), String(alone.degraded));
  equal((await home.run('sessions', 'close', 'three')).code, 0);
  check((await home.summary()).startsWith(told), 'it is remembered all the same');
});

test('A collection keeps to the embedder it was made with', async () => {
  const home = new Home();
  await home.run('memory', 'add', 'I live in Lisbon');
  home.configure('');
  const refused = await home.run('memory', 'search', 'Lisbon');
  equal(refused.code, 78, refused.out);
  check(refused.err.includes('vec/8') && refused.err.includes('static'), refused.err);
  const answer = await home.say('one', 'Where do I live?');
  check(answer.degraded.length === 1 && answer.degraded[0].includes('vec/8'), String(answer.degraded));
});

test('A server learns by itself when a session is closed', async () => {
  mode.words = mode.vectors = 'ok';
  const server = await Server.start({ config: config() });
  await server.call('POST', '/api/v1/turns', { body: { session: 'first', message: told } });
  await server.call('POST', '/api/v1/sessions/first/close');
  await until(async () => (await server.call('GET', '/api/v1/memory/episodes')).text.includes('They moved to Lisbon'));
  const answer = await server.call('POST', '/api/v1/turns', { body: { session: 'second', message: 'Where do I live?' } });
  check(answer.text.includes('I live in Lisbon'), answer.text);
});

await run();
