// What a worker said it would do and what was acknowledged, kept outside of its process; and the comparison of that with
// what `worker check` finds in the store.
export class Ledger {
  tried = new Set();
  acked = new Map();  // what → revision, or null for a note
  erased = new Map();  // session → whether it was acknowledged

  // One line of a worker. False if the worker reports a failure.
  note(line) {
    const [verb, session, what, revision] = line.split(' ');
    if (verb === 'try') this.tried.add(`turn ${session} ${what}`);
    else if (verb === 'ack') this.acked.set(`turn ${session} ${what}`, Number(revision));
    else if (verb === 'tryn') this.tried.add(`note ${session} ${what}`);
    else if (verb === 'ackn') this.acked.set(`note ${session} ${what}`, null);
    else if (verb === 'erase') this.erased.set(session, false);
    else if (verb === 'erased') this.erased.set(session, true);
    return verb !== 'fail';
  }

  // What is wrong with the store; undefined if nothing is.
  async check(lives, kind, directory) {
    const { status, lines } = await lives.live(['check', kind, directory]);
    if (status !== 0 || lines.at(-1) !== 'checked') {
      return `the check ended with ${status}\n${lines.filter((l) => /^(problem|fail)/.test(l)).join('\n')}`;
    }
    const found = new Map();
    const last = new Map();
    for (const line of lines) {
      const [verb, session, what, revision] = line.split(' ');
      if (verb === 'session' && this.erased.get(session)) return `${session} was erased and is there`;
      if (verb !== 'turn' && verb !== 'note') continue;
      const name = `${verb} ${session} ${what}`;
      if (found.has(name)) return `${name} is there twice`;
      found.set(name, verb === 'turn' ? Number(revision) : null);
      if (!this.tried.has(name)) return `${name} is there and was never tried`;
      const place = `${verb} ${session}`;
      const before = last.get(place) ?? (verb === 'turn' ? 1 : 0);
      const now = Number(verb === 'turn' ? revision : what);
      if (now !== before + 1) return `after ${before} comes ${now} in ${place}`;
      last.set(place, now);
    }
    for (const [name, revision] of this.acked) {
      const session = name.split(' ')[1];
      if (!found.has(name) && this.erased.has(session)) continue;
      if (!found.has(name)) return `${name} was acknowledged and is lost`;
      if (found.get(name) !== revision) return `${name} was acknowledged as ${revision}, found as ${found.get(name)}`;
    }
    return undefined;
  }
}
