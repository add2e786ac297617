import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, saidOf, textFileOf, textFilePart, textOf } from '../shared/blocks.ts';
import type { Message, Part } from '../shared/client.ts';
import { grouped } from '../chat/state/session_list.ts';
import { titleFrom } from '../shared/words.ts';

const message = (role: Message['role'], parts: Part[]): Message => ({
  id: 'm', role, time: '', origin: 'model', parts, index: 0, revision: 1, turn: 't',
});

test('calls with the same id take their results in order', () => {
  const call: Part = { kind: 'tool_call', tool: 'add', call_id: 'same', arguments: { a: 1 } };
  const result = (output: string): Message => message('tool', [{ kind: 'tool_result', tool: 'add', call_id: 'same', outcome: 'ok', output }]);
  const blocks = blocksOf(message('assistant', [call, call, call]), [result('first'), result('second')]);
  assert.deepEqual(blocks.map((block) => block.kind === 'tool' && block.output), ['first', 'second', undefined]);
});

test('arguments that were kept as text are shown as they were written', () => {
  const [block] = blocksOf(message('assistant', [{ kind: 'tool_call', tool: 'add', call_id: 'c', arguments_text: '{ "a": 1.50 }' }]));
  assert.equal(block?.kind === 'tool' && block.args, '{ "a": 1.50 }');
});

test('the text of a message with parts is that of its texts', () => {
  assert.equal(textOf(message('assistant', [{ kind: 'reasoning', text: 'hm' }, { kind: 'text', text: 'a' }, { kind: 'text', text: 'b' }])), 'a\n\nb');
});

test('a text file in a message is told from what was said, whatever stands in it', () => {
  for (const text of ['buy milk\n', '```\ncode\n```\n', '`````\n', '\n', 'File b.txt:\n\n```\nx\n```\n']) {
    const part = textFilePart('a.txt', text);
    assert.deepEqual(textFileOf(part), { name: 'a.txt', text });
    const whole = message('user', [{ kind: 'text', text: 'What is it?' }, part, { kind: 'image', media_type: 'image/png', asset: 'i' }]);
    assert.deepEqual(saidOf(whole), { said: 'What is it?', files: [part, whole.parts![2]] });
  }
  assert.equal(textFileOf({ kind: 'text', text: 'File it under:\n\n```\nthings\n``` and go' }), undefined);
});

test('the list shows pinned conversations first, one of each set of variants, and what matches', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  const session = (id: string, time: string, metadata: Record<string, string | boolean>) => ({
    id, revision: 1, status: 'active' as const, created_at: time, last_activity: time, metadata,
  });
  const all = [
    session('v2', '2026-11-15T11:00:00Z', { title: 'Sums, again', variant_of: 'v1' }),
    session('v1', '2026-11-15T10:00:00Z', { title: 'Sums' }),
    session('old', '2026-01-02T10:00:00Z', { title: 'Letters', pinned: true }),
  ];
  assert.deepEqual(grouped(all, '', now).map((group) => [group.name, group.sessions.map(({ id }) => id)]), [['Pinned', ['old']], ['Today', ['v2']]]);
  assert.deepEqual(grouped(all, 'LETT', now).map((group) => group.name), ['Pinned']);
});

test('a title is the first words of what was said', () => {
  assert.equal(titleFrom('  ## Hello\n\nworld '), 'Hello world');
  assert.equal(titleFrom('word '.repeat(40)).endsWith('…'), true);
  assert.equal(titleFrom('***'), 'New conversation');
});
