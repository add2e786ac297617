// doctor.mjs PROGRAM: what doctor finds wrong with a server before anybody starts it.
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { check, equal, folder, program, run, tertulia, test } from '../api/support.mjs';

// Everything that is found, by what was looked at.
function examine(data, config) {
  const file = join(folder(), 'config.toml');
  writeFileSync(file, config, { mode: 0o600 });
  const done = spawnSync(program, ['--json', '--data', data, '--config', file, 'doctor'], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
  const found = done.stdout.trim().split('\n').map((line) => JSON.parse(line));
  return { status: done.status, of: (what) => found.filter((one) => one.check === what), stderr: done.stderr };
}

test('A server that could start has nothing to be said against it', async () => {
  const { status, of } = examine(folder(), '[server]\nport = 0\n');
  equal(status, 0);
  for (const what of ['config', 'port', 'keys', 'disk', 'clock']) equal(of(what).map((one) => one.state), ['ok'], what);
});

test('A port that is taken is noted', async () => {
  const other = net.createServer();
  await new Promise((done) => other.listen(0, '127.0.0.1', done));
  const { status, of } = examine(folder(), `[server]\nport = ${other.address().port}\n`);
  equal([status, of('port')[0].state], [0, 'note']);
  check(of('port')[0].message.includes(String(other.address().port)), of('port')[0].message);
  other.close();
});

test('An address of others needs a key, and keys are nobody else\'s to read', async () => {
  const data = folder();
  const open = '[server]\naddress = "0.0.0.0"\nport = 0\n';
  const without = examine(data, open);
  equal([without.status, without.of('keys')[0].state], [78, 'problem']);
  tertulia(data, 'keys', 'create', '--name', 'one');
  equal(examine(data, open).of('keys').map((one) => one.state), ['ok']);
  chmodSync(join(data, 'keys.json'), 0o644);
  const readable = examine(data, open);
  equal(readable.status, 78);
  check(readable.of('keys')[0].message.includes('keys.json'), readable.of('keys')[0].message);
});

test('A certificate that cannot be used is found', async () => {
  const { status, of } = examine(folder(), '[server]\nport = 0\ntls_certificate = "/nonexistent.crt"\ntls_key = "/nonexistent.key"\n');
  equal([status, of('tls')[0].state], [78, 'problem']);
});

await run();
