import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRunEvent, newRun, speakers, type RunState } from '../shared/run_state.ts';
import type { TurnEvent } from '../shared/client.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const play = (events: Partial<TurnEvent>[], from: RunState = newRun()): RunState =>
  events.reduce((state, event, index) => applyRunEvent(state, { turn: 't', number: state.last + 1, time: at(index), kind: 'warning', ...event } as TurnEvent), from);

test('two who speak at once keep their words apart', () => {
  const state = play([
    { kind: 'executor_invoked', name: 'a' },
    { kind: 'executor_invoked', name: 'b' },
    { kind: 'text_started', name: 'a' },
    { kind: 'text_started', name: 'b' },
    { kind: 'text_delta', name: 'a', text: 'one ' },
    { kind: 'text_delta', name: 'b', text: 'uno ' },
    { kind: 'text_delta', name: 'a', text: 'two' },
    { kind: 'text_ended', name: 'a' },
  ]);
  assert.deepEqual(state.lines.map(({ who, text, open }) => [who, text, open]), [['a', 'one two', false], ['b', 'uno ', true]]);
  assert.deepEqual(speakers(state), ['b']);
});

test('the time of a node is that of all its calls', () => {
  const state = play([
    { kind: 'executor_invoked', name: 'a', time: at(0) },
    { kind: 'executor_completed', name: 'a', time: at(2) },
    { kind: 'executor_invoked', name: 'a', time: at(5) },
    { kind: 'executor_completed', name: 'a', time: at(6) },
  ]);
  assert.deepEqual(state.nodes['a'], { state: 'done', calls: 2, spent: 3000 });
});

test('a reset of the run takes back what was not durable, one of a participant only its words', () => {
  const before = play([
    { kind: 'text_delta', name: 'a', text: 'kept' },
    { kind: 'text_ended', name: 'a' },
    { kind: 'superstep_completed', index: 1 },
    { kind: 'executor_invoked', name: 'b' },
    { kind: 'text_delta', name: 'b', text: 'half' },
  ]);
  assert.equal(before.steps, 1);
  const participant = play([{ kind: 'reset', name: 'b', text: 'again' }], before);
  assert.deepEqual(participant.lines.map((line) => line.text), ['kept']);
  assert.equal(participant.nodes['b']?.state, 'working');
  const run = play([{ kind: 'reset', text: 'the server was restarted' }], before);
  assert.deepEqual(run.lines.map((line) => line.text), ['kept']);
  assert.equal(run.nodes['b'], undefined);
  assert.equal(run.last, before.last + 1);
});

test('a question stays until its node goes on, and is listed once however often it is told', () => {
  const ask = { kind: 'request_info', name: 'a', call_id: '1.a.0', data: { kind: 'review', text: 'x' } } as const;
  const asked = play([{ kind: 'executor_invoked', name: 'a' }, ask, { kind: 'executor_completed', name: 'a' }, { kind: 'workflow_status', name: 'waiting' }, ask]);
  assert.deepEqual(asked.requests.map(({ id }) => id), ['1.a.0']);
  assert.equal(asked.nodes['a']?.state, 'waiting');
  assert.equal(asked.status, 'waiting');
  const answered = play([{ kind: 'executor_invoked', name: 'a' }], asked);
  assert.deepEqual([answered.requests.length, answered.status], [0, 'running']);
});

test('what comes out is shown unless somebody has just said it', () => {
  const said = play([{ kind: 'text_delta', name: 'a', text: 'Porto.' }, { kind: 'text_ended', name: 'a' }]);
  assert.equal(play([{ kind: 'workflow_output', name: 'a', data: 'Porto.' }], said).lines.length, 1);
  assert.equal(play([{ kind: 'workflow_output', name: 'a', data: [{ from: 'a', text: 'Porto.' }] }], said).lines.length, 1);
  assert.equal(play([{ kind: 'workflow_output', name: 'a', data: 'Lisbon.' }], said).lines.at(-1)?.kind, 'output');
});

test('events that came already are passed over', () => {
  const state = play([{ kind: 'text_delta', name: 'a', text: 'x' }]);
  assert.equal(applyRunEvent(state, { turn: 't', number: 0, time: at(1), kind: 'text_delta', name: 'a', text: 'x' }), state);
});
