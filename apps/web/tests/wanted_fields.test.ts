import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf, fieldsOf } from '../shared/wanted_fields.ts';

test('each member of a schema is a field of its kind', () => {
  const fields = fieldsOf({
    properties: {
      day: { type: 'string', format: 'date', title: 'Day', description: 'When you come' },
      mail: { type: 'string', format: 'email' },
      page: { type: 'string', format: 'uri' },
      people: { type: 'integer', minimum: 1, maximum: 8, default: 2 },
      dog: { type: 'boolean', default: true },
      room: { type: 'string', enum: ['d', 's'], enumNames: ['Double', 'Single'] },
      view: { oneOf: [{ const: 'river', title: 'The river' }, { const: 'yard' }] },
      words: { type: 'string' },
    },
    required: ['day', 'people'],
  });
  assert.deepEqual(fields.map(({ name, type, required }) => [name, type, required]), [
    ['day', 'date', true], ['mail', 'email', false], ['page', 'url', false], ['people', 'integer', true],
    ['dog', 'boolean', false], ['room', 'choice', false], ['view', 'choice', false], ['words', 'text', false],
  ]);
  const [day, , , people, dog, room, view] = fields;
  assert.deepEqual([day!.title, day!.hint, people!.least, people!.most, people!.given, dog!.given], ['Day', 'When you come', 1, 8, '2', 'yes']);
  assert.deepEqual(room!.choices, [{ value: 'd', title: 'Double' }, { value: 's', title: 'Single' }]);
  assert.deepEqual(view!.choices, [{ value: 'river', title: 'The river' }, { value: 'yard', title: 'yard' }]);
});

test('an answer has the types of the schema, and what it was given at first', () => {
  const fields = fieldsOf({ properties: { day: { type: 'string' }, people: { type: 'integer', default: 2 }, dog: { type: 'boolean' }, note: { type: 'string' } } });
  assert.deepEqual(answerOf(fields, new Map([['day', 'Monday']])), { day: 'Monday', people: 2, dog: false });
  assert.deepEqual(answerOf(fields, new Map([['people', '4'], ['dog', 'yes'], ['note', '']])), { people: 4, dog: true });
});

test('without members the answer is one text', () => {
  const fields = fieldsOf(undefined);
  assert.deepEqual(fields.map(({ name, type, required }) => [name, type, required]), [['answer', 'text', true]]);
  assert.deepEqual(answerOf(fields, new Map([['answer', 'yes']])), { answer: 'yes' });
});
