// The branches as a tree: to look at, to jump in, to compare and to take over what another one said.
import { useEffect, useState } from 'preact/hooks';
import { branchName, branchTrees, type TreeNode } from '../shared/branches.ts';
import { textOf } from '../shared/blocks.ts';
import type { Diff, Message, Session } from '../shared/client.ts';
import { Icon } from '../shared/icons.tsx';
import { clockTime, plainWords } from '../shared/words.ts';
import { ask } from './dialogs.tsx';
import { Menu } from './menu.tsx';
import { NameField, useRenaming } from './name_field.tsx';
import type { Conversation } from './state/conversation.ts';
import { goTo, trying } from './state/place.ts';
import { asking, server } from './state/server.ts';
import { deleteBeginning, familyOf, loadFamily, titleOf } from './state/session_list.ts';
import { say } from './state/toasts.ts';

export function BranchPanel({ here }: { here: Conversation }) {
  const [compared, setCompared] = useState<{ with: string; diff: Diff }>();
  const trees = branchTrees(here.branches);
  if (here.branches.length === 0) return <p class="hint">Branches appear once something was said.</p>;
  const compare = async (other: string) => {
    setCompared({ with: other, diff: await asking(server.diff(here.id, here.branch, other)) });
  };
  if (compared) return <Comparison here={here} other={compared.with} diff={compared.diff} close={() => setCompared(undefined)} />;
  return (
    <>
      <ul class="tree" aria-label="Branches">
        {trees.map((node) => (
          <Node key={node.branch.id} here={here} node={node} compare={(other) => trying(compare(other))} />
        ))}
      </ul>
      <Beginnings here={here} />
      {here.branches.length === 1 && (
        <p class="hint">Edit a message or ask for another answer: the new way becomes a branch, and this one stays as it is.</p>
      )}
    </>
  );
}

function Node({ here, node, compare }: { here: Conversation; node: TreeNode; compare: (other: string) => void }) {
  const { branch, own, children } = node;
  const { renaming, face, begin, end } = useRenaming<HTMLButtonElement>();
  const current = branch.id === here.branch;
  const from = branch.forked_from?.at_index;
  const renamed = (label: string | undefined, byKey: boolean) => {
    end(byKey);
    if (label) trying(asking(server.patchBranch(here.id, branch.id, { label })).then(() => here.refresh()));
  };
  return (
    <li>
      <div class={current ? 'node here' : 'node'}>
        {renaming ? (
          <NameField label="Name of the branch" name={branchName(branch)} done={renamed} />
        ) : (
          <button ref={face} type="button" class="node-face" title={branchName(branch)} aria-current={current ? 'true' : undefined} onClick={() => goTo(here.id, branch.id, from === undefined ? undefined : from + 1)}>
            <b>{branchName(branch)}</b>
            <small>
              {own} {own === 1 ? 'message' : 'messages'}
              {from !== undefined && <> · from {from + 2} on</>}
            </small>
          </button>
        )}
        <Menu
          label={`More for ${branchName(branch)}`}
          items={[
            { name: 'Rename', icon: 'edit', run: begin },
            ...(current
              ? []
              : [
                  { name: 'Compare', icon: 'branch' as const, hint: 'with the branch you are in', run: () => compare(branch.id) },
                  { name: 'Take over', icon: 'merge' as const, hint: 'its turns come to the end of this branch', run: () => trying(takeOver(here, branch.id)) },
                ]),
            ...(branch.id === 'main' || current ? [] : [{ name: 'Delete', icon: 'trash' as const, danger: true, run: () => trying(remove(here, node)) }]),
          ]}
        />
      </div>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Node key={child.branch.id} here={here} node={child} compare={compare} />
          ))}
        </ul>
      )}
    </li>
  );
}

// Other sessions that are this conversation with another first message.
function Beginnings({ here }: { here: Conversation }) {
  const session = here.session.value;
  const all = session ? familyOf(session) : [];
  useEffect(() => {
    if (session) loadFamily(session).catch(() => {});
  }, [session?.id]);
  if (all.length < 2) return null;
  const remove = async (other: Session) => {
    const yes = await ask({
      title: 'Delete this beginning?',
      text: `The conversation that begins with “${titleOf(other)}” is erased with its branches. The others stay.`,
      action: 'Delete',
      danger: true,
    });
    if (yes) await deleteBeginning(other.id);
  };
  return (
    <section class="beginnings">
      <h2>Begun {all.length} times</h2>
      <ul class="tree" aria-label="Beginnings">
        {all.map((other, index) => {
          const current = other.id === session?.id;
          return (
            <li key={other.id}>
              <div class={current ? 'node here' : 'node'}>
                <button type="button" class="node-face" aria-current={current ? 'true' : undefined} onClick={() => goTo(other.id, 'main', 0)}>
                  <b>{titleOf(other)}</b>
                  <small>
                    {index + 1} of {all.length} · {clockTime(other.created_at)}
                  </small>
                </button>
                {!current && <Menu label={`More for beginning ${index + 1}`} items={[{ name: 'Delete', icon: 'trash', danger: true, run: () => trying(remove(other)) }]} />}
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

async function takeOver(here: Conversation, other: string): Promise<void> {
  const { turns } = await asking(server.merge(here.id, here.branch, { from: other }));
  await here.refresh();
  say(turns === 0 ? 'There was nothing that is not here already.' : `${turns} ${turns === 1 ? 'turn was' : 'turns were'} taken over.`);
}

async function remove(here: Conversation, node: TreeNode): Promise<void> {
  const many = node.children.length > 0;
  const yes = await ask({
    title: 'Delete this branch?',
    text: many ? `“${branchName(node.branch)}” and the branches that leave it are erased.` : `“${branchName(node.branch)}” is erased.`,
    action: 'Delete',
    danger: true,
  });
  if (!yes) return;
  const { deleted } = await asking(server.deleteBranch(here.id, node.branch.id, many));
  if (deleted.includes(here.branch)) goTo(here.id, 'main');
  else await here.refresh();
}

function Comparison({ here, other, diff, close }: { here: Conversation; other: string; diff: Diff; close: () => void }) {
  const named = (id: string) => branchName(here.branches.find((branch) => branch.id === id) ?? { id, messages: 0, created_at: '', last_activity: '' });
  return (
    <div class="diff">
      <p class="diff-head">
        <button type="button" class="plain small" onClick={close}>
          <Icon name="left" size={14} /> Branches
        </button>
        <small>
          {diff.common} {diff.common === 1 ? 'message' : 'messages'} in common
        </small>
      </p>
      <Side title={named(here.branch)} messages={diff.ours} />
      <Side title={named(other)} messages={diff.theirs} />
      <button
        type="button"
        class="solid"
        disabled={diff.theirs.length === 0}
        onClick={() => {
          close();
          trying(takeOver(here, other));
        }}
      >
        <Icon name="merge" size={16} /> <span>Take “{named(other)}” over into this branch</span>
      </button>
    </div>
  );
}

function Side({ title, messages }: { title: string; messages: readonly Message[] }) {
  const shown = messages.filter((message) => message.role === 'user' || message.role === 'assistant').slice(0, 50);
  return (
    <section>
      <h2>{title}</h2>
      {shown.length === 0 && <p class="hint">Nothing of its own.</p>}
      <ol>
        {shown.map((message) => (
          <li key={message.id} data-role={message.role}>
            {plainWords(textOf(message)).slice(0, 300) || '(a tool was used)'}
          </li>
        ))}
      </ol>
    </section>
  );
}
