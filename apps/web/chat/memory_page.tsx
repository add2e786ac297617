// What is remembered of this person, and what the agents have read.
import { useEffect, useState } from 'preact/hooks';
import type { MemoryDocument, MemoryItem, TertuliaError } from '../shared/client.ts';
import { Icon } from '../shared/icons.tsx';
import { ask } from './dialogs.tsx';
import { PageHead } from './page_head.tsx';
import { trying } from './state/place.ts';
import { asking, server } from './state/server.ts';

interface Fact {
  id: string;
  text: string;
  source?: string;
}

export function MemoryPage() {
  const [facts, setFacts] = useState<Fact[]>();
  const [documents, setDocuments] = useState<MemoryDocument[]>([]);
  const [problem, setProblem] = useState<TertuliaError>();
  const load = async () => {
    const [remembered, read] = await asking(Promise.all([server.facts(), server.documents()]));
    setFacts(remembered.facts);
    setDocuments(read.documents);
  };
  useEffect(() => void load().catch(setProblem), []);
  // Documents that are being read tell how far they are.
  const reading = documents.some((document) => document.status === 'queued' || document.status === 'running');
  useEffect(() => {
    if (!reading) return;
    const timer = setInterval(() => load().catch(setProblem), 1000);
    return () => clearInterval(timer);
  }, [reading]);
  return (
    <>
      <PageHead title="Memory" />
      <div class="page">
        {problem && <Unavailable problem={problem} />}
        {!problem && !facts && <p class="hint" aria-busy="true">Reading…</p>}
        {!problem && facts && (
          <>
            <SearchMemory />
            <Facts facts={facts} changed={() => trying(load())} />
            <Documents documents={documents} changed={() => trying(load())} />
          </>
        )}
      </div>
    </>
  );
}

function Unavailable({ problem }: { problem: TertuliaError }) {
  return (
    <section class="welcome">
      <p class="greeting">{problem.code === 'no_route' ? 'No memory here yet.' : 'That did not work.'}</p>
      <p class="under">{problem.code === 'no_route' ? 'This server runs without the memory layer. Conversations are kept all the same.' : problem.message}</p>
    </section>
  );
}

function SearchMemory() {
  const [query, setQuery] = useState('');
  const [items, setItems] = useState<MemoryItem[]>();
  const search = async (event: Event) => {
    event.preventDefault();
    if (query.trim()) setItems((await asking(server.searchMemory({ query, limit: 20 }))).items);
    else setItems(undefined);
  };
  return (
    <section>
      <form class="memory-search" onSubmit={(event) => trying(search(event))}>
        <input type="search" placeholder="What would an agent recall?" aria-label="Search memory" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        <button type="submit" class="solid">
          Search
        </button>
      </form>
      {items && items.length === 0 && <p class="hint">Nothing comes to mind.</p>}
      {items && items.length > 0 && (
        <ul class="cards">
          {items.map((item) => (
            <li key={item.id}>
              <p>{item.text.slice(0, 600)}</p>
              <small>
                {item.kind} {item.source && <>· {item.source} </>}· {item.near} match
              </small>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Facts({ facts, changed }: { facts: Fact[]; changed: () => void }) {
  const forgetAll = async () => {
    const yes = await ask({
      title: 'Forget everything?',
      text: 'All facts, episodes and documents of yours are erased from memory. Conversations stay.',
      action: 'Forget everything',
      danger: true,
    });
    if (!yes) return;
    await asking(server.forgetEverything());
    changed();
  };
  return (
    <section>
      <h2>About you</h2>
      {facts.length === 0 && <p class="hint">Nothing is remembered yet. Agents note what you say about yourself when a conversation ends.</p>}
      <ul class="cards">
        {facts.map((fact) => (
          <li key={fact.id}>
            <p>{fact.text}</p>
            <small>{fact.source}</small>
            <button type="button" class="icon-button" aria-label={`Forget: ${fact.text.slice(0, 60)}`} title="Forget" onClick={() => trying(server.forgetFact(fact.id).then(changed))}>
              <Icon name="trash" size={16} />
            </button>
          </li>
        ))}
      </ul>
      {facts.length > 0 && (
        <button type="button" class="plain danger" onClick={() => trying(forgetAll())}>
          Forget everything
        </button>
      )}
    </section>
  );
}

function Documents({ documents, changed }: { documents: MemoryDocument[]; changed: () => void }) {
  const add = async (files: FileList | null) => {
    for (const file of files ?? []) {
      await asking(server.addDocument({ title: file.name, text: await file.text(), media_type: file.type || 'text/plain' }));
    }
    changed();
  };
  return (
    <section>
      <h2>Documents</h2>
      <label class="plain file-label">
        <Icon name="plus" size={16} /> Add text files
        <input type="file" multiple accept="text/*,.md,.txt,.json,.csv" onChange={(event) => trying(add(event.currentTarget.files))} />
      </label>
      <ul class="cards">
        {documents.map((document) => (
          <li key={document.document}>
            <p>{document.title || document.document}</p>
            {document.status === 'running' || document.status === 'queued' ? (
              <progress max={document.chunks || 1} value={document.done ?? 0} aria-label={`Reading ${document.title ?? 'the document'}`} />
            ) : (
              <small>{document.status === 'failed' ? `failed: ${document.error ?? ''}` : `${document.chunks ?? 0} parts`}</small>
            )}
            <button type="button" class="icon-button" aria-label={`Delete ${document.title ?? 'the document'}`} title="Delete" onClick={() => trying(server.deleteDocument(document.document).then(changed))}>
              <Icon name="trash" size={16} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
