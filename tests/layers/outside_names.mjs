// outside_names.mjs ROOT: in apps/, where everything comes from outside, tenants, owners and sessions are read with
// from_outside() (libs/base/include/tertulia/base/outside_name.h), which refuses the names of the program's own.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = process.argv[2];
// What the program itself wrote, in sessions that nobody outside can name.
const written = new Set(['apps/host/ingest_record.cc', 'apps/host/run_marker.cc']);

function* sources(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!['tests', 'web', 'node_modules'].includes(entry.name)) yield* sources(path);
    } else if (/\.(h|cc)$/.test(entry.name)) {
      yield path;
    }
  }
}

let wrong = 0;
let right = 0;
for (const path of sources(join(root, 'apps'))) {
  const name = relative(root, path);
  const text = readFileSync(path, 'utf8');
  right += [...text.matchAll(/from_outside<\w+Id>\(/g)].length;
  if (written.has(name)) continue;
  for (const [call] of text.matchAll(/\b(?:Tenant|Owner|Session)Id::parse\([^)]*\)?/g)) {
    if (/\("[^"~]/.test(call)) continue;
    console.error(`${name}: ${call}: what comes from outside is read with from_outside()`);
    wrong += 1;
  }
}
if (right < 10) console.error(`only ${right} doors were found: this script no longer understands the sources`);
process.exit(wrong > 0 || right < 10 ? 1 : 0);
