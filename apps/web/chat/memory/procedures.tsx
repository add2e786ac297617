// How agents do things: what was written for them, and what they learned, which no model sees before a person approves it.
import { Icon } from '../../shared/icons.tsx';
import { clockTime } from '../../shared/words.ts';
import { ask } from '../dialogs.tsx';
import { trying } from '../state/place.ts';
import { agents, asking, server } from '../state/server.ts';
import { say } from '../state/toasts.ts';
import { approveProcedure, forgetProcedure, procedures, type AgentProcedure } from './calls.ts';
import { Nothing, useLoaded, Waiting } from './loaded.tsx';

export function ProcedureList() {
  const ids = agents.value.map(({ id }) => id);
  const loaded = useLoaded(async () => {
    const [me, ...lists] = await Promise.all([asking(server.me()), procedures(), ...ids.map((id) => procedures(id))]);
    // What waits for somebody comes first.
    const list = lists.flat().sort((a, b) => Number(a.approved) - Number(b.approved) || a.name.localeCompare(b.name));
    return { list, mayApprove: me.scopes.includes('admin') };
  }, [ids.join()]);
  const { list = [], mayApprove = false } = loaded.value ?? {};
  const approve = async (procedure: AgentProcedure) => {
    await approveProcedure(procedure);
    await loaded.again();
    say('Approved: it is shown to models from now on.');
  };
  const forget = async (procedure: AgentProcedure) => {
    const yes = await ask({ title: 'Forget this procedure?', text: `“${procedure.name}” is erased. Agents no longer follow it.`, action: 'Forget', danger: true });
    if (!yes) return;
    await forgetProcedure(procedure);
    await loaded.again();
    say('Forgotten.');
  };
  return (
    <section aria-label="Procedures">
      <Waiting what="procedures" loaded={loaded}>
        {list.length === 0 && (
          <Nothing title="No procedures yet.">
            A procedure says how something is done, step by step. It is written with <code>tertulia memory procedure</code>, or learned from what an agent did, and then waits here for
            approval.
          </Nothing>
        )}
        {list.length > 0 && !mayApprove && <p class="hint">Approving and forgetting needs a key with the scope admin.</p>}
        <ul class="cards">
          {list.map((procedure) => (
            <li key={`${procedure.agent ?? ''}/${procedure.name}`} class={procedure.approved ? '' : 'waits'}>
              <p class="procedure-name">
                <b>{procedure.name}</b>
                <span class={procedure.approved ? 'badge good' : 'badge warn'}>{procedure.approved ? 'approved' : 'waits for approval'}</span>
                {procedure.learned && <span class="badge">learned</span>}
                {procedure.agent && <span class="badge">{procedure.agent}</span>}
              </p>
              <p>{procedure.description}</p>
              <ol class="steps">
                {(procedure.steps ?? []).map((step, index) => (
                  <li key={index}>
                    {step.instruction} {step.tool && <span class="badge">{step.tool}</span>}
                  </li>
                ))}
              </ol>
              <p class="facts-line">
                {procedure.trigger && (
                  <span>
                    when somebody says <code>{procedure.trigger}</code>
                  </span>
                )}
                {procedure.changed_at && <span>{clockTime(procedure.changed_at)}</span>}
              </p>
              {mayApprove && !procedure.approved && (
                <button type="button" class="solid small" onClick={() => trying(approve(procedure))}>
                  <Icon name="check" size={16} /> Approve
                </button>
              )}
              {mayApprove && (
                <button type="button" class="icon-button corner" aria-label={`Forget ${procedure.name}`} title="Forget" onClick={() => trying(forget(procedure))}>
                  <Icon name="trash" size={16} />
                </button>
              )}
            </li>
          ))}
        </ul>
      </Waiting>
    </section>
  );
}
