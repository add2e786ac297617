// go_on.mjs PROGRAM: a model that fails never stops a conversation.
import { check, endpoint, equal, provider, run, Server, test } from './support.mjs';

// Messages that follow one another without an answer arrive as the parts of one.
const lastWords = (request) => {
  const { content } = request.messages.at(-1);
  return typeof content === 'string' ? content : content.at(-1).text;
};

// Two endpoints: the agent's own, which fails as it is told to, and one that works.
const state = { refused: 401 };
const config = `${await provider(() => (state.refused ? { refused: state.refused } : ['Here again.']))}
[models.works]
provider = "openai-compatible"
model = "works-1"
base_url = "${await endpoint((request) => [`Heard ${lastWords(request)}.`])}"
key = "none"
`;
const server = await Server.start({ config });
const say = (status, session, message, more = {}) =>
  server.expect(status, 'POST', '/api/v1/turns', { body: { session, message, ...more } });
const texts = async (session) =>
  (await server.expect(200, 'GET', `/api/v1/sessions/${session}/messages`)).messages.map((message) => message.text);

for (const refused of [401, 500]) {
  test(`While the provider answers ${refused}, every message is taken, and one to another model is answered`, async () => {
    state.refused = refused;
    const session = `fails-${refused}`;
    const first = await server.call('POST', '/api/v1/turns', { body: { session, message: 'One' } });
    check(first.status >= 500, `${first.status} ${first.text}`);
    const second = await server.call('POST', '/api/v1/turns', { body: { session, message: 'Two' } });
    check(second.status >= 500 && !second.text.includes('interrupted turn'), second.text);
    // The one before is tried once more with the model that is chosen now.
    const third = await say(200, session, 'Three', { model: 'works' });
    equal(third.text, 'Heard Three.');
    equal(await texts(session), ['One', 'Two', 'Heard Two.', 'Three', 'Heard Three.']);
    equal((await server.expect(200, 'GET', `/api/v1/sessions/${session}/turns`)).interrupted, []);
  });
}

test('Whoever follows a message that stays without an answer is told so', async () => {
  state.refused = 401;
  await server.call('POST', '/api/v1/turns', { body: { session: 'told', message: 'One' } });
  const stream = await server.stream('POST', '/api/v1/turns', { body: { session: 'told', message: 'Two' } });
  const frames = await stream.all();
  const warning = frames.find((frame) => frame.event === 'warning')?.data;
  equal([warning?.name, warning?.data?.code], ['turn_set_aside', 'model_key']);
});

test('A turn that waits can be finished with another model', async () => {
  state.refused = 401;
  await server.call('POST', '/api/v1/turns', { body: { session: 'again', message: 'One' } });
  const done = await server.expect(200, 'POST', '/api/v1/sessions/again/resume', { body: { model: 'works' } });
  equal(done.text, 'Heard One.');
  equal(await texts('again'), ['One', 'Heard One.']);
});

test('Whoever wants it finished first is refused while it fails', async () => {
  state.refused = 401;
  await server.call('POST', '/api/v1/turns', { body: { session: 'first', message: 'One' } });
  const refused = await server.call('POST', '/api/v1/turns', { body: { session: 'first', message: 'Two', on_interrupted: 'finish' } });
  check(refused.status >= 500 && refused.text.includes('finish the interrupted turn'), refused.text);
  state.refused = 0;
  equal((await say(200, 'first', 'Three', { on_interrupted: 'finish' })).text, 'Here again.');
  equal(await texts('first'), ['One', 'Here again.', 'Three', 'Here again.']);
});

