// ctest.mjs PRESET [--all] [CTEST OPTIONS…]: runs the tests of a build, those that a change could have broken.
//
// A test that passed is not run again while nothing that it depends on has changed: its command and environment, the
// programs of the build that the command names, and every file of the tree that is not compiled. A test of the whole
// tree, or one that names no program of the build, depends on everything. --all runs them all, as CI does.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const [preset, ...rest] = process.argv.slice(2);
const all = rest.includes('--all') || process.env.CI === 'true';
const options = rest.filter((option) => option !== '--all');
const build = join(process.cwd(), 'build', preset);
const green = join(build, 'green');
mkdirSync(green, { recursive: true });

const sha = (data) => createHash('sha256').update(data).digest('hex');
const output = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28 });

const files = output('git', 'ls-files', '-co', '--exclude-standard').split('\n').filter((file) => file && existsSync(file) && statSync(file).isFile());
const is_compiled = (file) => /\.(cc|h)$/.test(file) && !file.startsWith('tests/consume/');
const hash_of_files = (some) => sha(some.map((file) => `${file} ${sha(readFileSync(file))}`).join('\n'));
const surroundings = hash_of_files(files.filter((file) => !is_compiled(file)));
const tree = hash_of_files(files);

const programs = new Map();
function hash_of_program(path) {
  if (!programs.has(path)) programs.set(path, sha(readFileSync(path)));
  return programs.get(path);
}

const property = (test, name) => test.properties?.find((one) => one.name === name)?.value;
function key_of(test) {
  const used = (test.command ?? []).filter((word) => word.startsWith(join(build, 'bin')) && existsSync(word) && statSync(word).isFile());
  const whole = used.length === 0 || (property(test, 'LABELS') ?? []).includes('whole-tree');
  const facts = [test.command, property(test, 'ENVIRONMENT'), process.env.TERTULIA_FULL, process.env.TERTULIA_LONG, surroundings];
  return sha(JSON.stringify([...facts, ...used.map(hash_of_program), whole ? tree : '']));
}

const listed = JSON.parse(output('ctest', '--preset', preset, '--show-only=json-v1', ...options)).tests;
const tests = listed.map((test) => ({ name: test.name, mark: join(green, test.name), key: key_of(test) }));
const is_green = (test) => existsSync(test.mark) && readFileSync(test.mark, 'utf8') === test.key;
const todo = all ? tests : tests.filter((test) => !is_green(test));
for (const test of tests) if (!todo.includes(test)) console.log(`unchanged since it passed: ${test.name}`);
if (todo.length === 0) {
  console.log(`${tests.length} tests, nothing that they depend on has changed since they passed`);
  process.exit(0);
}
for (const test of todo) rmSync(test.mark, { force: true });

const escape = (name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const report = join(build, 'ctest.xml');
const chosen = todo.length === tests.length ? [] : ['-R', `^(${todo.map((test) => escape(test.name)).join('|')})$`];
// What is long or wants two cores begins first, as the tests say (COST), not as their last run says: tests of a browser
// would come last, each alone. More than there are cores, because many tests wait for a child or a timer.
rmSync(join(build, 'Testing/Temporary/CTestCostData.txt'), { force: true });
const run = spawnSync('ctest', ['--preset', preset, '--verbose', '--parallel', String(availableParallelism() + 2),
  '--output-junit', report, ...options, ...chosen], { stdio: 'inherit' });
const passed = new Set();
for (const [, name, status] of readFileSync(report, 'utf8').matchAll(/<testcase name="([^"]*)"[^>]*? status="(\w+)"/g)) {
  if (status === 'run') passed.add(name);
}
for (const test of todo) if (passed.has(test.name)) writeFileSync(test.mark, test.key);
process.exit(run.status ?? 1);
