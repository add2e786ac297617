// The typed client of clients/typescript, built as it is published, against the server.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { startServer } from './harness.mjs';

const { TERTULIA_SOURCE, TERTULIA_TSC } = process.env;
let built;
let server;
let client;
let TertuliaError;
before(async () => {
  built = mkdtempSync(join(tmpdir(), 'tertulia-typescript-'));
  cpSync(join(TERTULIA_SOURCE, 'clients/typescript'), built, { recursive: true });
  execFileSync(process.execPath, [TERTULIA_TSC, '-p', join(built, 'tsconfig.json')], { stdio: 'inherit' });
  const module = await import(pathToFileURL(join(built, 'dist/index.js')));
  TertuliaError = module.TertuliaError;
  server = await startServer();
  client = new module.Tertulia({ base: server.url });
});
after(async () => {
  await server.stop();
  rmSync(built, { recursive: true, force: true });
});

test('it has a method for every route of the native API', () => {
  const { paths } = JSON.parse(readFileSync(join(TERTULIA_SOURCE, 'docs/api/openapi.json'), 'utf8'));
  const source = readFileSync(join(TERTULIA_SOURCE, 'clients/typescript/src/client.ts'), 'utf8').replace(/\$\{[^}]*\}/g, '{}');
  const others = /^\/(v1\/|health|ready|metrics|openapi|api\/v1\/(ui\/|ag-ui))/;
  const missing = Object.keys(paths).filter((path) => path.startsWith('/api/v1/') && !others.test(path))
    .map((path) => path.slice('/api/v1'.length).replace(/\{\w+\}/g, '{}')).filter((path) => !source.includes(`'${path}'`) && !source.includes(`\`${path}\``));
  assert.deepEqual(missing, []);
});

test('a turn is said and streamed, and a session changes only at its revision', async () => {
  const first = await client.say({ session: 'ts', message: 'one' });
  assert.deepEqual([first.text, first.status], ['You said: one (1)', 'committed']);
  const stream = client.send({ session: 'ts', message: 'two' });
  let text = '';
  for await (const event of stream) if (event.kind === 'text_delta') text += event.text;
  assert.deepEqual([text, stream.outcome.text], ['You said: two (2)', 'You said: two (2)']);
  assert.equal((await client.turn('ts', stream.outcome.turn)).status, 'committed');
  const { revision } = await client.session('ts');
  assert.deepEqual((await client.patchSession('ts', { a: 1 }, revision)).metadata, { a: 1 });
  await assert.rejects(client.patchSession('ts', { a: 2 }, revision), (problem) => problem instanceof TertuliaError && problem.code === 'revision_conflict');
  await assert.rejects(client.say({ session: 'ts', message: 'three' }, { revision }), { code: 'revision_conflict' });
  const branch = await client.fork('ts', { id: 'side', at_index: 1 });
  assert.deepEqual([branch.id, (await client.branch('ts', 'side')).messages], ['side', 2]);
});

test('a stream comes back by itself when the server is killed: no gap, no duplicate', async () => {
  const stream = client.send({ session: 'killed', message: 'hold' }, { backoff: () => 20 });
  const numbers = [];
  let text = '';
  let restarted;
  for await (const event of stream) {
    numbers.push(event.number);
    if (event.kind === 'reset') text = '';
    if (event.kind !== 'text_delta') continue;
    text += event.text;
    if (!text.endsWith('two ')) continue;
    if (restarted) await server.model.letGo();
    else restarted = await server.restart().then(() => true);
  }
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  assert.deepEqual([text, stream.outcome.text], ['one two three', 'one two three']);
});

test('a turn that runs is cut for another message', async () => {
  const held = client.send({ session: 'cut', message: 'hold' });
  let turn;
  for await (const event of held) {
    turn = event.turn;
    if (event.kind === 'text_delta' && event.text === 'two ') break;
  }
  const next = await client.interrupt('cut', turn, { message: 'instead' }).finished();
  assert.equal(next.text, 'You said: instead (2)');
  assert.equal((await client.turn('cut', turn)).status, 'interrupted');
});

test('an archive goes out and comes back, and a user is erased', async () => {
  await client.say({ session: 'archived', message: 'kept' });
  const archive = await (await client.exportSession('archived')).text();
  await client.deleteSession('archived');
  assert.equal((await client.importSessions(archive)).sessions, 1);
  assert.equal((await client.messages('archived')).messages[0].text, 'kept');
  assert.ok((await (await client.exportUser('local')).text()).includes('kept'));
  assert.ok((await client.eraseUser('local')).sessions > 0);
  assert.deepEqual((await client.sessions()).sessions, []);
});
