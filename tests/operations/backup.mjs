// backup.mjs PROGRAM: a copy of everything while a server works on it, and what doctor says of such data.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, equal, folder, program, run, Server, tertulia, test } from '../api/support.mjs';

const env = { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' };
const say = (server, session, message) => server.expect(200, 'POST', '/api/v1/turns', { body: { session, message } });
const messages = async (server, session) => (await server.expect(200, 'GET', `/api/v1/sessions/${session}/messages`)).messages.map((message) => message.text);

// The program beside the server, which goes on meanwhile.
function beside(...args) {
  const child = spawn(program, args, { env });
  let text = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (bytes) => (text += bytes));
  return new Promise((done) => child.on('close', (status) => done({ status, text })));
}

test('A server is copied while it works, and the copy is whole', async () => {
  const server = await Server.start();
  for (let i = 0; i < 20; i += 1) await say(server, 's', `Number ${i}`);
  let working = true;
  const work = (async () => {
    for (let i = 0; working; i += 1) await say(server, `busy-${i % 5}`, `Meanwhile ${i}`);
  })();
  const target = join(folder(), 'copy');
  const copied = await beside('--data', server.data, 'backup', target);
  working = false;
  await work;
  equal([copied.status, copied.text], [0, `Wrote the backup ${target}.\n`]);
  const before = await messages(server, 's');
  equal(readdirSync(server.data).filter((name) => /^\.?backup[-.]/.test(name) && name !== 'backup.lock'), []);
  equal((await beside('--data', server.data, 'backup', target)).status, 1);
  await server.stop();

  const restored = join(folder(), 'data');
  tertulia(restored, 'restore', target);
  const report = tertulia(restored, 'verify');
  check(!/problem/.test(report) || /no problem/.test(report), report);
  const again = await Server.start({ data: restored });
  equal(await messages(again, 's'), before);
  await again.stop();
});

test('What a person has put into the data directory is there after a start', async () => {
  const data = folder();
  tertulia(data, 'keys', 'create');
  writeFileSync(join(data, 'backup-monday.db'), 'mine');
  await (await Server.start({ data })).stop();
  equal(readFileSync(join(data, 'backup-monday.db'), 'utf8'), 'mine');
});

test('One that uses JSON files says that it must stop', async () => {
  const server = await Server.start({ config: '[store]\nkind = "json"\n' });
  await say(server, 's', 'Hello');
  const target = join(folder(), 'copy');
  const refused = await beside('--data', server.data, 'backup', target);
  equal([refused.status, existsSync(target)], [75, false]);
  check(refused.text.includes('stop the server'), refused.text);
  await server.stop();
  equal((await beside('--data', server.data, 'backup', target)).status, 0);
});

test('Data that another program than a server has open is copied by that program', async () => {
  const data = folder();
  const chat = spawn(program, ['--data', data, 'chat', '--lines', '--session', 's'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  chat.stdin.write('Add 10 and 20\n');
  await new Promise((said) => chat.stdout.once('data', said));
  const target = join(folder(), 'copy');
  const copied = await beside('--data', data, 'backup', target);
  equal([copied.status, chat.exitCode, chat.signalCode], [0, null, null], copied.text);
  chat.stdin.end();
  await new Promise((done) => chat.once('exit', done));
  const restored = join(folder(), 'data');
  equal((await beside('--data', restored, 'restore', target)).status, 0);
  check(tertulia(restored, 'messages', 'list', 's').includes('Add 10 and 20'), 'the copy lacks what was said');
});

test('Doctor says who serves the data, and finds nothing wrong with that', async () => {
  const server = await Server.start();
  const done = spawnSync(program, ['--json', '--data', server.data, 'doctor'], { encoding: 'utf8', env });
  const store = done.stdout.trim().split('\n').map((line) => JSON.parse(line)).find((one) => one.check === 'store');
  equal([done.status, store.state], [0, 'note']);
  check(store.message.includes(server.url) && store.message.includes(String(server.process.pid)), store.message);
});

await run();
