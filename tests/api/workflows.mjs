// workflows.mjs PROGRAM: runs of several agents through the API.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unused } from './openapi.mjs';
import { check, equal, folder, moment, provider, run, Server, tertulia, test, until } from './support.mjs';

const place = folder();
const review = join(place, 'review.toml');
writeFileSync(review, `[workflow]
name = "review"
kind = "sequential"
participants = ["writer", "critic"]
[agents.writer]
instructions = "You are the writer."
[agents.critic]
instructions = "You are the critic."
`);
const asked = join(place, 'asked.toml');
writeFileSync(asked, `[workflow]
name = "asked"
kind = "sequential"
participants = ["writer", "critic"]
review = ["writer"]
[agents.writer]
instructions = "You are the writer."
[agents.critic]
instructions = "You are the critic."
`);
const workflows = `[workflows.review]\nfile = "${review}"\n[workflows.asked]\nfile = "${asked}"\n[workflows.broken]\nfile = "${join(place, 'none.toml')}"\n`;
const isCritic = (request) => JSON.stringify(request.messages).includes('You are the critic.');
const config = `${await provider((request) => (isCritic(request) ? ['Well ', 'said.'] : ['Porto ', 'is old.']))}${workflows}`;
const server = await Server.start({ config });
const api = '/api/v1/workflows';
const start = (name, body, options = {}) => server.expect(200, 'POST', `${api}/${name}/runs`, { body, ...options });

test('Workflows are those of the configuration, with their graphs', async () => {
  const { workflows: all } = await server.expect(200, 'GET', api);
  equal(all.map((one) => [one.id, one.participants, one.error?.code]), [
    ['asked', ['writer', 'critic'], undefined], ['broken', [], 'not_found'], ['review', ['writer', 'critic'], undefined]]);
  const { graph } = await server.expect(200, 'GET', `${api}/review`);
  equal([graph.start, graph.nodes.map((node) => [node.id, node.kind, node.agent]), graph.edges.map((edge) => [edge.from, edge.to])],
    ['writer', [['writer', 'agent', 'writer'], ['critic', 'agent', 'critic']], [['writer', 'critic']]]);
  const whole = await server.expect(200, 'GET', `${api}/review/graph?internal=true`);
  check(whole.nodes.length >= graph.nodes.length, 'plumbing is drawn if asked for');
  check((await server.expect(200, 'GET', `${api}/review/graph?format=mermaid`)).includes('writer'), 'mermaid');
  check((await server.expect(200, 'GET', `${api}/review/graph?format=dot`)).startsWith('digraph'), 'dot');
  const svg = await server.call('GET', `${api}/review/graph?format=svg`);
  equal([svg.status, svg.headers.get('content-type')], [200, 'image/svg+xml']);
  equal((await server.expect(404, 'GET', `${api}/nothing`)).error.code, 'not_found');
  equal((await server.expect(400, 'GET', `${api}/review/graph?format=gif`)).error.code, 'out_of_range');
});

