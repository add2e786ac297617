// models.mjs PROGRAM: models of the configuration, chosen for a turn in place of the agent's own.
import { check, endpoint, equal, folder, moment, provider, run, Server, tertulia, test, until } from './support.mjs';

// Two endpoints, so that it is seen which one is asked; and a model whose key is missing.
async function start({ own = () => ['From its own.'], fast = () => ['From the fast one.'], more = '', data } = {}) {
  const asked = { own: [], fast: [] };
  const noted = (name, script) => (request) => (asked[name].push(request.model), script(request));
  const config = `${await provider(noted('own', own))}
[models.fast]
provider = "openai-compatible"
model = "fast-1"
base_url = "${await endpoint(noted('fast', fast))}"
key = "sk-canary"
[models.dear]
provider = "openai"
model = "gpt-4o"
[models.plain]
provider = "offline"
${more}`;
  return { asked, config, server: await Server.start({ config, data }) };
}

const turn = (server, status, body, key) => server.expect(status, 'POST', '/api/v1/turns', { body, key });

test('What can be chosen is listed, with what is missing and without a secret', async () => {
  const { server } = await start();
  const reply = await server.call('GET', '/api/v1/models');
  const [dear, fast, plain] = reply.json.models;
  equal(fast, { name: 'fast', provider: 'openai-compatible', model: 'fast-1', context_tokens: 32768, available: true });
  equal([dear.name, dear.provider, dear.model, dear.context_tokens, dear.available], ['dear', 'openai', 'gpt-4o', 128000, false]);
  equal(dear.problem.code, 'model_key');
  equal([plain.name, plain.provider, plain.model, plain.available], ['plain', 'offline', 'offline', true]);
  check(!/canary|127\.0\.0\.1/.test(reply.text), reply.text);
  equal(await (await Server.start()).expect(200, 'GET', '/api/v1/models'), { models: [] });
});

test('A turn speaks with the model that it names, and the next one with the agent\'s own', async () => {
  const { server, asked } = await start();
  const chosen = await turn(server, 200, { session: 's', message: 'One', model: 'fast' });
  equal([chosen.text, chosen.messages.at(-1).source], ['From the fast one.', 'fast-1']);
  equal((await turn(server, 200, { session: 's', message: 'Two' })).text, 'From its own.');
  equal(asked, { own: ['m'], fast: ['fast-1'] });
  const models = async ({ turn: id }) => (await server.expect(200, 'GET', `/api/v1/sessions/s/turns/${id}/receipts`)).receipts.map((receipt) => receipt.model);
  equal(await models(chosen), ['fast-1']);
  const plain = await turn(server, 200, { session: 's', message: 'Add 10 and 20', model: 'plain' });
  equal(plain.messages.at(-1).source, 'offline');
});

test('A model that is not there, has no key, or is named twice is refused before anything is kept', async () => {
  const { server, asked } = await start();
  const unknown = (await turn(server, 404, { session: 's', message: 'x', model: 'fats' })).error;
  equal([unknown.code, unknown.known, unknown.param], ['model_not_found', ['dear', 'fast', 'plain'], 'model']);
  check(unknown.message.includes("'fast'"), unknown.message);
  // The provider's own name is none of the configuration.
  equal((await turn(server, 404, { session: 's', message: 'x', model: 'fast-1' })).error.code, 'model_not_found');
  equal((await turn(server, 502, { session: 's', message: 'x', model: 'dear' })).error.code, 'model_key');
  equal((await turn(server, 400, { session: 's', message: 'x', model: 'fast', options: { model: 'm2' } })).error.code, 'duplicate_key');
  equal((await turn(server, 400, { session: 's', message: 'x', model: 7 })).error.code, 'wrong_type');
  // What the program itself writes down for a choice is no name of a model.
  equal((await turn(server, 400, { session: 's', message: 'x', options: { model: 'models.fast' } })).error.code, 'out_of_range');
  equal((await turn(server, 400, { session: 's', message: 'x', options: { model: 'models.offline' } })).error.code, 'out_of_range');
  await server.expect(404, 'GET', '/api/v1/sessions/s');
  equal(asked, { own: [], fast: [] });
});

test('A turn that is cut by a crash goes on with the model that was chosen for it', async () => {
  const data = folder();
  const gate = moment();
  const { server, asked, config } = await start({ data, fast: () => ['Begun', () => gate.happened] });
  const stream = await server.stream('POST', '/api/v1/turns', { body: { session: 's', message: 'Go', model: 'fast' } });
  await stream.until('text_delta');
  await server.kill();
  gate.happen();
  const again = await Server.start({ data, config });
  const messages = async () => (await again.call('GET', '/api/v1/sessions/s/messages')).json?.messages ?? [];
  await until(async () => (await messages()).length === 2);
  equal((await messages()).map((message) => message.source), [undefined, 'fast-1']);
  equal(asked, { own: [], fast: ['fast-1', 'fast-1'] });
});

test('A chosen model counts for the key that asks, at its own price', async () => {
  const data = folder();
  const { server, asked } = await start({ data, more: '[server]\nkey_required = true\nprices = ["fast-1=1000/1000", "*=0/0"]\n' });
  const { key } = JSON.parse(tertulia(data, '--config', server.config, '--json', '--tenant', 'acme', 'keys', 'create', '--money-per-day', '0.000001'));
  await turn(server, 200, { message: 'x' }, key);
  await turn(server, 200, { message: 'x' }, key);
  // What it says first is already beyond the limit.
  equal((await turn(server, 429, { message: 'x', model: 'fast' }, key)).error.code, 'limit_reached');
  equal((await turn(server, 429, { message: 'x' }, key)).error.code, 'limit_reached');
  equal(asked.own.length, 2);
});

await run();
