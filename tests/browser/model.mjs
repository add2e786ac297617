// A model that says what a test tells it to, when the test tells it to: an HTTP server that speaks the protocol of chat
// completions. Nothing waits for a clock: a test lets each word out, so it knows what the page has been given.
import { createServer } from 'node:http';

export class Model {
  // What was asked, the latest last.
  asked = [];
  #plans = [];
  #waiting = [];

  async listen() {
    this.server = createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.address = `http://127.0.0.1:${this.server.address().port}/v1`;
    return this;
  }

  // The next answers, in order. A plan is a text; {calls: [{name, arguments}]}; {status}; a Speech; or a function of what is
  // asked that gives one of them. Without a plan the model repeats what it was told.
  plan(...plans) {
    this.#plans.push(...plans);
  }

  // The next answer, word by word: what it says before say() stays in the model.
  speech() {
    const speech = new Speech();
    this.#plans.push(speech);
    return speech;
  }

  // For a plan that is a function.
  aside() {
    return new Speech();
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #answer(request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    const asked = JSON.parse(body);
    this.asked.push(asked);
    const next = this.#plans.shift() ?? lastWords;
    const plan = typeof next === 'function' ? next(asked) : next;
    if (plan.status) {
      response.writeHead(plan.status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'the model is told to fail', type: 'server_error' } }));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (delta, finish = null) =>
      response.write(`data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', created: 1, model: asked.model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    send({ role: 'assistant', content: '' });
    if (plan instanceof Speech) {
      await plan.heard((text) => send({ content: text }));
      send({}, 'stop');
    } else if (plan.calls) {
      plan.calls.forEach((call, index) =>
        send({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } }] }),
      );
      send({}, 'tool_calls');
    } else {
      for (let at = 0; at < plan.length; at += 4000) send({ content: plan.slice(at, at + 4000) });
      send({}, 'stop');
    }
    response.end('data: [DONE]\n\n');
  }
}

class Speech {
  #listener;
  #said = [];
  #finish;
  #ended = new Promise((resolve) => (this.#finish = resolve));

  say(text) {
    if (this.#listener) this.#listener(text);
    this.#said.push(text);
    return this;
  }
  end() {
    this.#finish();
  }
  // A model that is asked again begins again.
  heard(listener) {
    this.#listener = listener;
    this.#said.forEach(listener);
    return this.#ended;
  }
}

function lastWords(asked) {
  const last = asked.messages.findLast((message) => message.role === 'user');
  const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content ?? '');
  return `You said: ${text}`;
}
