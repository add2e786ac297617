// questions.mjs PROGRAM: what a call wants to know while it runs, answered through the server and through the program.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { check, equal, program, provider, run, Server, test, until } from './support.mjs';

async function start() {
  const file = fileURLToPath(new URL('../support/asking_mcp_server.mjs', import.meta.url));
  const model = await provider(({ messages, tools }) => {
    const last = messages.at(-1);
    if (last.role === 'tool') return [`It says: ${last.content}`];
    return [{ call: tools[0].function.name, arguments: {} }];
  });
  return Server.start({ config: `${model}
[mcp.desk]
command = "${process.execPath}"
args = ["${file}"]
[agents.default]
tools = ["mcp.desk"]
permissions = { unsafe = "allow" }
` });
}

// The question of a turn that has been begun.
async function question(server) {
  let found;
  await until(async () => {
    [found] = (await server.expect(200, 'GET', '/api/v1/questions')).questions;
    return found;
  });
  return found;
}

async function approve(...args) {
  const child = spawn(program, ['approve', ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' } });
  let out = '';
  child.stdout.on('data', (bytes) => (out += bytes));
  child.stderr.on('data', (bytes) => (out += bytes));
  return { code: await new Promise((done) => child.on('close', done)), out };
}

const begin = (server) => server.call('POST', '/api/v1/turns', { body: { session: 's', message: 'Book a table' } });

test('What a call wants to know is told with its words and its schema, and answered by its part', async () => {
  const server = await start();
  const turn = begin(server);
  const asked = await question(server);
  equal([asked.kind, asked.text, asked.schema.required], ['elicitation', 'Which day?', ['day']]);
  const path = `/api/v1/sessions/s/turns/${asked.turn}/questions/`;
  const body = { choice: 'output', output: '{"day":"Monday"}' };
  await server.expect(404, 'POST', `${path}${asked.call}.0123`, { body });
  await server.expect(400, 'POST', `${path}${asked.call}.`, { body });
  await server.expect(200, 'POST', `${path}${asked.call}.${asked.part}`, { body });
  check((await turn).text.includes('It says: accept Monday'), (await turn).text);
});

test('The program answers it through the server, or refuses', async () => {
  const server = await start();
  const turn = begin(server);
  await question(server);
  const listed = await approve('--server', server.url);
  check(/Which day\?/.test(listed.out) && /--output/.test(listed.out), listed.out);
  const id = /^(\S+\/\d+\/\S+)/m.exec(listed.out)[1];
  const answered = await approve('--server', server.url, id, '--output', '{"day": "Tuesday"}');
  equal([answered.code, answered.out], [0, 'Answered. The server goes on with the turn.\n']);
  check((await turn).text.includes('It says: accept Tuesday'), (await turn).text);
  const again = begin(server);
  const { turn: second } = await question(server);
  equal((await approve('--server', server.url, second, 'no')).code, 0);
  check((await again).text.includes('It says: decline nothing'), (await again).text);
});

test('AG-UI is told what is wanted, and gives it', async () => {
  const server = await start();
  const go = async (more) => {
    const body = { threadId: 's', runId: `run-${Math.random()}`, messages: [{ id: '1', role: 'user', content: 'Book a table' }], tools: [], ...more };
    const { text } = await server.call('POST', '/api/v1/ag-ui', { body });
    return text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
  };
  const { outcome } = (await go({})).at(-1);
  const [asked] = outcome.interrupts;
  equal([asked.reason, asked.message, asked.responseSchema.required], ['input_required', 'Which day?', ['day']]);
  const resume = [{ interruptId: asked.id, status: 'resolved', payload: { day: 'Friday' } }];
  const rest = await go({ resume });
  equal(rest.at(-1).outcome.type, 'success');
  equal(rest.filter((event) => event.type === 'TEXT_MESSAGE_CONTENT').map((event) => event.delta).join(''), 'It says: accept Friday');
  equal((await server.call('POST', '/api/v1/ag-ui', { body: { threadId: 's', runId: 'r', messages: [], resume } })).json.error.code, 'no_question');
});

await run();
