// conformance.mjs PROGRAMS CLIENT: runs every client scenario of the conformance suite but those about
// authorisation, side by side, and fails if one does. A scenario that a newer suite brings is run by itself.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [programs, client] = process.argv.slice(2);
const suite = join(programs, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

function run(args, cwd) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (part) => (text += part));
    child.stderr.on('data', (part) => (text += part));
    child.on('close', (code) => resolve({ code, text }));
  });
}

function checks(folder) {
  let found = [];
  for (const entry of readdirSync(folder, { recursive: true })) {
    if (entry.endsWith('checks.json')) found = found.concat(JSON.parse(readFileSync(join(folder, entry), 'utf8')));
  }
  return found;
}

async function judge(scenario) {
  const folder = mkdtempSync(join(tmpdir(), 'tertulia-conformance-'));
  try {
    const { code, text } = await run(['client', '--command', client, '--scenario', scenario, '-o', folder], folder);
    const made = checks(folder);
    // That a reconnection came late says how busy the machine is.
    const bad = made.filter((check) => check.status === 'FAILURE' || (check.status === 'WARNING' && check.id !== 'client-sse-retry-timing'));
    const good = made.filter((check) => check.status === 'SUCCESS').length;
    const passed = code === 0 && bad.length === 0 && good > 0;
    console.log(`${passed ? 'passed' : 'FAILED'} ${scenario}: ${good} of ${good + bad.length} checks`);
    if (!passed) console.log(text);
    return passed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { text } = await run(['list'], tmpdir());
const listed = text.slice(text.indexOf('Client scenarios')).match(/^ {2}- (\S+)/gm) ?? [];
const scenarios = listed.map((line) => line.slice(4)).filter((name) => !name.startsWith('auth/'));
if (scenarios.length === 0) throw new Error('the suite lists no client scenarios:\n' + text);
const passed = await Promise.all(scenarios.map(judge));
process.exit(passed.every(Boolean) ? 0 : 1);
