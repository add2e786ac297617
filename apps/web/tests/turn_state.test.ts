import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventKind, TurnEvent } from '../shared/client.ts';
import { applyEvent, finishWords, newTurn, openQuestions } from '../shared/turn_state.ts';

const event = (number: number, kind: EventKind, fields: Partial<TurnEvent> = {}): TurnEvent => ({
  turn: 't1',
  number,
  time: `2026-11-15T22:25:${String(number % 60).padStart(2, '0')}.000000Z`,
  kind,
  ...fields,
});
const play = (...events: TurnEvent[]) => events.reduce(applyEvent, newTurn());

test('deltas grow the open text, and its end closes it', () => {
  const turn = play(event(0, 'turn_started'), event(1, 'text_started'), event(2, 'text_delta', { text: 'Let ' }), event(3, 'text_delta', { text: 'me' }));
  assert.deepEqual(turn.blocks, [{ kind: 'text', text: 'Let me', open: true }]);
  assert.equal(turn.status, 'running');
  assert.deepEqual(applyEvent(turn, event(4, 'text_ended')).blocks, [{ kind: 'text', text: 'Let me', open: false }]);
});

test('an event that was seen before changes nothing', () => {
  const turn = play(event(1, 'text_delta', { text: 'a' }));
  assert.equal(applyEvent(turn, event(1, 'text_delta', { text: 'a' })), turn);
});

test('a reset takes back what was shown since the last model call, and only that', () => {
  const turn = play(
    event(0, 'iteration', { index: 0 }),
    event(1, 'tool_call_started', { index: 0, name: 'add', call_id: 'c' }),
    event(2, 'tool_call_result', { index: 0, name: 'add', call_id: 'c', text: '30', data: { outcome: 'ok' } }),
    event(3, 'iteration', { index: 1 }),
    event(4, 'text_delta', { text: 'The resu' }),
    event(1_048_576, 'reset', { text: 'the connection broke' }),
    event(1_048_577, 'text_delta', { text: 'It is 30.' }),
  );
  assert.deepEqual(turn.blocks.map((block) => block.kind), ['tool', 'text']);
  assert.equal(turn.blocks[1]!.kind === 'text' && turn.blocks[1]!.text, 'It is 30.');
});

test('results find their calls, whatever order they come in', () => {
  const turn = play(
    event(0, 'tool_call_started', { index: 0, name: 'a', call_id: 'same' }),
    event(1, 'tool_call_started', { index: 1, name: 'b', call_id: 'same' }),
    event(2, 'tool_call_arguments', { index: 1, call_id: 'same', text: '{"x":1}' }),
    event(3, 'tool_call_result', { index: 1, name: 'b', call_id: 'same', text: 'second', data: { outcome: 'error' } }),
    event(5, 'tool_call_result', { index: 0, name: 'a', call_id: 'same', text: 'first' }),
  );
  const [a, b] = turn.blocks;
  assert.ok(a?.kind === 'tool' && b?.kind === 'tool');
  assert.deepEqual([a.outcome, a.output, b.outcome, b.output, b.args], ['ok', 'first', 'error', 'second', '{"x":1}']);
  assert.equal(b.endedAt! - b.startedAt!, 2000);
});

test('a question is open until it is answered', () => {
  const asked = play(
    event(0, 'tool_call_started', { index: 0, name: 'mail', call_id: 'c' }),
    event(1, 'permission_asked', { index: 0, name: 'mail', data: { kind: 'permission', class: 'unsafe', arguments: { to: 'ana' } } }),
  );
  assert.deepEqual(openQuestions(asked).map((tool) => [tool.tool, tool.args]), [['mail', '{"to":"ana"}']]);
  assert.deepEqual(openQuestions(applyEvent(asked, event(2, 'permission_given', { index: 0, name: 'once' }))), []);
});

test('what a server wants to know is kept apart from what its tool was given', () => {
  const schema = { type: 'object', properties: { day: { type: 'string' } } };
  const asked = play(
    event(0, 'tool_call_started', { index: 0, name: 'book', call_id: 'c' }),
    event(1, 'tool_call_arguments', { index: 0, call_id: 'c', text: '{"people":2}' }),
    event(2, 'permission_asked', { index: 0, name: 'elicitation', call_id: 'turn/0/9f3c', data: { kind: 'elicitation', text: 'Which day?', schema } }),
  );
  const [tool] = openQuestions(asked);
  assert.deepEqual([tool?.tool, tool?.args, tool?.wanted], ['book', '{"people":2}', { part: '9f3c', text: 'Which day?', schema }]);
});

test('a result of a call that was not announced makes its own card', () => {
  const turn = play(event(7, 'tool_call_result', { index: 3, name: 'add', call_id: 'c', text: '30' }));
  assert.equal(turn.blocks[0]?.kind === 'tool' && turn.blocks[0].tool, 'add');
});

test('the end of a turn is told', () => {
  assert.equal(play(event(0, 'turn_committed', { index: 17 })).revision, 17);
  const failed = play(event(0, 'turn_failed', { name: 'model_unavailable', text: 'no answer' }));
  assert.deepEqual([failed.status, failed.code, failed.reason], ['failed', 'model_unavailable', 'no answer']);
  assert.equal(play(event(0, 'turn_interrupted', { text: 'cancelled' })).status, 'interrupted');
});

test('what is told beside an answer stays when the answer goes on, each once', () => {
  const turn = play(
    event(0, 'warning', { name: 'turn_set_aside', text: 'the message before this one stays without an answer' }),
    event(1, 'context_degraded', { name: 'episodes', text: 'it took too long' }),
    event(2, 'text_started'),
    event(3, 'text_delta', { text: 'Yes.' }),
    event(4, 'context_degraded', { name: 'episodes', text: 'it took too long' }),
    event(5, 'turn_committed', { index: 3 }),
  );
  assert.deepEqual(turn.warnings, ['the message before this one stays without an answer', 'Not everything that is remembered could be used (episodes): it took too long']);
  assert.match(finishWords('length')!, /longest/);
  assert.equal(finishWords('stop'), undefined);
});
