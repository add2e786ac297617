// run.mjs [MODULES OUT]: compiles the unit tests and runs them with node's test runner. Without arguments, in the source tree.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stage } from '../stage.mjs';

const [modules, out] = process.argv.slice(2);
const place = modules ? stage(modules, join(out, 'units')) : join(dirname(fileURLToPath(import.meta.url)), '..');
const run = (...command) => {
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit', cwd: place });
  if (status !== 0) process.exit(status ?? 1);
};
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json');
run('node_modules/typescript/bin/tsc', '-p', 'tests/tsconfig.json');
const made = join(place, 'dist/tests/apps/web/tests');
run('--test', ...readdirSync(made).filter((name) => name.endsWith('.test.js')).map((name) => join(made, name)));
