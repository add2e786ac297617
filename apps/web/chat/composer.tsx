// The place to write.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { FilesToSend } from './attachments.tsx';
import { DropPlace } from './drop_place.tsx';
import { editLast } from './message_row.tsx';
import { AgentPicker, ModelPicker } from './pickers.tsx';
import { addFiles, addFrom, attachments, clearFiles, kFileLimits, upload } from './state/attachments.ts';
import type { Conversation } from './state/conversation.ts';
import { draftOf, setDraft } from './state/draft.ts';
import { takeChoice } from './state/models.ts';
import { beginConversation, trying } from './state/place.ts';
import { settings } from './state/settings.ts';
import { say } from './state/toasts.ts';

export function Composer({ here }: { here: Conversation | undefined }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [sending, setSending] = useState(false);
  const files = attachments.value;
  const busy = here?.busy.value ?? false;
  const text = draftOf(here?.id);
  const something = text.trim() !== '' || files.length > 0;

  useLayoutEffect(() => {
    // Not on phones, where it brings up the keyboard, and not away from where somebody is writing.
    const elsewhere = document.activeElement?.matches('input, textarea');
    if (!elsewhere && matchMedia('(hover: hover)').matches) field.current?.focus();
  }, [here?.id]);

  const send = async (how: 'queue' | 'steer') => {
    const said = text.trim();
    if (!something || sending) return;
    if (busy && how === 'steer' && said) {
      await here!.steer(said);
      setDraft(here!.id, '');
      say('The agent hears it at its next step.');
      return;
    }
    setSending(true);
    try {
      const place = here ?? (await beginConversation(said || files[0]!.file.name, takeChoice()));
      if (!here) {
        // What cannot be sent now is still there, in the conversation that it began.
        setDraft('', '');
        setDraft(place.id, text);
      }
      const parts = await upload(place.id, files);
      setDraft(place.id, '');
      clearFiles();
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
      onSubmit={(event) => (event.preventDefault(), trying(send('queue')))}
    >
      <DropPlace take={addFrom} words={`Drop files to send them: ${kFileLimits}`} />
      <FilesToSend sending={sending} />
      <div class="as-tall-as-text" data-text={text}>
        <textarea
          ref={field}
          rows={1}
          value={text}
          dir="auto"
          placeholder={busy ? 'Say the next thing: it waits its turn' : 'Write a message'}
          aria-label="Message"
          onInput={(event) => setDraft(here?.id, event.currentTarget.value)}
          onKeyDown={pressed}
          onPaste={(event) => event.clipboardData?.files.length && (event.preventDefault(), addFrom(event.clipboardData))}
        />
      </div>
      <div class="composer-row">
        <input ref={chooser} type="file" multiple hidden onChange={(event) => (addFiles(event.currentTarget.files ?? []), (event.currentTarget.value = ''))} />
        <button type="button" class="icon-button" aria-label="Add files" title={`Add files: ${kFileLimits}`} onClick={() => chooser.current?.click()}>
          <Icon name="clip" />
        </button>
        <AgentPicker />
        <ModelPicker here={here} />
        <span class="space" />
        {busy && text.trim() !== '' && (
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
