// The examples of examples/server against a server as it comes: embedded defaults, the offline model.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const examples = join(process.env.TERTULIA_SOURCE, 'examples/server');
const expected = (name) => readFileSync(join(examples, `${name}.expected`), 'utf8');
let folder;
let server;
let url;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tertulia-examples-'));
  const env = { PATH: process.env.PATH, HOME: folder };
  server = spawn(process.env.TERTULIA, ['--json', '--data', join(folder, 'data'), 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  url = JSON.parse(await new Promise((resolve) => createInterface({ input: server.stdout }).once('line', resolve))).listening;
});
after(async () => {
  server.kill('SIGKILL');
  await new Promise((resolve) => server.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
});

test('curl', () => {
  assert.equal(execFileSync('sh', [join(examples, 'curl.sh'), url], { encoding: 'utf8' }), expected('curl'));
});

test('openai', () => {
  // Beside its package, because that is where node looks for it.
  copyFileSync(join(examples, 'openai.mjs'), join(here, 'example_openai.mjs'));
  assert.equal(execFileSync(process.execPath, [join(here, 'example_openai.mjs'), url], { encoding: 'utf8' }), expected('openai'));
});

test('C++', () => {
  assert.equal(execFileSync(process.env.TERTULIA_EXAMPLE_CLIENT, [url], { encoding: 'utf8' }), expected('client'));
});
