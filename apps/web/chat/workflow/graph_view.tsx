// The graph of a workflow, with what each node is doing.
import { useEffect, useState } from 'preact/hooks';
import type { WorkflowGraph } from '../../shared/client.ts';
import { placeGraph } from '../../shared/graph.ts';
import type { NodeRun, NodeState } from '../../shared/run_state.ts';
import { shortDuration } from '../../shared/words.ts';

const kWide = 164;
const kHigh = 58;
const kAcross = 232;
const kDown = 84;
const kEdge = 14;

type Doing = NodeState | 'speaking' | undefined;

const kWords: Record<NodeState | 'speaking', string> = {
  working: 'working',
  speaking: 'speaking',
  done: 'done',
  failed: 'failed',
  bypassed: 'passed over',
  waiting: 'waits for you',
};

export function GraphView({ graph, nodes, speaking }: { graph: WorkflowGraph; nodes: Readonly<Record<string, NodeRun>>; speaking: readonly string[] }) {
  const busy = Object.values(nodes).some((node) => node.state === 'working');
  const now = useClock(busy);
  const shown = graph.nodes.filter((node) => !node.internal);
  const placed = placeGraph(shown, graph.edges);
  const rows = Math.max(...placed.map((node) => node.row), 0) + 1;
  const inColumn = (column: number) => placed.filter((node) => node.column === column).length;
  // Each column stands in the middle.
  const x = (column: number) => column * kAcross + kEdge;
  const y = (node: { column: number; row: number }) => (node.row + (rows - inColumn(node.column)) / 2) * kDown + kEdge;
  const at = new Map(placed.map((node) => [node.id, node]));
  const back = graph.edges.some((edge) => (at.get(edge.from)?.column ?? 0) >= (at.get(edge.to)?.column ?? 0));
  const wide = Math.max(...placed.map((node) => node.column), 0) * kAcross + kWide + 2 * kEdge;
  const high = (rows - 1) * kDown + kHigh + 2 * kEdge + (back ? 36 : 0);
  const doing = (id: string): Doing => (speaking.includes(id) ? 'speaking' : nodes[id]?.state);
  const words = placed.map((node) => `${node.id}${doing(node.id) ? ` ${kWords[doing(node.id)!]}` : ''}`).join(', ');
  return (
    <div class="graph" tabIndex={0} role="img" aria-label={`The workflow: ${words}`}>
      <svg width={wide} height={high} viewBox={`0 0 ${wide} ${high}`} aria-hidden="true">
        <defs>
          <marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M1 1L9 5L1 9" class="arrow" />
          </marker>
        </defs>
        {graph.edges.map((edge, index) => {
          const [from, to] = [at.get(edge.from), at.get(edge.to)];
          if (!from || !to) return null;
          const lit = nodes[edge.from]?.state === 'done' && (nodes[edge.to]?.state === 'working' || nodes[edge.to]?.state === 'waiting');
          return (
            <g key={index} class="edge" data-lit={lit}>
              <path d={wayOf(x(from.column), y(from), x(to.column), y(to), high)} marker-end="url(#arrow)" />
              {edge.label && from.column < to.column && (
                <text x={(x(from.column) + kWide + x(to.column)) / 2} y={(y(from) + y(to) + kHigh) / 2 - 6} text-anchor="middle">
                  {edge.label.slice(0, 14)}
                </text>
              )}
            </g>
          );
        })}
        {placed.map((node) => {
          const run = nodes[node.id];
          const state = doing(node.id);
          const time = run ? run.spent + (run.since === undefined ? 0 : Math.max(0, now - run.since)) : 0;
          const under = state ? [kWords[state], time >= 1 && shortDuration(time), run && run.calls > 1 && `${run.calls} ×`].filter(Boolean).join(' · ') : node.kind;
          return (
            <g key={node.id} class="node-box" data-doing={state} data-node={node.id} transform={`translate(${x(node.column)} ${y(node)})`}>
              <rect width={kWide} height={kHigh} rx="12" />
              <text class="node-name" x={kWide / 2} y={25} text-anchor="middle">
                {node.id.length > 20 ? `${node.id.slice(0, 19)}…` : node.id}
              </text>
              <text class="node-state" x={kWide / 2} y={44} text-anchor="middle">
                {under}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

// From the right side of one box to the left side of another; back again below all of them.
function wayOf(x1: number, y1: number, x2: number, y2: number, high: number): string {
  if (x1 < x2) {
    const [begin, end, middle] = [x1 + kWide, x2 - 3, (x1 + kWide + x2) / 2];
    return `M${begin} ${y1 + kHigh / 2} C${middle} ${y1 + kHigh / 2} ${middle} ${y2 + kHigh / 2} ${end} ${y2 + kHigh / 2}`;
  }
  const low = high - 8;
  const [begin, end] = [x1 + kWide * 0.6, x2 + kWide * 0.4];
  return `M${begin} ${y1 + kHigh} C${begin} ${low} ${end} ${low} ${end} ${y2 + kHigh + 3}`;
}

// The time, while somebody works.
function useClock(running: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
