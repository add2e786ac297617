// A message of one's own that is written anew.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Part } from '../shared/client.ts';
import { SentFiles } from './attachments.tsx';

interface Props {
  session: string;
  said: string;
  files: readonly Part[];
  hint: string;
  send: (said: string) => void;
  done: () => void;
}

export function EditForm({ session, said, files, hint, send, done }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(said);
  // With the drawing: somebody who is quick would lose what is selected by then.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, []);
  const nothing = !text.trim() && files.length === 0;
  const finish = () => {
    if (nothing) return;
    done();
    send(text.trim());
  };
  return (
    <article class="said editing" aria-label="You, editing">
      <SentFiles session={session} files={files} />
      <textarea
        ref={field}
        value={text}
        dir="auto"
        aria-label="Edit message"
        rows={Math.min(12, text.split('\n').length + 1)}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') done();
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            finish();
          }
        }}
      />
      <div class="edit-actions">
        <small>{hint}</small>
        <button type="button" class="plain" onClick={done}>
          Cancel
        </button>
        <button type="button" class="solid" onClick={finish} disabled={nothing}>
          Send
        </button>
      </div>
    </article>
  );
}
