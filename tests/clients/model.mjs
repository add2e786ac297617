// A model of the tests' own, behind the wire format that every provider speaks. What it says follows from what it is
// asked, so nothing depends on time:
//
//   … weather …    calls get_weather, if it is there
//   … two …        calls get_weather twice at once
//   … cut …        says "half ", and the connection breaks; says "whole" when it is asked again
//   … hold …       says "one two ", waits to be let go, says "three"
//   … add …        calls add, if it is there: a tool of the server
//   (a result)     "The tool says: …"
//   anything else  "You said: …", with the number of messages that the user has sent
import { createServer } from 'node:http';

const text = (message) =>
  typeof message.content === 'string' ? message.content : (message.content ?? []).map((part) => part.text ?? '').join('');

function reply({ messages, tools = [] }, state) {
  const last = messages.at(-1);
  if (last.role === 'tool') {
    const results = messages.slice(messages.findLastIndex((message) => message.role !== 'tool') + 1);
    return { words: ['The tool', ' says: ', results.map(text).join(' and ')] };
  }
  const said = text(last);
  const has = (name) => tools.some((tool) => tool.function.name === name);
  const call = (name, args, id) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } });
  if (/two/.test(said) && has('get_weather'))
    return { calls: [call('get_weather', { city: 'Lisbon' }, 'call_a'), call('get_weather', { city: 'Porto' }, 'call_b')] };
  if (/weather/.test(said) && has('get_weather')) return { calls: [call('get_weather', { city: 'Lisbon' }, 'call_w')] };
  if (/add/.test(said) && has('calculator')) return { calls: [call('calculator', { expression: '2+3' }, 'call_s')] };
  if (/cut/.test(said)) return { words: state.requests.filter((one) => text(one.messages.at(-1)) === said).length > 1 ? ['whole'] : ['half ', undefined] };
  if (/hold/.test(said)) return { words: ['one ', 'two ', null, 'three'] };
  const users = messages.filter((message) => message.role === 'user').length;
  return { words: ['You said: ', said, ` (${users})`] };
}

export async function startModel() {
  const state = { requests: [], waiting: [] };
  // Until it is let go, or whoever asked has gone: a server that was killed holds nobody up.
  const held = (response) => new Promise((resolve) => {
    state.waiting.push(resolve);
    response.once('close', () => {
      state.waiting = state.waiting.filter((one) => one !== resolve);
      resolve();
    });
  });
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const asked = JSON.parse(body);
    state.requests.push(asked);
    state.arrived?.();
    const { words = [], calls } = reply(asked, state);
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const head = { id: 'chatcmpl-1', created: 1, model: asked.model };
    if (!asked.stream) {
      const message = { role: 'assistant', content: calls ? null : words.filter(Boolean).join(''), ...(calls && { tool_calls: calls }) };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...head, object: 'chat.completion', usage, choices: [{ index: 0, message, finish_reason: calls ? 'tool_calls' : 'stop' }] }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const send = (delta, finish_reason = null, more = {}) =>
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
    send({ role: 'assistant', content: '' });
    for (const word of words) {
      if (word === undefined) return setTimeout(() => response.destroy(), 50);
      if (word === null) await held(response);
      else send({ content: word });
    }
    calls?.forEach((call, index) => send({ tool_calls: [{ index, ...call }] }));
    send({}, calls ? 'tool_calls' : 'stop', { usage });
    response.write('data: [DONE]\n\n');
    response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests: state.requests,
    // Lets go on whoever is held now, and waits until somebody is.
    async letGo() {
      while (state.waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      state.waiting.splice(0).forEach((resolve) => resolve());
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
