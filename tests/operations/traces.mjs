// traces.mjs PROGRAM: spans by OTLP/HTTP, as a collector gets them.
import http from 'node:http';
import { check, equal, later, moment, provider, run, Server, test } from '../api/support.mjs';

// A collector that records what it is sent. `answer` gives the status.
async function collector(answer = () => 200) {
  const requests = [];
  let came = moment();
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      const status = answer(requests.length);
      requests.push({ path: request.url, headers: request.headers, body: JSON.parse(body), status });
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end('{}');
      came.happen();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  later(() => { server.closeAllConnections(); server.close(); });
  const spans = () => requests.filter((one) => one.status === 200).flatMap((one) => one.body.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans)));
  // Waits until the spans that came are these, or more.
  const until = async (enough) => {
    while (!enough(spans())) {
      await came.happened;
      came = moment();
    }
    return spans();
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1/traces`, requests, until };
}

const attributes = (span) => Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
const named = (spans, name) => spans.filter((span) => span.name.startsWith(name));

test('A turn is a trace: the agent, its calls of the model and its tools', async () => {
  const { url, until, requests } = await collector();
  let asked = 0;
  const config = await provider(() => (asked++ === 0 ? [{ call: 'calculator', arguments: { expression: '6*7' } }] : ['It is 42.']));
  const server = await Server.start({ config: `${config}[trace]\nendpoint = "${url}"\nauthorization = "Basic abc"\n` });
  const { turn } = await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'traced', message: 'What is 6*7? secret-words' } });
  const spans = await until((all) => named(all, 'invoke_agent').length === 1 && named(all, 'POST').length === 1);
  const [agent] = named(spans, 'invoke_agent default');
  const chats = named(spans, 'chat ');
  const [tool] = named(spans, 'execute_tool calculator');
  equal(chats.length, 2);
  for (const span of [...chats, tool]) equal([span.traceId, span.parentSpanId], [agent.traceId, agent.spanId]);
  equal(agent.parentSpanId, undefined);
  equal(attributes(agent)['tertulia.turn'], turn);
  equal(attributes(agent)['gen_ai.conversation.id'], 'traced');
  equal(attributes(chats[0])['gen_ai.operation.name'], 'chat');
  check(attributes(chats[0])['gen_ai.usage.input_tokens'] >= 0, 'usage');
  equal(attributes(tool)['gen_ai.tool.name'], 'calculator');
  for (const span of spans) {
    check(/^[0-9a-f]{32}$/.test(span.traceId) && /^[0-9a-f]{16}$/.test(span.spanId), 'ids in hex');
    check(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), 'time goes on');
  }
  const [request] = named(spans, 'POST /api/v1/turns');
  equal([request.kind, attributes(request)['http.response.status_code']], [2, 200]);
  equal([requests[0].path, requests[0].headers['content-type'], requests[0].headers.authorization], ['/v1/traces', 'application/json', 'Basic abc']);
  check(!JSON.stringify(requests).includes('secret-words'), 'what was said is in no span');
});

test('A request with a traceparent belongs to the trace of its client, and its turn to the request', async () => {
  const { url, until } = await collector();
  const server = await Server.start({ config: `[trace]\nendpoint = "${url}"\n` });
  const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  const headers = { traceparent: `00-${trace}-${span}-01` };
  await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 's', message: 'Hi' }, headers });
  await server.expect(200, 'POST', '/v1/chat/completions', { body: { model: 'default', messages: [{ role: 'user', content: 'Hi' }] }, headers });
  await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 's', message: 'Hi' }, headers: { traceparent: '00-not-one' } });
  const spans = await until((all) => named(all, 'invoke_agent').length === 3 && named(all, 'POST').length === 3);
  const ours = spans.filter((one) => one.traceId === trace);
  for (const name of ['POST /api/v1/turns', 'POST /v1/chat/completions']) {
    const [request] = named(ours, name);
    equal(request.parentSpanId, span);
    const [agent] = named(ours, 'invoke_agent').filter((one) => one.parentSpanId === request.spanId);
    check(agent, `the turn of ${name} is a child of it`);
    check(named(ours, 'chat').some((one) => one.parentSpanId === agent.spanId), 'and its model call a child of that');
  }
  equal(ours.length, 6);
});

test('A model that fails is a span that failed', async () => {
  const { url, until } = await collector();
  const config = await provider(() => ({ refused: 400 }));
  const server = await Server.start({ config: `${config}[trace]\nendpoint = "${url}"\n` });
  await server.call('POST', '/api/v1/turns', { body: { message: 'Hi' } });
  const spans = await until((all) => named(all, 'invoke_agent').length === 1);
  for (const span of [...named(spans, 'chat '), ...named(spans, 'invoke_agent')]) {
    equal(span.status.code, 2);
    check(attributes(span)['error.type'].length > 0, 'it says why');
  }
});

test('A batch that a collector cannot take now is sent again; one that is away costs nobody anything', async () => {
  const { url, until, requests } = await collector((number) => (number === 0 ? 503 : 200));
  const server = await Server.start({ config: `[trace]\nendpoint = "${url}"\n` });
  await server.expect(200, 'POST', '/api/v1/turns', { body: { message: 'Hi' } });
  await until((all) => named(all, 'invoke_agent').length === 1);
  equal(requests[0].status, 503);
  const alone = await Server.start({ config: '[trace]\nendpoint = "http://127.0.0.1:1/v1/traces"\n' });
  for (let i = 0; i < 20; i += 1) await alone.expect(200, 'POST', '/api/v1/turns', { body: { message: 'Hi' } });
  equal((await alone.stop()).code, 0);
});

test('What waits is sent when the server ends', async () => {
  const { url, until } = await collector();
  const server = await Server.start({ config: `[trace]\nendpoint = "${url}"\n` });
  await server.expect(200, 'POST', '/api/v1/turns', { body: { message: 'Hi' } });
  equal((await server.stop()).code, 0);
  await until((all) => named(all, 'invoke_agent').length === 1);
});

await run();