test('A run answers with its outcome, and its words are those of its session', async () => {
  const outcome = await start('review', { message: 'A text about Porto.', session: 'porto' });
  equal([outcome.status, outcome.workflow, outcome.session, outcome.branch, outcome.text, outcome.requests], ['completed', 'review', 'porto', 'main', 'Well said.', []]);
  const { messages } = await server.expect(200, 'GET', '/api/v1/sessions/porto/messages');
  equal(messages.map((message) => message.text), ['A text about Porto.', 'Porto is old.', 'Well said.']);
  const shown = await server.expect(200, 'GET', `${api}/review/runs/${outcome.run}`);
  equal([shown.status, shown.live, shown.session, shown.branch], ['completed', false, 'porto', 'main']);
  check((await server.expect(200, 'GET', `${api}/review/runs?session=porto`)).runs.some((one) => one.run === outcome.run), 'it is listed');
  equal((await server.expect(200, 'GET', '/api/v1/workflow-runs?status=failed')).runs, []);
  const { checkpoints } = await server.expect(200, 'GET', `${api}/review/runs/${outcome.run}/checkpoints`);
  check(checkpoints.length >= 3 && checkpoints[1].parent === checkpoints[0].id, JSON.stringify(checkpoints));
  check((await server.expect(200, 'GET', `${api}/review/graph?format=mermaid&run=${outcome.run}`)).includes('completed'), 'marked');
  // The conversation goes on by its handle.
  const more = await start('review', { message: 'And Lisbon?', handle: outcome.handle });
  equal([more.session, more.status], ['porto', 'completed']);
  equal((await server.expect(409, 'POST', `${api}/review/runs`, { body: { message: 'x', handle: outcome.handle, exact: true } })).error.code, 'revision_conflict');
  for (const handle of ['th1_nonsense', `${outcome.handle}x`]) {
    equal((await server.expect(400, 'POST', `${api}/review/runs`, { body: { message: 'x', handle } })).error.code, 'invalid_handle');
  }
  equal((await server.expect(404, 'GET', `${api}/asked/runs/${outcome.run}`)).error.code, 'no_checkpoint');
  equal((await server.expect(404, 'GET', `${api}/review/runs/${outcome.run}`, { headers: { 'Tertulia-User': 'bea' } })).error.code, 'no_checkpoint');
});

test('A stream tells every event once, and can be read again from any of them, also after a restart', async () => {
  const own = await Server.start({ config });
  const stream = await own.stream('POST', `${api}/review/runs`, { body: { message: 'Go', session: 'told' } });
  equal(stream.headers.get('tertulia-session'), 'told');
  const id = stream.headers.get('tertulia-run');
  const frames = await stream.all();
  equal([frames[0].event, frames.at(-1).event, frames.at(-1).data.status], ['workflow_started', 'outcome', 'completed']);
  equal(frames.filter((frame) => frame.event === 'text_delta').map((frame) => frame.data.text).join(''), 'Porto is old.Well said.');
  equal(frames.slice(0, -1).map((frame) => frame.id), frames.slice(0, -1).map((_, i) => `${id}.${i}`));
  const same = async (where) => {
    for (const at of [0, 3, frames.length - 2]) {
      const rest = await (await where.stream('GET', `${api}/review/runs/${id}/events`, { headers: { 'Last-Event-ID': frames[at].id } })).all();
      equal(rest, frames.slice(at + 1), `behind ${at}:`);
      equal((await (await where.stream('GET', `${api}/review/runs/${id}/events?after=${at}`)).all()).length, rest.length);
    }
    equal(await (await where.stream('GET', `${api}/review/runs/${id}/events`)).all(), frames);
  };
  await same(own);
  await own.kill();
  await same(await Server.start({ data: own.data, config }));
  equal((await server.expect(404, 'GET', `${api}/review/runs/${id}/events`)).error.code, 'no_checkpoint');
  equal((await server.expect(400, 'GET', `${api}/review/runs/${id}/events`, { headers: { 'Last-Event-ID': 'other.7' } })).error.code, 'bad_event_id');
});

test('The same idempotency key gives the same run, and other words are refused', async () => {
  const headers = { 'Idempotency-Key': 'run-1' };
  const first = await start('review', { message: 'Once' }, { headers });
  equal(await start('review', { message: 'Once' }, { headers }), first);
  equal((await server.expect(422, 'POST', `${api}/review/runs`, { body: { message: 'Twice' }, headers })).error.code, 'key_reuse');
  equal((await server.expect(200, 'GET', `/api/v1/workflow-runs?session=${first.session}`)).runs.length, 1);
});

