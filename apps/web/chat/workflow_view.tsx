// One workflow: its graph, a message to begin it with, and what its participants do, as it happens.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TertuliaError, TurnEvent, Workflow } from '../shared/client.ts';
import { placeGraph } from '../shared/graph.ts';
import { Prose } from './answer.tsx';
import { asking, server } from './state/server.ts';
import { say } from './state/toasts.ts';

type Doing = 'working' | 'done' | 'failed' | 'bypassed';

interface Line {
  who: string;
  text: string;
}

const kWide = 150;
const kHigh = 44;
const kAcross = 210;
const kDown = 70;

export function WorkflowView({ workflow }: { workflow: Workflow }) {
  const [whole, setWhole] = useState(workflow);
  const [doing, setDoing] = useState<Record<string, Doing>>({});
  const [lines, setLines] = useState<Line[]>([]);
  const [running, setRunning] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const left = useRef(new AbortController());
  useEffect(() => {
    asking(server.workflow(workflow.id)).then(setWhole, () => {});
    return () => left.current.abort();
  }, []);
  const hear = (event: TurnEvent) => {
    const who = event.name ?? '';
    const state = kStates[event.kind];
    if (state) setDoing((before) => ({ ...before, [who]: state }));
    const text = event.kind === 'workflow_output' || event.kind === 'workflow_intermediate' ? wordsOf(event.data) : event.text;
    if (text && kTold.has(event.kind)) setLines((before) => [...before, { who, text }]);
  };
  const run = async (event: Event) => {
    event.preventDefault();
    const message = field.current!.value.trim();
    if (!message || running) return;
    setRunning(true);
    setDoing({});
    setLines([{ who: 'You', text: message }]);
    try {
      for await (const one of server.runWorkflow(workflow.id, { message }, { signal: left.current.signal })) hear(one);
      field.current!.value = '';
    } catch (problem) {
      if (!left.current.signal.aborted) say((problem as TertuliaError).message, 'bad');
    } finally {
      setRunning(false);
    }
  };
  return (
    <section class="workflow">
      <h2>{whole.name || whole.id}</h2>
      {whole.description && <p class="hint">{whole.description}</p>}
      {whole.graph && <Graph graph={whole.graph} doing={doing} />}
      <form class="memory-search" onSubmit={(event) => void run(event)}>
        <input ref={field} placeholder="What should they work on?" aria-label="Message to the workflow" disabled={running} />
        <button type="submit" class="solid" disabled={running}>
          {running ? 'Running…' : 'Run'}
        </button>
      </form>
      <ul class="cards" aria-live="polite">
        {lines.map((line, index) => (
          <li key={index}>
            <small>{line.who}</small>
            <Prose text={line.text} streaming={false} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const kStates: Partial<Record<TurnEvent['kind'], Doing>> = {
  executor_invoked: 'working',
  executor_completed: 'done',
  executor_failed: 'failed',
  executor_bypassed: 'bypassed',
};
const kTold = new Set<TurnEvent['kind']>(['workflow_output', 'workflow_intermediate', 'executor_failed', 'workflow_failed', 'warning', 'error', 'text_delta']);

function wordsOf(data: unknown): string {
  if (typeof data === 'string') return data;
  const text = data && typeof data === 'object' ? (data as { text?: unknown }).text : undefined;
  return typeof text === 'string' ? text : JSON.stringify(data ?? '');
}

function Graph({ graph, doing }: { graph: NonNullable<Workflow['graph']>; doing: Record<string, Doing> }) {
  const placed = placeGraph(graph.nodes, graph.edges);
  const at = new Map(placed.map((node) => [node.id, node]));
  const wide = Math.max(...placed.map((node) => node.column), 0) * kAcross + kWide + 20;
  const high = Math.max(...placed.map((node) => node.row), 0) * kDown + kHigh + 20;
  const words = placed.map((node) => `${node.name || node.id}${doing[node.id] ? ` (${doing[node.id]})` : ''}`).join(', ');
  return (
    <div class="graph" tabIndex={0} role="img" aria-label={`The workflow: ${words}`}>
      <svg width={wide} height={high} viewBox={`0 0 ${wide} ${high}`}>
        {graph.edges.map((edge, index) => {
          const from = at.get(edge.from);
          const to = at.get(edge.to);
          if (!from || !to) return null;
          const [x1, y1] = [from.column * kAcross + kWide + 10, from.row * kDown + kHigh / 2 + 10];
          const [x2, y2] = [to.column * kAcross + 10, to.row * kDown + kHigh / 2 + 10];
          return <path key={index} d={`M${x1} ${y1} C${x1 + 35} ${y1} ${x2 - 35} ${y2} ${x2} ${y2}`} />;
        })}
        {placed.map((node) => (
          <g key={node.id} data-doing={doing[node.id]} transform={`translate(${node.column * kAcross + 10} ${node.row * kDown + 10})`}>
            <rect width={kWide} height={kHigh} rx="10" />
            <text x={kWide / 2} y={kHigh / 2 + 5} text-anchor="middle">
              {(node.name || node.id).slice(0, 20)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
