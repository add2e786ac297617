// Where the boxes of a graph stand: in columns, each behind everything that leads to it. Edges that lead back do not count.
export interface GraphNode {
  id: string;
  name?: string;
  kind?: string;
}
export interface GraphEdge {
  from: string;
  to: string;
  label?: string;
}
export interface Placed extends GraphNode {
  column: number;
  row: number;
}

export function placeGraph(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Placed[] {
  const known = new Set(nodes.map((node) => node.id));
  const forward = forwardEdges(nodes, edges.filter((edge) => known.has(edge.from) && known.has(edge.to)));
  const column = new Map(nodes.map((node) => [node.id, 0]));
  // Without circles, as many rounds as there are nodes are enough.
  for (let round = 0; round < nodes.length; ++round) {
    for (const { from, to } of forward) column.set(to, Math.max(column.get(to)!, column.get(from)! + 1));
  }
  const rows = new Map<number, number>();
  return nodes.map((node) => {
    const at = column.get(node.id)!;
    const row = rows.get(at) ?? 0;
    rows.set(at, row + 1);
    return { ...node, column: at, row };
  });
}

// The edges without those that close a circle, seen from the first nodes on.
function forwardEdges(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphEdge[] {
  const state = new Map<string, 'open' | 'done'>();
  const kept: GraphEdge[] = [];
  const visit = (id: string) => {
    state.set(id, 'open');
    for (const edge of edges) {
      if (edge.from !== id) continue;
      const there = state.get(edge.to);
      if (there === 'open') continue;
      kept.push(edge);
      if (!there) visit(edge.to);
    }
    state.set(id, 'done');
  };
  for (const node of nodes) if (!state.has(node.id)) visit(node.id);
  return kept;
}
