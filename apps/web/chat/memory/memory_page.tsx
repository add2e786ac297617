// What is remembered of this person: facts, documents, episodes and procedures, and what of it would come to mind.
import { useState } from 'preact/hooks';
import type { Collection } from '../../shared/client.ts';
import { PageHead } from '../page_head.tsx';
import { subPage } from '../state/place.ts';
import { collections } from './calls.ts';
import { DocumentList } from './documents.tsx';
import { EpisodeList } from './episodes.tsx';
import { FactList } from './facts.tsx';
import { useLoaded, Waiting } from './loaded.tsx';
import './memory.css';
import { ProcedureList } from './procedures.tsx';
import { MemorySearch } from './search.tsx';

const kTabs = [
  { tab: 'facts', name: 'Facts' },
  { tab: 'documents', name: 'Documents' },
  { tab: 'episodes', name: 'Episodes' },
  { tab: 'procedures', name: 'Procedures' },
] as const;

type Tab = (typeof kTabs)[number]['tab'];

// The collection of whoever asks is there also while nothing is in it.
const kOwn: Collection = { id: 'user', items: 0, documents: 0, facts: 0, writable: true };

export function MemoryPage() {
  const [searching, setSearching] = useState(false);
  const known = useLoaded(async () => {
    const all = await collections();
    return all.some(({ id }) => id === kOwn.id) ? all : [kOwn, ...all];
  }, []);
  const tab: Tab = kTabs.find((one) => one.tab === subPage.value[0])?.tab ?? 'facts';
  const list = known.value ?? [];
  const changed = () => void known.again();
  return (
    <>
      <PageHead title="Memory" />
      <div class="page memory">
        <p class="lead">What agents know of you, and where they know it from. It is looked up at each message, and shown to the model when it is near enough.</p>
        <Waiting what="memory" loaded={known}>
          <MemorySearch collections={list} searching={setSearching} />
          {!searching && (
            <>
              <nav class="tabs" aria-label="Kinds of memory">
                {kTabs.map((one) => (
                  <a key={one.tab} href={`#/memory/${one.tab}`} aria-current={one.tab === tab ? 'page' : undefined}>
                    {one.name}
                  </a>
                ))}
              </nav>
              {tab === 'facts' && <FactList collections={list} changed={changed} />}
              {tab === 'documents' && <DocumentList collections={list} changed={changed} />}
              {tab === 'episodes' && <EpisodeList />}
              {tab === 'procedures' && <ProcedureList />}
            </>
          )}
        </Waiting>
      </div>
    </>
  );
}
