// Files beside a message: those that are to be sent, those that were sent, and one of them seen large.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { textFileOf } from '../shared/blocks.ts';
import type { Part } from '../shared/client.ts';
import { CopyButton } from '../shared/copy_button.tsx';
import { Icon } from '../shared/icons.tsx';
import { bytesWord } from '../shared/words.ts';
import { Modal } from './dialogs.tsx';
import { attachments, describe, kDrawn, kFileLimits, removeFile } from './state/attachments.ts';
import { trying } from './state/place.ts';
import { asking, server } from './state/server.ts';

interface Shown {
  name: string;
  picture?: string;
  text?: string;
  save?: () => void;
  // A file that is to be sent can be described.
  draft?: number;
}

const shown = signal<Shown | undefined>(undefined);

export function FilesToSend({ sending }: { sending: boolean }) {
  const list = attachments.value;
  if (list.length === 0) return null;
  const bytes = list.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <div class="files">
      <ul aria-label="Files to send" aria-busy={sending}>
        {list.map(({ key, file, picture, words }) => (
          <li key={key} class={picture ? 'tile' : 'file-chip'}>
            {picture ? (
              <button type="button" class="tile-face" aria-label={`Look at ${file.name} and describe it`} title={`${file.name}, ${bytesWord(file.size)}`} onClick={() => (shown.value = { name: file.name, picture, draft: key })}>
                <img src={picture} alt={words || file.name} />
              </button>
            ) : (
              <>
                <Icon name="file" size={16} /> <span class="file-name">{file.name}</span> <small>{bytesWord(file.size)}</small>
              </>
            )}
            <button type="button" class="icon-button remove" aria-label={`Remove ${file.name}`} title="Remove" disabled={sending} onClick={() => removeFile(key)}>
              <Icon name="close" size={14} />
            </button>
          </li>
        ))}
      </ul>
      <small>
        {sending ? 'Sending…' : `${bytesWord(bytes)}; ${kFileLimits}`}
      </small>
    </div>
  );
}

export function SentFiles({ session, files }: { session: string; files: readonly Part[] }) {
  if (files.length === 0) return null;
  return (
    <div class="attachments" data-single={files.length === 1}>
      {files.map((part, index) => (
        <SentFile key={index} session={session} part={part} />
      ))}
    </div>
  );
}

export function SentFile({ session, part }: { session: string; part: Part }) {
  const text = textFileOf(part);
  if (text) {
    return (
      <FileChip name={text.name} title="Look at the file" open={() => (shown.value = { ...text, save: () => saveAs(new Blob([text.text], { type: 'text/plain' }), text.name) })} />
    );
  }
  if (part.kind !== 'image' && part.kind !== 'file') return null;
  const name = part.address || part.media_type;
  const asset = part.asset;
  // What stands at an address elsewhere is named, never fetched.
  if (!asset) return <FileChip name={name} title="Not kept here" />;
  if (kDrawn.has(part.media_type)) return <Picture session={session} asset={asset} name={name} />;
  return <FileChip name={name} title="Save the file" open={() => trying(saveAsset(session, asset, name))} />;
}

function FileChip({ name, title, open }: { name: string; title: string; open?: () => void }) {
  return (
    <button type="button" class="file-chip" disabled={!open} title={title} onClick={open}>
      <Icon name="file" size={16} /> <span class="file-name">{name}</span>
    </button>
  );
}

function Picture({ session, asset, name }: { session: string; asset: string; name: string }) {
  const [address, setAddress] = useState<string>();
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    let wanted = true;
    pictureOf(session, asset).then(
      (found) => wanted && setAddress(found),
      () => wanted && setMissing(true),
    );
    return () => {
      wanted = false;
    };
  }, [session, asset]);
  if (missing) return <FileChip name={`${name} (not there any more)`} title="The file could not be read" />;
  if (!address) return <span class="tile skeleton" role="img" aria-label={`${name}, loading`} />;
  const open = () => (shown.value = { name, picture: address, save: () => trying(saveAsset(session, asset, name)) });
  return (
    <button type="button" class="tile tile-face" aria-label={`Look at ${name}`} title={name} onClick={open}>
      <img src={address} alt={name} onError={() => setMissing(true)} />
    </button>
  );
}

// The pictures that were seen last, so that scrolling does not fetch them again.
const kKept = 40;
const pictures = new Map<string, Promise<string>>();

function pictureOf(session: string, asset: string): Promise<string> {
  const before = pictures.get(asset);
  pictures.delete(asset);
  const found = before ?? asking(server.asset(session, asset)).then((bytes) => URL.createObjectURL(bytes));
  pictures.set(asset, found);
  found.catch(() => pictures.delete(asset));
  const [oldest] = pictures;
  if (pictures.size > kKept && oldest) {
    pictures.delete(oldest[0]);
    oldest[1].then(URL.revokeObjectURL, () => {});
  }
  return found;
}

const saveAsset = async (session: string, asset: string, name: string): Promise<void> => saveAs(await asking(server.asset(session, asset)), name);

function saveAs(bytes: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function Preview() {
  const file = shown.value;
  if (!file) return null;
  const close = () => (shown.value = undefined);
  const draft = attachments.value.find(({ key }) => key === file.draft);
  return (
    <Modal title={file.name} close={close} class="preview">
      {file.picture && <img src={file.picture} alt={draft?.words || file.name} />}
      {file.text !== undefined && (
        <pre tabIndex={0} aria-label="Content of the file">
          {file.text.slice(0, 200_000)}
        </pre>
      )}
      {draft && (
        <label class="field">
          What it shows, for those who cannot see it
          <input maxLength={300} value={draft.words} placeholder={draft.file.name} onInput={(event) => describe(draft.key, event.currentTarget.value)} onKeyDown={(event) => event.key === 'Enter' && (event.preventDefault(), close())} />
        </label>
      )}
      <div class="dialog-actions">
        {file.text !== undefined && <CopyButton text={file.text} label="Copy the file" />}
        {file.save && (
          <button type="button" class="plain" onClick={file.save}>
            Save
          </button>
        )}
        <button type="button" class="solid" onClick={close}>
          {draft ? 'Done' : 'Close'}
        </button>
      </div>
    </Modal>
  );
}
