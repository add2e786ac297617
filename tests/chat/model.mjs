// A provider for tests: speaks the chat protocol of OpenAI over HTTP, and says what it is told to.
//
// The last message of the user chooses what is said. A reply is a list of steps:
//   { text: [piece, …] }          streamed piece by piece
//   { call: [name, arguments] }   a tool call
//   { hold: 'name' }              waits until release('name')
//   { fail: 401, until: 'name' }  is refused so until release('name'); the first step
import { createServer } from 'node:http';

export async function startModel(replies) {
  const waiting = new Map();
  const released = new Set();
  const requests = [];

  const hold = (name) => released.has(name) ? Promise.resolve() : new Promise((go) => {
    waiting.set(name, [...(waiting.get(name) ?? []), go]);
  });

  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', async () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      requests.push({ ...body, path: request.url });
      const textOf = (message) => typeof message.content === 'string' ? message.content
        : (message.content ?? []).map((part) => part.text ?? '').join('');
      const lastUser = body.messages.map((m) => m.role).lastIndexOf('user');
      const answered = body.messages.slice(lastUser + 1).some((m) => m.role === 'tool');
      const said = textOf(body.messages[lastUser]);
      const reply = replies[said] ?? { first: [{ text: [`You said: ${said}`] }] };
      const steps = answered ? reply.then ?? [{ text: ['Done.'] }] : reply.first;
      if (steps[0].fail && !released.has(steps[0].until)) {
        response.writeHead(steps[0].fail, { 'content-type': 'application/json' });
        response.end('{"error":{"message":"no"}}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = (delta, finish = null) => response.write(
        `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: body.model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      let calls = 0;
      for (const step of steps) {
        if (step.hold) await hold(step.hold);
        for (const piece of step.text ?? []) send({ content: piece });
        if (step.call) {
          const [name, args] = step.call;
          send({ tool_calls: [{ index: calls, id: `call_${calls}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
          calls += 1;
        }
      }
      send({}, calls > 0 ? 'tool_calls' : 'stop');
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    release(name) {
      released.add(name);
      for (const go of waiting.get(name) ?? []) go();
    },
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
