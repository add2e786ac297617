// The place to write.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Part } from '../shared/client.ts';
import { Icon } from '../shared/icons.tsx';
import { bytesWord } from '../shared/words.ts';
import { Menu } from './menu.tsx';
import { editLast } from './message_row.tsx';
import type { Conversation } from './state/conversation.ts';
import { beginConversation, trying } from './state/place.ts';
import { agents, asking, server } from './state/server.ts';
import { changeSettings, settings } from './state/settings.ts';
import { say } from './state/toasts.ts';

export const draft = signal('');

const kLargestFile = 32 * 1024 * 1024;
const kTallest = 240;

export function Composer({ here }: { here: Conversation | undefined }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [sending, setSending] = useState(false);
  const [over, setOver] = useState(false);
  const busy = here?.busy.value ?? false;
  const text = draft.value;
  const something = text.trim() !== '' || files.length > 0;

  useEffect(() => {
    const box = field.current!;
    box.style.height = 'auto';
    box.style.height = `${Math.min(kTallest, box.scrollHeight)}px`;
  }, [text]);
  useEffect(() => {
    // Not on phones, where it brings up the keyboard, and not away from where somebody is writing.
    const elsewhere = document.activeElement?.matches('input, textarea');
    if (!elsewhere && matchMedia('(hover: hover)').matches) field.current?.focus();
  }, [here?.id]);

  const addFiles = (list: Iterable<File>) => {
    const fitting = [...list].filter((file) => file.size <= kLargestFile || say(`${file.name} is larger than ${bytesWord(kLargestFile)}.`, 'bad'));
    setFiles((before) => [...before, ...fitting].slice(0, 10));
  };
  const send = async (how: 'queue' | 'steer') => {
    const said = text.trim();
    if (!something || sending) return;
    if (busy && how === 'steer') {
      await here!.steer(said);
      draft.value = '';
      say('The agent hears it at its next step.');
      return;
    }
    setSending(true);
    try {
      const place = here ?? (await beginConversation(said || files[0]!.name));
      const parts = await upload(place.id, files);
      draft.value = '';
      setFiles([]);
      void place.send(said, parts, busy ? 'queue' : 'reject');
    } finally {
      setSending(false);
    }
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const command = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && !event.shiftKey && (settings.value.enterSends || command)) {
      event.preventDefault();
      trying(send(command && busy ? 'steer' : 'queue'));
    } else if (event.key === 'Escape' && busy) {
      event.preventDefault();
      trying(here!.cancel());
    } else if (event.key === 'ArrowUp' && text === '' && !busy) {
      event.preventDefault();
      editLast();
    }
  };
  return (
    <form
      class="composer"
      data-over={over}
      onSubmit={(event) => (event.preventDefault(), trying(send('queue')))}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => (event.preventDefault(), setOver(false), addFiles(event.dataTransfer?.files ?? []))}
    >
      {files.length > 0 && (
        <ul class="files" aria-label="Files to send">
          {files.map((file, index) => (
            <li key={index} class="file-chip">
              <Icon name="file" size={16} /> {file.name} <small>{bytesWord(file.size)}</small>
              <button type="button" class="icon-button" aria-label={`Remove ${file.name}`} onClick={() => setFiles(files.filter((_, at) => at !== index))}>
                <Icon name="close" size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        rows={1}
        value={text}
        placeholder={busy ? 'Say the next thing: it waits its turn' : 'Write a message'}
        aria-label="Message"
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onKeyDown={pressed}
        onPaste={(event) => event.clipboardData?.files.length && addFiles(event.clipboardData.files)}
      />
      <div class="composer-row">
        <input ref={chooser} type="file" multiple hidden onChange={(event) => (addFiles(event.currentTarget.files ?? []), (event.currentTarget.value = ''))} />
        <button type="button" class="icon-button" aria-label="Add files" title="Add files" onClick={() => chooser.current?.click()}>
          <Icon name="clip" />
        </button>
        <AgentPicker />
        <span class="space" />
        {busy && something && (
          <button type="button" class="plain small" title="Delivered into the running answer at its next step (Ctrl+Enter)" onClick={() => trying(send('steer'))}>
            Steer
          </button>
        )}
        {busy && (
          <button type="button" class="round quiet" aria-label="Stop the answer" title="Stop (Esc)" onClick={() => trying(here!.cancel())}>
            <Icon name="stop" />
          </button>
        )}
        {(!busy || something) && (
          <button type="submit" class="round" aria-label={busy ? 'Send after this answer' : 'Send'} title={busy ? 'Send after this answer' : 'Send'} disabled={!something || sending}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}

// What is text goes along as text, which every model can read; the rest is kept as a file of the session.
const kInline = 100_000;
const isText = (file: File): boolean =>
  file.size <= kInline && (/^text\/|json|xml|yaml|toml|javascript/.test(file.type) || /\.(md|txt|csv|log|toml|yaml|yml|ts|py|cc|h|rs|go|sh|sql)$/i.test(file.name));

async function upload(session: string, files: readonly File[]): Promise<Part[]> {
  return Promise.all(
    files.map(async (file): Promise<Part> => {
      if (isText(file)) return { kind: 'text', text: fenced(file.name, await file.text()) };
      const { id, media_type } = await asking(server.addAsset(session, file));
      return media_type.startsWith('image/')
        ? { kind: 'image', media_type, asset: id }
        : { kind: 'file', media_type, asset: id, address: file.name };
    }),
  );
}

// Between marks that do not stand in it.
function fenced(name: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((marks) => marks.length));
  const marks = '`'.repeat(longest + 1);
  return `File ${name}:\n\n${marks}\n${text.replace(/\n?$/, '\n')}${marks}`;
}

function AgentPicker() {
  const list = agents.value;
  if (list.length === 0) return null;
  const here = list.find((agent) => agent.id === settings.value.agent) ?? list[0]!;
  return (
    <Menu
      up
      label={`Agent: ${here.name || here.id}`}
      face={
        <>
          {here.name || here.id} <Icon name="down" size={14} />
        </>
      }
      items={list.map((agent) => ({
        name: agent.name || agent.id,
        hint: agent.model,
        checked: agent.id === here.id,
        run: () => changeSettings({ agent: agent.id }),
      }))}
    />
  );
}
