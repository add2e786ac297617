// A part of the page that has to be read first: while it is read, if it could not be, and once it is there.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TertuliaError } from '../../shared/client.ts';
import { sentence } from '../../shared/words.ts';

export interface Loaded<T> {
  value?: T;
  problem?: TertuliaError;
  // Reads it again, and keeps what is shown until then.
  again: () => Promise<void>;
}

export function useLoaded<T>(read: () => Promise<T>, about: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; problem?: TertuliaError }>({});
  const asked = useRef(0);
  const again = async () => {
    const mine = ++asked.current;
    // An answer that a later one has overtaken is too old to be shown.
    const show = (next: typeof state) => mine === asked.current && setState(next);
    try {
      show({ value: await read() });
    } catch (problem) {
      show({ problem: problem as TertuliaError });
    }
  };
  useEffect(() => void again(), about);
  return { ...state, again };
}

export function Waiting({ what, loaded, children }: { what: string; loaded: Loaded<unknown>; children: ComponentChildren }) {
  const { value, problem, again } = loaded;
  if (problem) {
    return (
      <div class="failed" role="alert">
        <p>{problem.code === 'no_route' ? `This server does not serve ${what}.` : sentence(problem.message)}</p>
        {problem.code !== 'no_route' && (
          <button type="button" class="plain small" onClick={() => void again()}>
            Try again
          </button>
        )}
      </div>
    );
  }
  if (value === undefined) {
    return (
      <div aria-busy="true" role="status" aria-label={`Reading ${what}`}>
        <div class="skeleton card" />
        <div class="skeleton card" />
        <div class="skeleton card" />
      </div>
    );
  }
  return <>{children}</>;
}

export function Nothing({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="nothing">
      <p class="nothing-title">{title}</p>
      <p>{children}</p>
    </div>
  );
}
