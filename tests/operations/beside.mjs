// beside.mjs PROGRAM: several programs on one data directory, as people run them: a server, chats, commands.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, later, program, run, Server, tertulia, test, until } from '../api/support.mjs';

const environment = { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' };

// A chat that is asked one line after the other; it ends with its input. What it says is shown before it is stored: an answer has
// been given when its turn was committed.
class Chat {
  constructor(data, session) {
    this.process = spawn(program, ['--json', '--data', data, 'chat', '--lines', '--session', session], { env: environment });
    this.said = '';
    this.process.stdout.on('data', (bytes) => (this.said += bytes));
    this.process.stderr.on('data', (bytes) => (this.said += bytes));
    // Who was killed reads nothing any more.
    this.process.stdin.on('error', () => {});
    this.ended = new Promise((done) => this.process.on('exit', (code, signal) => done({ code, signal })));
    later(() => this.process.kill('SIGKILL'));
  }
  async ask(line, answer) {
    const from = this.said.length;
    this.process.stdin.write(`${line}\n`);
    const committed = () => /"kind":"turn_committed"[^\n]*\n/.test(this.said.slice(from));
    await until(() => committed() || this.over).catch(() => {});
    const text = this.said.slice(from).split('\n').filter((one) => one.includes('"text_delta"')).map((one) => JSON.parse(one).text).join('');
    check(committed() && text.includes(answer), `"${line}" was not answered with "${answer}": ${this.said}`);
  }
  get over() {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }
  async end() {
    this.process.stdin.end();
    return this.ended;
  }
}

const say = (server, session, message) => server.expect(200, 'POST', '/api/v1/turns', { body: { session, message } });
const texts = (data, session) =>
  tertulia(data, '--json', 'messages', 'list', '--last', '100000', session).trim().split('\n').map((line) => JSON.parse(line)).map((one) => one.message ?? one).filter((one) => one.role === 'user').map((one) => one.text);

test('Every command works beside a server', async () => {
  const server = await Server.start();
  const { data } = server;
  await say(server, 'ada', 'Add 10 and 20');
  const archive = join(folder(), 'ada.jsonl');
  const commands = [
    ['sessions', 'list'], ['sessions', 'tree', 'ada'], ['sessions', 'show', 'ada'], ['messages', 'list', 'ada'],
    ['branches', 'list', 'ada'], ['turns', 'ada'], ['tools', 'calls'], ['tools', 'unknown'], ['verify'], ['doctor'],
    ['memory', 'add', 'My sister is called Lina'], ['memory', 'search', 'sister'], ['memory', 'list'], ['memory', 'episodes'], ['workflow', 'list'],
    ['approve'], ['explain', 'ada', '--branch', 'main'], ['agents'], ['sessions', 'export', '-o', archive], ['backup', join(folder(), 'copy.db')],
    ['sessions', 'close', 'ada'], ['sessions', 'reap'], ['erase', '--session', 'ada', '--yes'], ['sessions', 'import', archive],
  ];
  const refused = [];
  for (const words of commands) {
    const done = spawnSync(program, ['--data', data, ...words], { encoding: 'utf8', env: environment, timeout: 60_000 });
    if (done.status !== 0) refused.push(`${words.join(' ')}: ${done.status} ${done.stderr}`);
  }
  equal(refused, []);
  equal((await server.expect(200, 'GET', '/api/v1/sessions')).sessions.map((one) => one.id), ['ada']);
});

test('A server and a chat go on with one conversation, turn by turn', async () => {
  const server = await Server.start();
  await say(server, 'ada', 'Add 10 and 20');
  const chat = new Chat(server.data, 'ada');
  await chat.ask('Now multiply the result by 5', '30 * 5 = 150.');
  await say(server, 'ada', 'Add 1 to the result');
  await chat.ask('Add 2 to the result', '2 + 151 = 153.');
  equal((await chat.end()).code, 0);
  equal(texts(server.data, 'ada'), ['Add 10 and 20', 'Now multiply the result by 5', 'Add 1 to the result', 'Add 2 to the result']);
});

test('What one remembers, the other knows at once', async () => {
  const server = await Server.start();
  const search = async () => JSON.stringify(await server.expect(200, 'POST', '/api/v1/memory/search', { body: { query: 'sister' } }));
  check(!(await search()).includes('Lina'), 'nobody has said it yet');
  tertulia(server.data, 'memory', 'add', 'My sister is called Lina');
  check((await search()).includes('Lina'), 'the server has not heard of it');
});

test('A second server is refused, and the first one is named', async () => {
  const server = await Server.start();
  const done = spawnSync(program, ['--data', server.data, 'serve', '--port', '0'], { encoding: 'utf8', env: environment, timeout: 60_000 });
  equal(done.status, 75);
  check(done.stderr.includes(server.url), done.stderr);
});

test('A chat takes the data over when the server is killed, and a new server joins it', async () => {
  const first = await Server.start();
  const { data } = first;
  const chat = new Chat(data, 'ada');
  await chat.ask('Add 10 and 20', '10 + 20 = 30.');
  await first.kill();
  await chat.ask('Now multiply the result by 5', '30 * 5 = 150.');
  const second = await Server.start({ data });
  await say(second, 'ada', 'Add 1 to the result');
  await chat.ask('Add 2 to the result', '2 + 151 = 153.');
  equal((await chat.end()).code, 0);
  await say(second, 'ada', 'Add 3 to the result');
  tertulia(data, 'verify');
  equal(texts(data, 'ada').length, 5);
});

test('Whoever holds the data may die at any time: what was acknowledged is there, once', async () => {
  const rounds = process.env.TERTULIA_FULL ? 60 : 6;
  const data = folder();
  const acknowledged = new Map();
  let dying = true;
  // Each program talks in a conversation of its own until it is killed; then the next one begins.
  const talk = async (name) => {
    for (let life = 0; dying; life += 1) {
      const session = `${name}-${life}`;
      const chat = new Chat(data, session);
      talkers.set(name, chat);
      for (let n = 1; dying && !chat.over; n += 1) {
        try {
          await chat.ask(`Add ${n} and 0`, `${n} + 0 = ${n}.`);
          acknowledged.set(session, n);
        } catch {
          break;
        }
      }
      if (!dying) await chat.end();
    }
  };
  const talkers = new Map();
  const all = ['one', 'two', 'three'].map(talk);
  for (let round = 0; round < rounds; round += 1) {
    const victim = talkers.get(['one', 'two', 'three'][round % 3]);
    const before = [...acknowledged.values()].reduce((sum, n) => sum + n, 0);
    await until(() => [...acknowledged.values()].reduce((sum, n) => sum + n, 0) >= before + 3);
    victim.process.kill('SIGKILL');
    await victim.ended;
  }
  dying = false;
  await Promise.all(all);
  tertulia(data, 'verify');
  for (const [session, count] of acknowledged) {
    const stored = texts(data, session).filter((text) => text !== undefined);
    equal(stored.slice(0, count), Array.from({ length: count }, (_, i) => `Add ${i + 1} and 0`), session);
    check(stored.length <= count + 1, `${session} holds more than was said: ${stored.length} of ${count}`);
  }
});

test('The socket is the owner\'s alone, and goes with the last one', async () => {
  const server = await Server.start();
  const socket = join(server.data, 'store.sock');
  equal(spawnSync('stat', ['-c', '%a %F', socket], { encoding: 'utf8' }).stdout.trim(), '600 socket');
  await server.stop();
  check(!existsSync(socket), 'it is left behind');
  check(readFileSync(join(server.data, 'STORE'), 'utf8').includes('SQLite'), 'the data is not');
});

await run();
