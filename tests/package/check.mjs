// check.mjs BUILD SOURCE: packs BUILD's program, looks into the package, unpacks it and starts the server from there; then
// installs it with dpkg, where the machine lets us have a copy of itself that goes away again.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [build, source] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'tertulia-package-'));
const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const kInstall = `
over="$1/over"
mkdir "$over" && mount -t tmpfs tmpfs "$over" && mkdir "$over/up" "$over/work" "$over/root" || exit 77
mount -t overlay overlay -o "lowerdir=/,upperdir=$over/up,workdir=$over/work" "$over/root" 2>/dev/null || exit 77
mount -t proc proc "$over/root/proc" || exit 77
mount --bind /dev "$over/root/dev" || exit 77
cp "$2" "$over/root/tertulia.deb"
chroot "$over/root" sh -ec '
expect() { [ "$2" = "$3" ] || { echo "$1: expected $3, got $2"; exit 1; }; }
dpkg -i /tertulia.deb >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; exit 1; }
expect "state" "$(dpkg -s tertulia | grep ^Status)" "Status: install ok installed"
getent passwd tertulia >/dev/null
expect "the data" "$(stat -c "%U %G %a" /var/lib/tertulia)" "tertulia tertulia 700"
expect "the configuration" "$(stat -c "%U %G %a" /etc/tertulia/config.toml)" "root tertulia 640"
if command -v systemd-analyze >/dev/null; then systemd-analyze verify /usr/lib/systemd/system/tertulia.service; fi
mkfifo /tmp/said
setpriv --reuid tertulia --regid tertulia --init-groups env -i PATH=/usr/bin:/bin HOME=/nonexistent \
  /usr/bin/tertulia --json --data /var/lib/tertulia --config /etc/tertulia/config.toml serve --port 0 >/tmp/said &
server=$!
read -r line </tmp/said
case "$line" in *listening*) ;; *) echo "it said: $line"; exit 1;; esac
kill -TERM "$server"
wait "$server"
expect "what is not its own" "$(find /var/lib/tertulia ! -user tertulia)" ""
dpkg -r tertulia >/dev/null
[ ! -e /usr/bin/tertulia ] && [ -e /etc/tertulia/config.toml ]
dpkg -P tertulia >/dev/null
[ ! -e /etc/tertulia/config.toml ] && [ -d /var/lib/tertulia ]
echo "dpkg installed it, it served as its own user, and purging it kept the conversations"
'
`;

// The other packages: what is in them, what they ask for, and that a program builds and runs with them alone.
function checkLibraries(debs) {
  const deb = (start) => join(folder, debs.find((file) => file.startsWith(start)));
  const told = (start, key) => run('dpkg-deb', '-f', deb(start), key).trim();
  const listing = (start) => run('dpkg-deb', '-c', deb(start));
  assert.match(told('libtertulia0.1_', 'Depends'), /libcurl4.*libsqlite3-0|libsqlite3-0.*libcurl4/);
  assert.doesNotMatch(told('libtertulia0.1_', 'Depends'), /dnnl|poppler|gomp/);
  assert.match(told('libtertulia-dev_', 'Depends'), /libtertulia0\.1 \(= \d/);
  assert.equal(told('tertulia-minilm_', 'Architecture'), 'all');
  for (const file of ['libtertulia.so.0.1', 'libexec/tertulia/tertulia-extract', 'doc/libtertulia0.1/copyright']) {
    assert.ok(listing('libtertulia0.1_').includes(file), `libtertulia0.1 holds ${file}`);
  }
  for (const file of ['libtertulia.so ->', 'libtertulia_agent.a', 'include/tertulia/tertulia.h', 'tertulia-config.cmake', 'tertulia.pc']) {
    assert.ok(listing('libtertulia-dev_').includes(file), `libtertulia-dev holds ${file}`);
  }
  const unpacked = join(folder, 'libraries');
  for (const start of ['libtertulia0.1_', 'libtertulia-dev_']) run('dpkg-deb', '-x', deb(start), unpacked);
  const library = join(unpacked, 'usr/lib');
  const flags = execFileSync('pkg-config', ['--define-prefix', '--cflags', '--libs', 'tertulia'], {
    encoding: 'utf8', env: { ...process.env, PKG_CONFIG_PATH: join(library, 'pkgconfig') },
  }).trim().split(/\s+/);
  run('g++-12', '-std=c++20', join(source, 'examples/embed/main.cc'), '-o', join(folder, 'first'), ...flags);
  const said = execFileSync(join(folder, 'first'), [join(folder, 'conversations')], { encoding: 'utf8', env: { LD_LIBRARY_PATH: library } });
  assert.equal(said, '10 + 20 = 30.\n');
  run('strip', join(folder, 'first'));
  console.log(`a program with libtertulia.so: ${statSync(join(folder, 'first')).size} bytes stripped`);
}

try {
  execFileSync('cpack', ['--config', join(build, 'CPackConfig.cmake'), '-B', folder], { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder });
  const debs = readdirSync(folder).filter((file) => file.endsWith('.deb')).sort();
  assert.deepEqual(debs.map((file) => file.replace(/_.*/, '')).sort(), ['libtertulia-dev', 'libtertulia0.1', 'tertulia', 'tertulia-minilm']);
  const name = debs.find((file) => /^tertulia_\d+\.\d+\.\d+_\w+\.deb$/.test(file));
  const deb = join(folder, name);
  checkLibraries(debs);

  // What dpkg is told.
  const field = (key) => run('dpkg-deb', '-f', deb, key).trim();
  assert.equal(field('Package'), 'tertulia');
  assert.match(field('Depends'), /adduser/);
  assert.match(field('Depends'), /libc6 \(>= /, 'the libraries that the program needs');
  assert.match(field('Depends'), /libcurl4/, 'and that which it loads');
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

  // Installed, started as its own user, removed and purged, on top of the files of this machine: what is written lies in memory, in a
  // view of the file system that only these processes have.
  const allowed = spawnSync('unshare', ['--mount', 'true']).status === 0;
  const installed = allowed ? spawnSync('unshare', ['--mount', 'sh', '-ec', kInstall, 'install', folder, deb], { encoding: 'utf8' }) : { status: 77 };
  if (installed.status === 77) {
    console.log('not installed with dpkg: that needs root and an overlay file system');
  } else {
    assert.equal(installed.status, 0, `${installed.stdout}\n${installed.stderr}`);
    console.log(installed.stdout.trim());
  }
  console.log(`${name}: ${Math.round(statSync(deb).size / 1e6)} MB, installs ${files.length} files, and serves`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
