// Several agents on one conversation: how they hang together, and what they do while they do it.
import { Nothing, useLoaded, Waiting } from '../memory/loaded.tsx';
import { PageHead } from '../page_head.tsx';
import { subPage } from '../state/place.ts';
import { asking, server } from '../state/server.ts';
import './workflow.css';
import { WorkflowView } from './workflow_view.tsx';

export function WorkflowsPage() {
  const loaded = useLoaded(async () => (await asking(server.workflows())).workflows, []);
  const [chosen, run] = subPage.value;
  const list = loaded.value ?? [];
  const shown = chosen === undefined ? list[0] : list.find(({ id }) => id === chosen);
  return (
    <>
      <PageHead title={shown ? `Workflow: ${shown.name || shown.id}` : 'Workflows'} />
      <div class="page flows">
        <Waiting what="workflows" loaded={loaded}>
          {list.length === 0 && (
            <Nothing title="No workflows here yet.">
              A workflow lets several agents work on one conversation, one after the other or side by side. Put its file into the configuration, as <code>[workflows.NAME]</code>, and it is here.
            </Nothing>
          )}
          {list.length > 1 && (
            <nav class="tabs" aria-label="Workflows">
              {list.map(({ id, name }) => (
                <a key={id} href={`#/workflows/${encodeURIComponent(id)}`} aria-current={id === shown?.id ? 'page' : undefined}>
                  {name || id}
                </a>
              ))}
            </nav>
          )}
          {list.length > 0 && !shown && <Nothing title="This workflow is not here.">It may have been taken out of the configuration.</Nothing>}
          {shown?.error && (
            <p class="failed" role="alert">
              {shown.error.message}
            </p>
          )}
          {shown && !shown.error && <WorkflowView key={shown.id} workflow={shown} run={run} />}
        </Waiting>
      </div>
    </>
  );
}
