import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOfId } from '../shared/message_time.ts';
import { factLines } from '../chat/memory/fact_lines.ts';
import { documentType } from '../chat/memory/upload.ts';

test('an id tells when it was made', () => {
  const bits = (BigInt(Date.parse('2026-11-15T22:25:14.123Z')) << 80n) | (7n << 76n) | 12345n;
  let text = '';
  for (let left = bits; text.length < 26; left /= 32n) text = '0123456789abcdefghjkmnpqrstvwxyz'[Number(left % 32n)] + text;
  assert.equal(timeOfId(text), Date.parse('2026-11-15T22:25:14.123Z'));
  assert.equal(timeOfId('user-123'), undefined);
});

test('facts stand with what they took the place of', () => {
  const fact = (id: string, from: string, until?: string, by?: string) => ({
    id, collection: 'user', text: id, writer: 'user:ana', valid_from: from, ...(until && { valid_until: until }), ...(by && { superseded_by: by }),
  });
  const { now, ended } = factLines([fact('lisbon', '2024', '2025', 'madrid'), fact('madrid', '2025', '2026', 'porto'), fact('porto', '2026'), fact('dog', '2023'), fact('job', '2020', '2021')]);
  assert.deepEqual(now.map((line) => [line.fact.id, line.before.map(({ id }) => id)]), [['porto', ['madrid', 'lisbon']], ['dog', []]]);
  assert.deepEqual(ended.map(({ id }) => id), ['job']);
});

test('what a document is, is told by its name where the browser does not know', () => {
  assert.equal(documentType('README.MD', ''), 'text/markdown');
  assert.equal(documentType('a.pdf', ''), 'application/pdf');
  assert.equal(documentType('notes', 'text/plain'), 'text/plain');
  assert.equal(documentType('a.docx', 'application/vnd.openxmlformats'), undefined);
});
