// Where branches go different ways, for the switcher beside a message and for the tree.
import type { Branch } from './client.ts';

export interface Alternatives {
  // Branches that go on differently from the same message: the original, then its forks by age.
  branches: string[];
  // Which of them one is in.
  current: number;
}

// The branch, its parent, and so on.
export function lineage(branches: readonly Branch[], id: string): Branch[] {
  const byId = new Map(branches.map((branch) => [branch.id, branch]));
  const path: Branch[] = [];
  for (let branch = byId.get(id); branch && path.length <= branches.length; ) {
    path.push(branch);
    branch = branch.forked_from && byId.get(branch.forked_from.branch);
  }
  return path;
}

// The branch that has message `index` as its own, not from its parent.
function ownerOf(branches: readonly Branch[], id: string, index: number): Branch | undefined {
  return lineage(branches, id).find((branch) => !branch.forked_from || index > branch.forked_from.at_index);
}

// What else follows message `index` - 1: the ways that one can take at message `index` of branch `id`.
export function alternativesAt(branches: readonly Branch[], id: string, index: number): Alternatives {
  const here = ownerOf(branches, id, index);
  const alone = { branches: here ? [here.id] : [], current: 0 };
  if (!here || index < 1) return alone;
  const trunk = ownerOf(branches, id, index - 1);
  if (!trunk) return alone;
  const ways: Branch[] = [];
  if (trunk.messages > index || trunk.id === here.id) ways.push(trunk);
  const forks = branches.filter(
    (branch) =>
      branch.forked_from?.at_index === index - 1 &&
      branch.messages > index &&
      ownerOf(branches, branch.forked_from.branch, index - 1)?.id === trunk.id,
  );
  ways.push(...forks.sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id)));
  if (!ways.includes(here)) ways.push(here);
  return { branches: ways.map((branch) => branch.id), current: ways.indexOf(here) };
}

export interface TreeNode {
  branch: Branch;
  // Messages of its own.
  own: number;
  children: TreeNode[];
}

// The branches as trees, children by the place where they leave and then by age.
export function branchTrees(branches: readonly Branch[]): TreeNode[] {
  const nodes = new Map<string, TreeNode>();
  for (const branch of branches) {
    const shared = branch.forked_from ? branch.forked_from.at_index + 1 : 0;
    nodes.set(branch.id, { branch, own: Math.max(0, branch.messages - shared), children: [] });
  }
  const roots: TreeNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.branch.forked_from && nodes.get(node.branch.forked_from.branch);
    (parent ? parent.children : roots).push(node);
  }
  for (const node of nodes.values()) {
    node.children.sort(
      (a, b) =>
        a.branch.forked_from!.at_index - b.branch.forked_from!.at_index ||
        a.branch.created_at.localeCompare(b.branch.created_at),
    );
  }
  return roots;
}

export const branchName = (branch: Branch): string => branch.label || branch.id;
