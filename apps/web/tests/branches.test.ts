import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alternativesAt, branchTrees, lineage } from '../shared/branches.ts';
import type { Branch } from '../shared/client.ts';

const branch = (id: string, messages: number, from?: [string, number], age = 0): Branch => ({
  id,
  messages,
  created_at: `2026-11-15T22:25:${String(age).padStart(2, '0')}Z`,
  last_activity: '',
  ...(from && { forked_from: { branch: from[0], at_index: from[1] } }),
});

const kAll = [
  branch('main', 6),
  branch('b', 6, ['main', 3], 2),
  branch('a', 6, ['main', 3], 1),
  // Forked from b at a message that b has from main: it stands beside a and b.
  branch('c', 8, ['b', 3], 3),
  branch('d', 9, ['c', 5], 4),
];

test('a message has the ways of all forks that leave before it', () => {
  assert.deepEqual(alternativesAt(kAll, 'main', 4), { branches: ['main', 'a', 'b', 'c'], current: 0 });
  assert.deepEqual(alternativesAt(kAll, 'c', 4), { branches: ['main', 'a', 'b', 'c'], current: 3 });
  assert.deepEqual(alternativesAt(kAll, 'd', 4), { branches: ['main', 'a', 'b', 'c'], current: 3 });
  assert.deepEqual(alternativesAt(kAll, 'd', 6), { branches: ['c', 'd'], current: 1 });
});

test('a message where nothing leaves has one way', () => {
  assert.deepEqual(alternativesAt(kAll, 'd', 2), { branches: ['main'], current: 0 });
  assert.deepEqual(alternativesAt(kAll, 'main', 0), { branches: ['main'], current: 0 });
});

test('a fork in which nothing was said yet is no way', () => {
  assert.deepEqual(alternativesAt([branch('main', 4), branch('new', 2, ['main', 1])], 'main', 2).branches, ['main']);
});

test('an original that ends where its forks leave is no way either', () => {
  const all = [branch('main', 2), branch('x', 4, ['main', 1], 1), branch('y', 4, ['main', 1], 2)];
  assert.deepEqual(alternativesAt(all, 'y', 2), { branches: ['x', 'y'], current: 1 });
});

test('the lineage of branches that descend from each other ends', () => {
  assert.equal(lineage([branch('x', 2, ['y', 0]), branch('y', 2, ['x', 0])], 'x').length, 3);
});

test('the tree has each branch once, below its parent', () => {
  const [root] = branchTrees(kAll);
  assert.deepEqual(root!.children.map((node) => node.branch.id), ['a', 'b']);
  assert.deepEqual(root!.children[1]!.children[0]!.children.map((node) => [node.branch.id, node.own]), [['d', 3]]);
});
