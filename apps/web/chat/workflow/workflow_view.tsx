// One workflow: its graph, a run of it beside what is known of the run, and a place to begin another.
import { useEffect, useState } from 'preact/hooks';
import type { Workflow } from '../../shared/client.ts';
import { speakers } from '../../shared/run_state.ts';
import { Icon } from '../../shared/icons.tsx';
import { useLoaded, Waiting } from '../memory/loaded.tsx';
import { trying } from '../state/place.ts';
import { asking, server } from '../state/server.ts';
import { FollowedRun } from './followed_run.ts';
import { GraphView } from './graph_view.tsx';
import { PastRuns, ThisRun } from './run_side.tsx';
import { RunView } from './run_view.tsx';

const addressOf = (workflow: string, run?: string): string => `#/workflows/${encodeURIComponent(workflow)}${run ? `/${encodeURIComponent(run)}` : ''}`;

export function WorkflowView({ workflow, run }: { workflow: Workflow; run: string | undefined }) {
  const whole = useLoaded(() => asking(server.workflow(workflow.id)), [workflow.id]);
  const [here, setHere] = useState<FollowedRun>();
  const shownRun = here?.run.value;
  // The address says which run is looked at; one that was begun here says it to the address.
  useEffect(() => {
    if (shownRun !== undefined && shownRun !== run) location.hash = addressOf(workflow.id, shownRun);
  }, [shownRun]);
  useEffect(() => {
    if (run === here?.run.value) return;
    here?.leave();
    setHere(run === undefined ? undefined : opened(workflow.id, run));
  }, [run]);
  useEffect(() => () => here?.leave(), [here]);
  const begin = (message: string) => {
    const next = new FollowedRun(workflow.id);
    setHere(next);
    // A run that has ended is a conversation that can go on.
    void next.begin(message, here);
  };
  const fork = (checkpoint: string) => {
    const next = new FollowedRun(workflow.id);
    setHere(next);
    trying(next.fork(here!, checkpoint));
  };
  const state = here?.state.value;
  const speaking = state ? speakers(state) : [];
  const busy = !!here && (here.following.value || state?.status === 'waiting');
  return (
    <div class="workflow">
      <Waiting what="the workflow" loaded={whole}>
        {whole.value?.graph && <GraphView graph={whole.value.graph} nodes={state?.nodes ?? {}} speaking={speaking} />}
      </Waiting>
      {(workflow.warnings ?? []).map((warning) => (
        <p key={warning} class="hint">
          {warning}
        </p>
      ))}
      <p class="unseen" role="status" aria-live="polite">
        {speaking.length > 0 ? `${speaking.join(' and ')} ${speaking.length === 1 ? 'is' : 'are'} speaking.` : state && !here!.following.value ? `The run is ${state.status}.` : ''}
      </p>
      <div class="flow-columns">
        <div class="flow-main">
          {here && <RunView here={here} />}
          {!busy && <Begin key={shownRun ?? ''} goesOn={!!here} begin={begin} />}
        </div>
        <aside class="flow-side" aria-label="About the runs">
          {here && <ThisRun here={here} fork={fork} />}
          {here && (
            <a class="plain small" href={addressOf(workflow.id)}>
              <Icon name="plus" size={16} /> New run
            </a>
          )}
          <PastRuns workflow={workflow.id} current={shownRun} status={state?.status} />
        </aside>
      </div>
    </div>
  );
}

function opened(workflow: string, run: string): FollowedRun {
  const found = new FollowedRun(workflow);
  void found.watch(run);
  return found;
}

function Begin({ goesOn, begin }: { goesOn: boolean; begin: (message: string) => void }) {
  const [text, setText] = useState('');
  const words = goesOn ? 'Say more: another run goes on with this conversation' : 'What should they work on?';
  const send = () => text.trim() && begin(text.trim());
  return (
    <form class="flow-begin" onSubmit={(event) => (event.preventDefault(), send())}>
      <textarea
        rows={2}
        value={text}
        placeholder={words}
        aria-label="Message to the workflow"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <button type="submit" class="round" aria-label="Run" title="Run" disabled={!text.trim()}>
        <Icon name="send" />
      </button>
    </form>
  );
}
