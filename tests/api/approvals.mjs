// approvals.mjs PROGRAM: what a person says to a call that must be allowed, in the protocols of pages.
import { check, equal, run, Server, test } from './support.mjs';

// The model of the program itself: its turn is over a moment after the answer.
const config = `
[agents.default]
tools = ["calculator"]
permissions = { read_only = "ask" }
`;

const framesOf = (text) => text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));

async function agUi(server, threadId, more = {}) {
  const messages = [{ id: '1', role: 'user', content: 'What is 2+3?' }];
  return server.call('POST', '/api/v1/ag-ui', { body: { threadId, runId: `run-${Math.random()}`, messages, tools: [], ...more } });
}

async function asked(server, threadId) {
  const { outcome } = framesOf((await agUi(server, threadId)).text).at(-1);
  equal(outcome?.type, 'interrupt');
  return outcome.interrupts[0].id;
}

test('Whoever answers is told the rest of the turn, however soon it is over', async () => {
  const server = await Server.start({ config });
  for (let i = 0; i < 5; i += 1) {
    const interruptId = await asked(server, `s${i}`);
    // The same answer many times: the turn is over before the last of them has been read.
    const resume = Array.from({ length: 2000 }, () => ({ interruptId, status: 'resolved', payload: { approved: true } }));
    const rest = await agUi(server, `s${i}`, { resume });
    equal(rest.status, 200, rest.text);
    equal(framesOf(rest.text).at(-1).outcome.type, 'success');
    check(/TOOL_CALL_RESULT/.test(rest.text), rest.text);
  }
});

test('A page with useChat is told it as well', async () => {
  const server = await Server.start({ config });
  for (let i = 0; i < 5; i += 1) {
    const user = { id: '1', role: 'user', parts: [{ type: 'text', text: 'What is 2+3?' }] };
    const first = await server.call('POST', '/api/v1/ui/chat', { body: { id: `s${i}`, messages: [user] } });
    const wanted = framesOf(first.text).find((frame) => frame.type === 'tool-approval-request');
    const part = { type: 'dynamic-tool', toolName: 'calculator', toolCallId: wanted.toolCallId, state: 'approval-responded', input: {}, approval: { id: wanted.approvalId, approved: true } };
    const rest = await server.call('POST', '/api/v1/ui/chat', { body: { id: `s${i}`, messages: [user, { id: '2', role: 'assistant', parts: Array(2000).fill(part) }] } });
    equal(rest.status, 200, rest.text);
    equal(framesOf(rest.text).at(-1).type, 'finish');
  }
});

test('Only a plain yes lets a call run; what is neither yes nor no is refused, and the question stays', async () => {
  const server = await Server.start({ config });
  const resume = async (thread, interruptId, payload, status = 'resolved') => agUi(server, thread, { resume: [{ interruptId, status, payload }] });
  const id = await asked(server, 's');
  for (const payload of [{ approved: 'no' }, { approved: 'yes' }, { approve: false }, { approve: true }, {}, 'no', 'yes', null, 1, [], { approved: null }, { approved: 1 }, undefined]) {
    const refused = await resume('s', id, payload);
    equal([refused.status, refused.json?.error.param], [400, 'resume.payload'], JSON.stringify(payload));
  }
  equal((await resume('s', id, { approved: true }, 'agreed')).json?.error.param, 'resume.status');
  equal((await server.expect(200, 'GET', '/api/v1/questions')).questions.length, 1);
  // One answer that cannot be read, and none of them is given.
  const both = await agUi(server, 's', { resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }, { interruptId: id, status: 'resolved', payload: 'no' }] });
  equal(both.status, 400);
  equal((await server.expect(200, 'GET', '/api/v1/questions')).questions.length, 1);
  for (const [thread, payload, ran] of [['yes', true, true], ['yes2', { approved: true }, true], ['no', false, false], ['no2', { approved: false }, false]]) {
    const told = (await resume(thread, await asked(server, thread), payload)).text;
    const { content } = framesOf(told).find((frame) => frame.type === 'TOOL_CALL_RESULT');
    equal(content === '5', ran, `${thread}: ${content}`);
  }
  const cancelled = framesOf((await resume('off', await asked(server, 'off'), { approved: true }, 'cancelled')).text);
  check(cancelled.find((frame) => frame.type === 'TOOL_CALL_RESULT').content !== '5', 'a cancelled interrupt ran the tool');
});

test('AG-UI refuses what it cannot read instead of passing it over', async () => {
  const server = await Server.start({ config });
  const param = async (more) => {
    const refused = await agUi(server, 's', more);
    return [refused.status, refused.json?.error.param];
  };
  equal(await param({ messages: ['hello', { id: '1', role: 'user', content: 'hi' }] }), [400, 'messages[0]']);
  equal(await param({ forwardedProps: 'asking' }), [400, 'forwardedProps']);
  equal(await param({ runId: 'r'.repeat(129) }), [400, 'runId']);
  await server.expect(404, 'GET', '/api/v1/sessions/s');
});

await run();
