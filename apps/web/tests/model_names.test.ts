import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sameModel } from '../shared/model_names.ts';

test('a model is the same under the day of its version, and no other one', () => {
  assert.ok(sameModel('gpt-4o', 'gpt-4o-2024-08-06'));
  assert.ok(sameModel('claude-3-5-haiku-latest', 'claude-3-5-haiku-20241022'));
  assert.ok(!sameModel('gpt-4o', 'gpt-4o-mini'));
  assert.ok(!sameModel('gpt-4o', 'gpt-4o-mini-2024-07-18'));
});
