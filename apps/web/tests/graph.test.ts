import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeGraph } from '../shared/graph.ts';

const nodes = (ids: string) => [...ids].map((id) => ({ id }));
const edges = (...pairs: string[]) => pairs.map((pair) => ({ from: pair[0]!, to: pair[1]! }));
const columns = (ids: string, ...pairs: string[]) => placeGraph(nodes(ids), edges(...pairs)).map((node) => `${node.id}${node.column}${node.row}`);

test('a node stands behind everything that leads to it', () => {
  assert.deepEqual(columns('abcd', 'ab', 'ac', 'bd', 'cd', 'ad'), ['a00', 'b10', 'c11', 'd20']);
});

test('a circle is laid out like a line', () => {
  assert.deepEqual(columns('abc', 'ab', 'bc', 'ca', 'aa'), ['a00', 'b10', 'c20']);
});

test('an edge to nowhere is passed over', () => {
  assert.deepEqual(columns('a', 'ax'), ['a00']);
});
