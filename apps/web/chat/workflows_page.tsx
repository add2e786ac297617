// Several agents on one conversation: how they hang together, and what they do while they do it.
import { useEffect, useState } from 'preact/hooks';
import type { TertuliaError, Workflow } from '../shared/client.ts';
import { PageHead } from './page_head.tsx';
import { asking, server } from './state/server.ts';
import { WorkflowView } from './workflow_view.tsx';

export function WorkflowsPage() {
  const [workflows, setWorkflows] = useState<Workflow[]>();
  const [problem, setProblem] = useState<TertuliaError>();
  const [chosen, setChosen] = useState<string>();
  useEffect(() => {
    asking(server.workflows()).then((page) => setWorkflows(page.workflows), setProblem);
  }, []);
  const shown = workflows?.find((workflow) => workflow.id === chosen) ?? workflows?.[0];
  return (
    <>
      <PageHead title="Workflows" />
      <div class="page">
        {!workflows && !problem && <p class="hint" aria-busy="true">Reading…</p>}
        {(problem || workflows?.length === 0) && (
          <section class="welcome">
            <p class="greeting">{problem && problem.code !== 'no_route' ? 'That did not work.' : 'No workflows here yet.'}</p>
            <p class="under">
              {problem && problem.code !== 'no_route'
                ? problem.message
                : 'Workflows let several agents work on one conversation, one after the other or side by side. This server has none.'}
            </p>
          </section>
        )}
        {workflows && workflows.length > 1 && (
          <div class="calls" role="group" aria-label="Workflows">
            {workflows.map((workflow) => (
              <button key={workflow.id} type="button" aria-pressed={workflow === shown} onClick={() => setChosen(workflow.id)}>
                {workflow.name || workflow.id}
              </button>
            ))}
          </div>
        )}
        {shown && <WorkflowView key={shown.id} workflow={shown} />}
      </div>
    </>
  );
}
