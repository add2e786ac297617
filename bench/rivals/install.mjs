// install(): puts the rivals where their programs find them. They are npm packages, pinned by package-lock.json and installed
// once for a user. better-sqlite3 is compiled if there is no ready binary for this Node.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

export function install() {
  const lock = fs.readFileSync(path.join(here, 'package-lock.json'));
  const name = createHash('sha256').update(lock).digest('hex').slice(0, 12) + `-node${process.versions.modules}`;
  const cache = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'tertulia/rivals', name);
  const done = path.join(cache, 'installed');
  if (!fs.existsSync(done)) {
    console.error('Installing the rivals with npm; this takes minutes, once.');
    fs.mkdirSync(cache, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(here, file), path.join(cache, file));
    const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: cache, stdio: ['ignore', 2, 2] });
    if (npm.status !== 0) throw new Error('npm ci failed; see above');
    fs.writeFileSync(done, '');
  }
  const link = path.join(here, 'node_modules');
  fs.rmSync(link, { recursive: true, force: true });
  fs.symlinkSync(path.join(cache, 'node_modules'), link);
}