test('What a run asks is listed and answered, and the run goes on', async () => {
  const outcome = await start('asked', { message: 'A text.', session: 'ask' });
  equal([outcome.status, outcome.requests.length, outcome.requests[0].node], ['waiting', 1, 'writer']);
  const { runs } = await server.expect(200, 'GET', '/api/v1/workflow-runs?status=waiting');
  equal(runs.map((one) => [one.run, one.requests[0].id]), [[outcome.run, outcome.requests[0].id]]);
  const path = `${api}/asked/runs/${outcome.run}`;
  const seen = await (await server.stream('GET', `${path}/events`)).all();
  equal([seen.at(-1).event, seen.at(-1).data.status], ['outcome', 'waiting']);
  equal((await server.expect(404, 'POST', `${path}/requests/9.nobody.0`, { body: { answer: '' } })).error.code, 'no_question');
  const request = `${path}/requests/${outcome.requests[0].id}`;
  equal((await server.expect(200, 'POST', request, { body: { answer: '' } })).status, 'running');
  await until(async () => (await server.expect(200, 'GET', path)).status === 'completed');
  const rest = await (await server.stream('GET', `${path}/events`, { headers: { 'Last-Event-ID': seen.at(-2).id } })).all();
  equal([rest.at(-1).data.status, rest.at(-1).data.text], ['completed', 'Well said.']);
  const ids = [...seen, ...rest].map((frame) => frame.id).filter(Boolean);
  equal(new Set(ids).size, ids.length, 'no id twice:');
  equal((await server.expect(404, 'POST', request, { body: { answer: '' } })).error.code, 'no_question');
});

test('An answer may be kept for a resume', async () => {
  const outcome = await start('asked', { message: 'A text.', session: 'later' });
  const path = `${api}/asked/runs/${outcome.run}`;
  equal((await server.expect(200, 'POST', `${path}/requests/${outcome.requests[0].id}`, { body: { answer: '', resume: false } })).status, 'waiting');
  equal((await server.expect(200, 'POST', `${path}/resume`)).status, 'completed');
});

test('A run is forked from a checkpoint, on a branch of its own', async () => {
  const outcome = await start('review', { message: 'Fork me', session: 'forked' });
  const path = `${api}/review/runs/${outcome.run}`;
  const { checkpoints } = await server.expect(200, 'GET', `${path}/checkpoints`);
  const fork = await server.expect(200, 'POST', `${path}/fork`, { body: { checkpoint: checkpoints[1].id, branch: 'other' } });
  equal([fork.status, fork.session, fork.branch, fork.run !== outcome.run], ['completed', 'forked', 'other', true]);
  equal((await server.expect(200, 'GET', `${api}/review/runs/${fork.run}`)).forked_from, checkpoints[1].id);
  const { messages } = await server.expect(200, 'GET', '/api/v1/sessions/forked/messages?branch=other');
  equal(messages.map((message) => message.text), ['Fork me', 'Porto is old.', 'Well said.']);
  equal((await server.expect(404, 'POST', `${path}/fork`, { body: { checkpoint: `${outcome.run}/99` } })).error.code, 'no_checkpoint');
  equal((await server.expect(404, 'POST', `${path}/fork`, { body: { checkpoint: 'other/1' } })).error.code, 'no_checkpoint');
});

test('A run is cancelled, and one that failed is resumed', async () => {
  const gate = moment();
  let fails = true;
  const model = await provider((request) => (isCritic(request) ? (fails ? { refused: 400 } : ['At last.']) : ['Slow', () => gate.happened]));
  const own = await Server.start({ config: `${model}${workflows}` });
  const stream = await own.stream('POST', `${api}/review/runs`, { body: { message: 'Go', session: 'c' } });
  await stream.until('text_delta');
  const id = stream.headers.get('tertulia-run');
  equal((await own.expect(409, 'POST', `${api}/review/runs`, { body: { message: 'Me too', session: 'c' } })).error.code, 'turn_running');
  equal((await own.expect(409, 'POST', `${api}/review/runs/${id}/resume`)).error.code, 'turn_running');
  equal((await own.expect(404, 'POST', `${api}/review/runs/${id}/cancel`, { headers: { 'Tertulia-User': 'bea' } })).error.code, 'no_turn');
  equal((await own.expect(202, 'POST', `${api}/review/runs/${id}/cancel`)).run, id);
  equal((await stream.all()).at(-1).data.status, 'cancelled');
  equal((await own.expect(404, 'POST', `${api}/review/runs/${id}/cancel`)).error.code, 'no_turn');
  gate.happen();
  const failed = await own.call('POST', `${api}/review/runs`, { body: { message: 'Go', session: 'f' } });
  check(failed.status >= 400 && failed.json.error.run, failed.text);
  const path = `${api}/review/runs/${failed.json.error.run}`;
  equal((await own.expect(200, 'GET', path)).status, 'failed');
  fails = false;
  const resumed = await own.expect(200, 'POST', `${path}/resume`, { body: { stream: false } });
  equal([resumed.run, resumed.status, resumed.text], [failed.json.error.run, 'completed', 'At last.']);
});

