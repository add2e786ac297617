// What the browser keeps for us. It may be full, forbidden or hold anything: then it is as if nothing had been kept.

export function readKept<T>(area: () => Storage, key: string, check: (value: unknown) => T | undefined): T | undefined {
  try {
    const text = area().getItem(key);
    return text === null ? undefined : check(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function keep(area: () => Storage, key: string, value: unknown): void {
  try {
    if (value === undefined) area().removeItem(key);
    else area().setItem(key, JSON.stringify(value));
  } catch {
    // Nothing depends on it.
  }
}

export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const tabStorage = () => sessionStorage;
export const ownStorage = () => localStorage;
