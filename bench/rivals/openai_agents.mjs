// The OpenAI Agents SDK. Its JavaScript has sessions in memory and on OpenAI's servers only, so this is the smallest
// durable session that its documentation asks for, on better-sqlite3: a row an item, a transaction for each addItems.
// A turn is one addItems; a fork is what the SDK leaves to the program: a new session with all items.
import { setTracingDisabled } from '@openai/agents';
import Database from 'better-sqlite3';
import path from 'node:path';
import { measure, turnOf } from './measure.mjs';

setTracingDisabled(true);

class SqliteSession {
  constructor(database, id) {
    this.database = database;
    this.id = id;
    this.insert = database.prepare('INSERT INTO items(session, item) VALUES(?, ?)');
    this.select = database.prepare('SELECT item FROM items WHERE session=? ORDER BY id');
    this.add = database.transaction((items) => { for (const item of items) this.insert.run(id, JSON.stringify(item)); });
  }
  async getSessionId() { return this.id; }
  async getItems() { return this.select.all(this.id).map((row) => JSON.parse(row.item)); }
  async addItems(items) { this.add.immediate(items); }
}

const items = (n) => {
  const { user, call, input, output, answer } = turnOf(n);
  return [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: user }] },
    { type: 'function_call', callId: call, name: 'search', status: 'completed', arguments: JSON.stringify(input) },
    { type: 'function_call_result', callId: call, name: 'search', status: 'completed', output: { type: 'text', text: JSON.stringify(output) } },
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: answer }] },
  ];
};

await measure({
  name: 'openai_agents',
  async open(dir) {
    const database = new Database(path.join(dir, 'agents.db'));
    database.pragma('journal_mode=WAL');
    database.pragma('synchronous=FULL');
    database.exec('CREATE TABLE items(id INTEGER PRIMARY KEY, session TEXT NOT NULL, item TEXT NOT NULL); CREATE INDEX by_session ON items(session, id)');
    let forks = 0;
    return {
      session: async (id) => new SqliteSession(database, id),
      turn: (session, n) => session.addItems(items(n)),
      fill: (session, count) => session.addItems(Array.from({ length: count }, (_, n) => items(n)).flat()),
      load: (session) => session.getItems(),
      fork: async (session) => new SqliteSession(database, `fork-${forks++}`).addItems(await session.getItems()),
      settle: async () => database.pragma('wal_checkpoint(TRUNCATE)'),
      close: async () => database.close(),
    };
  },
});