test('Killed in the middle of a run, the server goes on with it, without a gap and without a duplicate', async () => {
  const gate = moment();
  let critics = 0;
  const model = await provider((request) => (isCritic(request) ? (critics++ === 0 ? ['Half ', 'of it', () => gate.happened] : ['All of it.']) : ['Porto.']));
  const all = `${model}${workflows}`;
  const own = await Server.start({ config: all });
  const stream = await own.stream('POST', `${api}/review/runs`, { body: { message: 'Go', session: 'k' } });
  const id = stream.headers.get('tertulia-run');
  const seen = [];
  for (let frame = await stream.next(); ; frame = await stream.next()) {
    seen.push(frame);
    if (frame.event === 'text_delta' && frame.data.text === 'of it') break;
  }
  await own.kill();
  gate.happen();
  const again = await Server.start({ data: own.data, config: all });
  const path = `${api}/review/runs/${id}/events`;
  const rest = await (await again.stream('GET', path, { headers: { 'Last-Event-ID': seen.at(-1).id } })).all();
  equal(rest[0].event, 'reset');
  equal([rest.at(-1).data.status, rest.at(-1).data.text, rest.at(-1).data.session], ['completed', 'All of it.', 'k']);
  const ids = [...seen, ...rest].map((frame) => frame.id).filter(Boolean);
  equal(new Set(ids).size, ids.length, 'no id twice:');
  equal(rest.filter((frame) => frame.event === 'text_delta').map((frame) => frame.data.text).join(''), 'All of it.', 'the writer does not speak again:');
  const { messages } = await again.expect(200, 'GET', '/api/v1/sessions/k/messages');
  equal(messages.map((message) => message.text), ['Go', 'Porto.', 'All of it.']);
  // Whoever saw only the first superstep sees the rest of it and what came after the crash.
  const step = seen.findIndex((frame) => frame.event === 'superstep_completed');
  const late = await (await again.stream('GET', path, { headers: { 'Last-Event-ID': seen[step - 1].id } })).all();
  equal([late[0].id, late.at(-1).event], [seen[step].id, 'outcome']);
  await again.stop();
  tertulia(own.data, 'verify');
});

test('What is exported can be imported by somebody else, without the runs that could go on there', async () => {
  await start('review', { message: 'Take me along', session: 'moving' });
  const archive = await server.expect(200, 'GET', '/api/v1/sessions/moving/export');
  const headers = { 'Tertulia-User': 'dora', 'Content-Type': 'application/x-ndjson' };
  const report = await server.expect(200, 'POST', '/api/v1/import?adopt=true', { body: archive, headers });
  equal([report.sessions, report.left_out.some(({ what }) => what === 'checkpoint')], [1, true]);
  equal((await server.expect(200, 'GET', '/api/v1/workflow-runs', { headers: { 'Tertulia-User': 'dora' } })).runs, []);
  check((await server.expect(200, 'GET', '/api/v1/sessions/moving/messages', { headers: { 'Tertulia-User': 'dora' } })).messages.length > 0, 'what was said is there');
});

test('Every operation of workflows was used', () => equal(unused(/^\/api\/v1\/workflow/), []));

await run();
