// What agents have been given to read.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Collection, Job, MemoryDocument, MemoryItem } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import { ask } from '../dialogs.tsx';
import { DropPlace } from '../drop_place.tsx';
import { trying } from '../state/place.ts';
import { asking, server } from '../state/server.ts';
import { say } from '../state/toasts.ts';
import { documents, forgetDocument, partsOf } from './calls.ts';
import { Nothing, useLoaded, Waiting } from './loaded.tsx';
import { collectionWords, dayOf, Whose } from './parts.tsx';
import { dismissJob, kAccepted, kDocumentLimits, lookForJobs, takenIn, underWay, uploadDocuments } from './upload.ts';

interface Row extends MemoryDocument {
  collection: string;
}

export function DocumentList({ collections, changed }: { collections: Collection[]; changed: () => void }) {
  const writable = collections.filter((one) => one.writable).map(({ id }) => id);
  const ids = collections.map(({ id }) => id);
  const [target, setTarget] = useState('user');
  const loaded = useLoaded(async () => (await Promise.all(ids.map(allOf))).flat().sort((a, b) => b.written_at.localeCompare(a.written_at)), [ids.join()]);
  useEffect(() => void lookForJobs().catch(() => {}), []);
  useEffect(() => {
    if (takenIn.value > 0) void loaded.again().then(changed);
  }, [takenIn.value]);
  const rows = loaded.value ?? [];
  const forget = async (row: Row) => {
    const yes = await ask({
      title: 'Forget this document?',
      text: `What was read of “${row.source}” is erased from memory. Agents no longer find it.`,
      action: 'Forget',
      danger: true,
    });
    if (!yes) return;
    await forgetDocument(row.collection, row.source);
    await loaded.again();
    changed();
    say('Forgotten.');
  };
  return (
    <section aria-label="Documents">
      <Upload target={target} choices={writable} choose={setTarget} />
      {underWay.value.length > 0 && (
        <ul class="cards" aria-label="Being read">
          {underWay.value.map((job) => (
            <JobCard key={job.id} job={job} />
          ))}
        </ul>
      )}
      <Waiting what="documents" loaded={loaded}>
        {rows.length === 0 && underWay.value.length === 0 && (
          <Nothing title="No documents yet.">Agents look up what you give them here, and the context panel shows which part of which document an answer was given.</Nothing>
        )}
        <ul class="cards">
          {rows.map((row) => (
            <DocumentCard key={`${row.collection}/${row.source}`} row={row} forget={writable.includes(row.collection) ? () => trying(forget(row)) : undefined} />
          ))}
        </ul>
      </Waiting>
    </section>
  );
}

async function allOf(collection: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await documents(collection, cursor);
    rows.push(...page.documents.map((document) => ({ ...document, collection })));
    if (!page.next || rows.length >= 2000) return rows;
    cursor = page.next;
  }
}

function Upload({ target, choices, choose }: { target: string; choices: string[]; choose: (id: string) => void }) {
  const chooser = useRef<HTMLInputElement>(null);
  const take = (files: Iterable<File>) => trying(uploadDocuments(target, [...files]));
  return (
    <div class="upload">
      <DropPlace take={(transfer) => take(transfer?.files ?? [])} words={`Drop documents to have them read: ${kDocumentLimits}`} />
      <input ref={chooser} type="file" multiple hidden accept={kAccepted} aria-label="Documents" onChange={(event) => (take([...(event.currentTarget.files ?? [])]), (event.currentTarget.value = ''))} />
      <button type="button" class="solid" onClick={() => chooser.current?.click()}>
        <Icon name="plus" size={16} /> Add documents
      </button>
      <p class="hint">Or drop them anywhere: {kDocumentLimits}.</p>
      {choices.length > 1 && (
        <label class="hint">
          for{' '}
          <select value={target} onChange={(event) => choose(event.currentTarget.value)}>
            {choices.map((id) => (
              <option key={id} value={id}>
                {collectionWords(id)}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function JobCard({ job }: { job: Job }) {
  const failed = job.status === 'failed';
  return (
    <li>
      <p>{job.source}</p>
      {failed ? (
        <p class="bad-words">{job.error?.message ?? 'It could not be read.'}</p>
      ) : (
        <p class="facts-line">
          <progress aria-label={`Reading ${job.source}`} {...(job.chunks > 0 && { max: job.chunks, value: job.chunks_done })} />
          <span>{job.status === 'queued' ? 'waits' : job.chunks > 0 ? `${job.chunks_done} of ${job.chunks} parts` : 'being read'}</span>
        </p>
      )}
      <button
        type="button"
        class="icon-button corner"
        aria-label={failed ? `Dismiss ${job.source}` : `Stop reading ${job.source}`}
        title={failed ? 'Dismiss' : 'Stop'}
        onClick={() => (failed ? dismissJob(job.id) : trying(asking(server.cancelJob(job.id))))}
      >
        <Icon name="close" size={16} />
      </button>
    </li>
  );
}

function DocumentCard({ row, forget }: { row: Row; forget?: () => void }) {
  const [parts, setParts] = useState<MemoryItem[]>();
  const open = (event: Event) => {
    if ((event.currentTarget as HTMLDetailsElement).open && !parts) trying(partsOf(row.collection, row.source).then(setParts));
  };
  return (
    <li>
      <p>
        <Icon name="file" size={16} /> {row.source}
      </p>
      <p class="facts-line">
        <span>
          {row.chunks} {row.chunks === 1 ? 'part' : 'parts'}
        </span>
        <span>read {dayOf(row.written_at)}</span>
        <Whose collection={row.collection} />
      </p>
      <details class="folded" onToggle={open}>
        <summary>What was read</summary>
        {!parts && <p class="hint" aria-busy="true">Reading…</p>}
        <ol class="parts">
          {parts?.map((part) => (
            <li key={part.id}>
              {part.heading_path && part.heading_path.length > 0 && <b>{part.heading_path.join(' › ')}</b>}
              <p>{part.text}</p>
            </li>
          ))}
        </ol>
        {parts && parts.length < row.chunks && <p class="hint">The first {parts.length} of {row.chunks} parts.</p>}
      </details>
      {forget && (
        <button type="button" class="icon-button corner" aria-label={`Forget ${row.source}`} title="Forget" onClick={forget}>
          <Icon name="trash" size={16} />
        </button>
      )}
    </li>
  );
}
