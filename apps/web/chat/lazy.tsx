// Pages that are fetched when somebody goes there.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PageHead } from './page_head.tsx';

export function lazy(title: string, fetch: () => Promise<ComponentType>): ComponentType {
  let there: ComponentType | undefined;
  return function LazyPage() {
    const [Page, setPage] = useState(() => there);
    const [failed, setFailed] = useState(false);
    const load = () => {
      setFailed(false);
      fetch().then(
        (page) => setPage(() => (there = page)),
        () => setFailed(true),
      );
    };
    useEffect(() => {
      if (!there) load();
    }, []);
    if (Page) return <Page />;
    return (
      <>
        <PageHead title={title} />
        <div class="page" aria-busy={!failed}>
          {failed && (
            <p role="alert">
              The page could not be fetched.{' '}
              <button type="button" class="plain small" onClick={load}>
                Try again
              </button>
            </p>
          )}
        </div>
      </>
    );
  };
}
