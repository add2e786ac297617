// Beside a run: how far it is, the checkpoints that one can go another way from, and the runs before it.
import type { Checkpoint, Run, RunStatus } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import { clockTime, shortDuration } from '../../shared/words.ts';
import { useLoaded, Waiting } from '../memory/loaded.tsx';
import { trying } from '../state/place.ts';
import { asking, server } from '../state/server.ts';
import { sessions, titleOf } from '../state/session_list.ts';
import type { FollowedRun } from './followed_run.ts';

const kTone: Record<RunStatus, string> = { running: '', waiting: 'warn', completed: 'good', cancelled: '', failed: 'bad' };
const kWords: Record<RunStatus, string> = { running: 'running', waiting: 'waits for you', completed: 'completed', cancelled: 'stopped', failed: 'failed' };

export const StatusBadge = ({ status }: { status: RunStatus }) => <span class={`badge ${kTone[status]}`}>{kWords[status] ?? status}</span>;

export function ThisRun({ here, fork }: { here: FollowedRun; fork: (checkpoint: string) => void }) {
  const { status, steps, nodes, began, ended } = here.state.value;
  const running = here.following.value && status === 'running';
  const spent = Object.entries(nodes).filter(([, node]) => node.spent >= 1);
  const longest = Math.max(...spent.map(([, node]) => node.spent), 1);
  return (
    <section aria-label="This run">
      <h2>
        This run <StatusBadge status={status} />
      </h2>
      <p class="hint">
        {steps} {steps === 1 ? 'step' : 'steps'} kept
        {began !== undefined && ended !== undefined && <>, {shortDuration(ended - began)}</>}
      </p>
      {spent.length > 0 && (
        <ul class="timings" aria-label="Time of each participant">
          {spent.map(([id, node]) => (
            <li key={id}>
              <span>{id}</span>
              <span class="timing-bar">
                <span style={{ width: `${(100 * node.spent) / longest}%` }} />
              </span>
              <span>{shortDuration(node.spent)}</span>
            </li>
          ))}
        </ul>
      )}
      {running && (
        <button type="button" class="plain small" onClick={() => trying(here.cancel())}>
          <Icon name="stop" size={16} /> Stop the run
        </button>
      )}
      {!running && here.run.value && (status === 'cancelled' || status === 'running') && (
        <button type="button" class="plain small" onClick={() => trying(here.resume())}>
          <Icon name="retry" size={16} /> Resume the run
        </button>
      )}
      {here.run.value && <Checkpoints here={here} steps={steps} fork={fork} />}
    </section>
  );
}

function Checkpoints({ here, steps, fork }: { here: FollowedRun; steps: number; fork: (checkpoint: string) => void }) {
  const run = here.run.value!;
  const loaded = useLoaded(async () => (await asking(server.checkpoints(here.workflow, run))).checkpoints, [run, steps, here.state.value.status]);
  const list = [...(loaded.value ?? [])].reverse();
  if (list.length === 0) return null;
  return (
    <>
      <h3>Checkpoints</h3>
      <ol class="checkpoints" aria-label="Checkpoints">
        {list.map((checkpoint) => (
          <li key={checkpoint.id}>
            <span>
              {placeOf(checkpoint)} <small>{new Date(checkpoint.time).toLocaleTimeString()}</small>
            </span>
            <button type="button" class="plain small" aria-label={`Go on from here: ${placeOf(checkpoint)}`} title="A new run goes on from here; this one stays" onClick={() => fork(checkpoint.id)}>
              <Icon name="branch" size={14} /> Go on from here
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}

function placeOf(checkpoint: Checkpoint): string {
  if (checkpoint.status === 'failed') return 'where it failed';
  if (checkpoint.superstep === 0) return 'at the start';
  if (checkpoint.status === 'waiting') return `at the question of step ${checkpoint.superstep}`;
  return `after step ${checkpoint.superstep}`;
}

export function PastRuns({ workflow, current, status }: { workflow: string; current: string | undefined; status: RunStatus | undefined }) {
  const loaded = useLoaded(async () => (await asking(server.runs({}, workflow))).runs, [workflow, current, status]);
  const list = loaded.value ?? [];
  return (
    <section aria-label="Runs">
      <h2>Runs</h2>
      <Waiting what="runs" loaded={loaded}>
        {list.length === 0 && <p class="hint">Nobody has run it yet.</p>}
        <ul class="past-runs">
          {list.slice(0, 50).map((run) => (
            <li key={run.run} class={run.run === current ? 'here' : ''}>
              <a href={`#/workflows/${encodeURIComponent(workflow)}/${encodeURIComponent(run.run)}`} aria-current={run.run === current ? 'page' : undefined}>
                <span class="past-name">{nameOf(run)}</span>
                <span class="facts-line">
                  <span>{clockTime(run.started_at)}</span>
                  {run.forked_from && <span>a fork</span>}
                  {/* The one that is followed is known better than the list was when it was read. */}
                  <StatusBadge status={run.run === current && status ? status : run.status} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      </Waiting>
    </section>
  );
}

function nameOf(run: Run): string {
  const session = sessions.value.find((other) => other.id === run.session);
  return session ? titleOf(session) : `Run ${run.run.slice(-6)}`;
}

