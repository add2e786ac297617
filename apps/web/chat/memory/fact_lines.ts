// Facts as they are listed: what holds, and with it what it took the place of.
import type { Fact } from '../../shared/client.ts';

export interface FactLine {
  fact: Fact;
  // The ones that it took the place of, the latest first.
  before: Fact[];
}

// Facts that hold, the latest first, and those that ended without another in their place.
export function factLines(all: readonly Fact[]): { now: FactLine[]; ended: Fact[] } {
  const byId = new Map(all.map((fact) => [fact.id, fact]));
  const latestFirst = (a: Fact, b: Fact) => b.valid_from.localeCompare(a.valid_from) || a.id.localeCompare(b.id);
  const before = new Map<string, Fact[]>();
  const ended: Fact[] = [];
  for (const fact of all) {
    if (fact.valid_until === undefined) continue;
    let last = fact;
    for (let step = 0; step < all.length; ++step) {
      const next = last.superseded_by === undefined ? undefined : byId.get(last.superseded_by);
      if (!next) break;
      last = next;
    }
    if (last.valid_until !== undefined) ended.push(fact);
    else before.set(last.id, [...(before.get(last.id) ?? []), fact]);
  }
  const now = all.filter((fact) => fact.valid_until === undefined).sort(latestFirst);
  return {
    now: now.map((fact) => ({ fact, before: (before.get(fact.id) ?? []).sort(latestFirst) })),
    ended: ended.sort(latestFirst),
  };
}
