// The real server on a free port, speaking through the tests' model. `restart` kills it and starts it on the same data.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { startModel } from './model.mjs';

const program = process.env.TERTULIA;
if (!program) throw new Error('TERTULIA names the program to be tested');

// `more` is added to the configuration.
export async function startServer({ more = '' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tertulia-clients-'));
  const model = await startModel();
  const config = join(folder, 'config.toml');
  writeFileSync(
    config,
    `[models.script]
provider = "openai-compatible"
model = "script"
base_url = "${model.url}"
[agents.default]
model = "script"
[agents.asking]
model = "script"
tools = ["calculator"]
permissions = { read_only = "ask" }
${more}`,
  );
  const environment = { PATH: process.env.PATH, HOME: folder };
  const common = ['--json', '--data', join(folder, 'data'), '--config', config];
  // These clients always show a key. It acts for the same person as somebody on this machine who shows none.
  const made = execFileSync(program, [...common, '--tenant', 'local', 'keys', 'create', '--access', 'write', '--user', 'local'], { env: environment });
  const { key, id } = JSON.parse(made);
  const server = { model, folder, key, keyId: id };
  server.tertulia = (...args) => execFileSync(program, [...common, ...args], { env: environment, encoding: 'utf8' });
  const start = async (port) => {
    const child = spawn(program, [...common, 'serve', '--port', String(port)], { stdio: ['ignore', 'pipe', 'inherit'], env: environment });
    server.child = child;
    const ended = new Promise((_, reject) => child.once('exit', (code) => reject(new Error(`the server ended: ${code}`))));
    ended.catch(() => {});
    const line = new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
    server.url = JSON.parse(await Promise.race([line, ended])).listening;
  };
  await start(0);
  server.base = `${server.url}/v1`;
  const stopped = () => new Promise((resolve) => (server.child.exitCode === null && server.child.signalCode === null ? server.child.once('exit', resolve) : resolve()));
  server.kill = async () => {
    server.child.kill('SIGKILL');
    await stopped();
  };
  server.restart = async () => {
    await server.kill();
    await start(new URL(server.url).port);
  };
  server.stop = async () => {
    await server.kill();
    model.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return server;
}