test('A message that waits says why, also after a restart, and what it failed with is kept beside it in the history', async () => {
  state.refused = 401;
  await server.call('POST', '/api/v1/turns', { body: { session: 'why', message: 'One' } });
  const listed = async () => (await server.expect(200, 'GET', '/api/v1/sessions/why/turns')).interrupted;
  const [before] = await listed();
  equal([before.cause?.code, before.input.map(({ text }) => text)], ['model_key', ['One']]);
  check(before.cause.message.length > 10, before.cause.message);
  // Set aside by the next message: the history says why it has no answer.
  await server.call('POST', '/api/v1/turns', { body: { session: 'why', message: 'Two' } });
  await say(200, 'why', 'Three', { model: 'works' });
  const { messages } = await server.expect(200, 'GET', '/api/v1/sessions/why/messages');
  equal(messages.map(({ text, unanswered }) => [text, unanswered?.code]), [['One', 'model_key'], ['Two', undefined], ['Heard Two.', undefined], ['Three', undefined], ['Heard Three.', undefined]]);
  check(messages[0].unanswered.message.length > 10, JSON.stringify(messages[0]));
  // And so does a copy of it.
  const copy = await server.call('GET', '/api/v1/sessions/why/export');
  check(copy.text.includes('"unanswered":{"code":"model_key"'), copy.text.slice(0, 500));
});

test('A message that nothing came of can be taken back; what tools did stays', async () => {
  state.refused = 401;
  await server.call('POST', '/api/v1/turns', { body: { session: 'back', message: 'One' } });
  const gone = await server.expect(200, 'POST', '/api/v1/sessions/back/resume', { body: { on_interrupted: 'discard' } });
  equal([gone.status, gone.reason, gone.messages], ['interrupted', 'discarded', []]);
  equal((await server.expect(200, 'GET', '/api/v1/sessions/back/turns')).interrupted, []);
  equal(await texts('back'), []);
  equal((await server.call('POST', '/api/v1/sessions/back/resume', { body: { on_interrupted: 'discard' } })).status, 409);
  // With the next message: only that one is in the history.
  await server.call('POST', '/api/v1/turns', { body: { session: 'back', message: 'Two' } });
  await say(200, 'back', 'Three', { model: 'works', on_interrupted: 'discard' });
  equal(await texts('back'), ['Three', 'Heard Three.']);
  const stream = await server.stream('POST', '/api/v1/turns', { body: { session: 'back', message: 'Four' } });
  await stream.all();
  const discarded = await (await server.stream('POST', '/api/v1/sessions/back/resume', { body: { on_interrupted: 'discard' } })).all();
  equal(discarded.at(-1).event, 'outcome');
  check(discarded.some(({ event, data }) => event === 'turn_interrupted' && data.text === 'discarded'), JSON.stringify(discarded));
});

test('The chat of other libraries goes on as well', async () => {
  state.refused = 401;
  const chat = (id, text, more = {}) => server.call('POST', '/api/v1/ui/chat', { body: { id, messages: [{ role: 'user', parts: [{ type: 'text', text }] }], ...more } });
  const first = await chat('ui', 'One');
  check(first.text.includes('error'), first.text);
  state.refused = 0;
  const second = await chat('ui', 'Two');
  check(second.text.includes('Here again.'), second.text);
});

test('Every other door says the cause as well, and takes the next message', async () => {
  const kept = await server.expect(200, 'POST', '/v1/conversations', { body: {} });
  const doors = {
    'AG-UI': (text) => server.call('POST', '/api/v1/ag-ui', { body: { threadId: 'agui', runId: `r-${text}`, state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: `m-${text}`, role: 'user', content: text }] } }),
    responses: (text) => server.call('POST', '/v1/responses', { body: { model: 'default', input: text, conversation: kept.id } }),
    'chat completions': (text) => server.call('POST', '/v1/chat/completions', { headers: { 'Tertulia-Session': 'chat' }, body: { model: 'default', messages: [{ role: 'user', content: text }] } }),
    'a streamed chat': (text) => server.call('POST', '/v1/chat/completions', { headers: { 'Tertulia-Session': 'streamed' }, body: { model: 'default', stream: true, messages: [{ role: 'user', content: text }] } }),
    useChat: (text) => server.call('POST', '/api/v1/ui/chat', { body: { id: 'ui-cause', messages: [{ role: 'user', parts: [{ type: 'text', text }] }] } }),
  };
  for (const [name, say] of Object.entries(doors)) {
    state.refused = 401;
    const failed = await say('One');
    check(failed.text.includes('refused the key'), `${name}: ${failed.status} ${failed.text}`);
    state.refused = 0;
    const next = await say('Two');
    check(next.text.includes('Here again.'), `${name}: ${next.status} ${next.text}`);
  }
});

await run();
