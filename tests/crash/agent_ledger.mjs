// What the tools of an agent really did, what it was asked and what it acknowledged, kept outside of its process; and
// the comparison of that with what `agent_worker check` finds.
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

// The death of a process takes nothing from the operating system, so no disk is needed, and more happens in a round.
export const place_in_memory = () => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

const USABLE_WITHIN_MS = 5000;

export class AgentLedger {
  tried = new Set();
  acked = new Set();
  slowest = 0;

  constructor(lives, kind, directory, file) {
    Object.assign(this, { lives, kind, directory, file });
  }

  // One line of a worker. False if the worker reports a failure.
  note(line) {
    const [verb, session, message] = line.split(' ');
    if (verb === 'try') this.tried.add(`${session} ${message}`);
    if (verb === 'ack') this.acked.add(`${session} ${message}`);
    return verb !== 'fail';
  }

  // How often each call took effect.
  effects() {
    const runs = new Map();
    const lines = existsSync(this.file) ? readFileSync(this.file, 'utf8').split('\n').filter(Boolean) : [];
    for (const line of lines) runs.set(line, (runs.get(line) ?? 0) + 1);
    return runs;
  }

  // What is wrong; undefined if nothing is.
  async check() {
    const { status, lines } = await this.lives.live(['check', this.kind, this.directory, this.file]);
    const failures = lines.filter((line) => line.startsWith('fail'));
    if (status !== 0 || lines.at(-1) !== 'checked' || failures.length > 0) {
      return `the check ended with ${status}\n${failures.join('\n')}`;
    }
    return this.check_messages(lines) ?? this.check_calls(lines);
  }

  check_messages(lines) {
    const said = new Set();
    for (const line of lines) {
      const [verb, session, what] = line.split(' ');
      if (verb === 'usable') {
        this.slowest = Math.max(this.slowest, Number(what));
        if (Number(what) > USABLE_WITHIN_MS) return `${session} was usable only after ${what} ms`;
      }
      if (verb !== 'said' || what === 'Are') continue;
      const name = `${session} ${what}`;
      if (said.has(name)) return `${name} is there twice`;
      if (!this.tried.has(name)) return `${name} is there and was never asked`;
      said.add(name);
    }
    for (const name of this.acked) if (!said.has(name)) return `${name} was acknowledged and is lost`;
    return undefined;
  }

  check_calls(lines) {
    const runs = this.effects();
    const recorded = new Set();
    for (const line of lines) {
      const [verb, key, tool, outcome] = line.split(' ');
      if (verb !== 'call') continue;
      recorded.add(`${key} ${tool}`);
      const count = runs.get(`${key} ${tool}`) ?? 0;
      const once = tool === 'pay' || tool === 'reserve';
      if (once && count > 1) return `${tool} ${key} took effect ${count} times`;
      if (outcome === 'ok' && count < 1) return `${tool} ${key} is said to be done and was not`;
      if (outcome !== 'ok' && tool !== 'pay') return `${tool} ${key} could have been settled and is ${outcome}`;
      if (outcome !== 'ok' && outcome !== 'unknown') return `${tool} ${key} is ${outcome}`;
    }
    for (const name of runs.keys()) if (!recorded.has(name)) return `${name} took effect and is not on record`;
    return undefined;
  }
}
