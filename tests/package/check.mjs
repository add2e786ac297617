// check.mjs BUILD SOURCE: packs BUILD's program, looks into the package, unpacks it and starts the server from there.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [build, source] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tertulia-package-'));
const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

try {
  execFileSync('cpack', ['--config', join(build, 'CPackConfig.cmake'), '-B', folder], { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder });
  const [name] = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  assert.match(name, /^tertulia_\d+\.\d+\.\d+_\w+\.deb$/);
  const deb = join(folder, name);

  // What dpkg is told.
  const field = (key) => run('dpkg-deb', '-f', deb, key).trim();
  assert.equal(field('Package'), 'tertulia');
  assert.match(field('Depends'), /adduser/);
  assert.match(field('Depends'), /libc6 \(>= /, 'the libraries that the program needs');
  run('dpkg-deb', '-e', deb, join(folder, 'control'));
  assert.equal(readFileSync(join(folder, 'control/conffiles'), 'utf8'), '/etc/tertulia/config.toml\n');
  for (const script of ['postinst', 'prerm', 'postrm']) {
    const path = join(folder, 'control', script);
    assert.equal(statSync(path).mode & 0o777, 0o755, script);
    assert.equal(spawnSync('sh', ['-n', path]).status, 0, `${script} is a shell script`);
  }

  // What is installed, and whose it is.
  const listed = run('dpkg-deb', '-c', deb).split('\n').filter(Boolean);
  assert.ok(listed.every((line) => line.includes(' root/root ')), 'everything is root\'s');
  const files = listed.filter((line) => !line.startsWith('d')).map((line) => line.split(/\s+/)[5].slice(1)).sort();
  assert.deepEqual(files, ['/etc/tertulia/config.toml', '/usr/bin/tertulia', '/usr/lib/systemd/system/tertulia.service',
    '/usr/share/doc/tertulia/changelog.gz', '/usr/share/doc/tertulia/copyright', '/usr/share/man/man1/tertulia.1.gz']);
  run('dpkg-deb', '-x', deb, join(folder, 'root'));
  const program = join(folder, 'root/usr/bin/tertulia');
  const unit = readFileSync(join(folder, 'root/usr/lib/systemd/system/tertulia.service'), 'utf8');
  const [, start] = /^ExecStart=(.*)$/m.exec(unit);
  assert.match(start, /^\/usr\/bin\/tertulia .* --config \/etc\/tertulia\/config.toml serve$/);
  assert.equal(unit, readFileSync(join(source, 'apps/server/tertulia.service'), 'utf8'));

  // The server as the unit starts it, below another root.
  const args = start.split(' ').slice(1).map((word) => (word.startsWith('/') ? join(folder, 'root', word) : word));
  const child = spawn(program, ['--json', ...args, '--port', '0'], { env: { PATH: process.env.PATH, HOME: folder }, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.once('exit', (code) => done(code)));
  const line = new Promise((done) => createInterface({ input: child.stdout }).once('line', done));
  const first = await Promise.race([line, ended.then((code) => { throw new Error(`the server ended with ${code}`); })]);
  const { listening } = JSON.parse(first);
  const reply = await fetch(`${listening}/api/v1/turns`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"message":"Add 10 and 20"}' });
  assert.equal(reply.status, 200);
  assert.match((await reply.json()).text, /30/);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  console.log(`${name}: ${Math.round(statSync(deb).size / 1e6)} MB, installs ${files.length} files, and serves`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
