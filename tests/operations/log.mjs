// log.mjs PROGRAM: what the log of a server tells whoever runs it.
import { writeFileSync } from 'node:fs';
import { check, equal, run, Server, test, until } from '../api/support.mjs';

const lines = (server) => server.errors.split('\n').filter(Boolean);
const say = (server, message = 'Hello') => server.expect(200, 'POST', '/api/v1/turns', { body: { session: 's', message } });

test('What the engine and its middleware log comes out where the server logs, at its level and in its form', async () => {
  const server = await Server.start({ config: 'log.level = "info"\nlog.format = "json"\n[agents.default]\nmiddleware = { log = true }\n' });
  await say(server);
  await until(() => lines(server).some((line) => line.includes('"component":"turn"')));
  for (const line of lines(server)) check(JSON.parse(line).level, line);
});

test('At the usual level it says no more than before', async () => {
  const server = await Server.start({ config: '[agents.default]\nmiddleware = { log = true }\n' });
  await say(server);
  equal(lines(server), []);
});

test('A changed table is named as waiting for a restart', async () => {
  const before = 'log.level = "info"\n[agents.default]\nsystem_prompt = "one"\n';
  const server = await Server.start({ config: before });
  writeFileSync(server.config, before.replace('"one"', '"two"') + '[agents.more]\n', { mode: 0o600 });
  server.process.kill('SIGHUP');
  await until(() => server.errors.includes('were read again'));
  check(/waits for a restart key=agents\.default\.system_prompt/.test(server.errors), server.errors);
});

await run();
