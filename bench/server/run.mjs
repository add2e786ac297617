// run.mjs BIN [FIGURE…]: the server beside nginx and Node's http, its streams, slow clients, restarts, and what HTTP adds to a
// turn. One JSON line a figure. BIN holds tertulia, bench_server and bench_stream_client; FIGURE is one of the names below.
//
// Needs wrk and nginx (scripts/bench installs them). Each pair is measured in turns, so that what else the machine does hits both.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bin = resolve(process.argv[2]);
const wanted = process.argv.slice(3);
const folder = mkdtempSync(join(tmpdir(), 'tertulia-bench-'));
const ended = [];
const figure = (name, value, unit, goal = '', against = '') => console.log(JSON.stringify({ figure: name, value, unit, goal, against }));
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const lines = (child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]();

async function startServer({ data = join(folder, 'data'), config = '' } = {}) {
  const file = join(folder, 'config.toml');
  writeFileSync(file, config, { mode: 0o600 });
  const begun = process.hrtime.bigint();
  const child = spawn(join(bin, 'tertulia'), ['--json', '--data', data, '--config', file, 'serve', '--port', '0'],
    { env: { PATH: process.env.PATH, HOME: folder }, stdio: ['ignore', 'pipe', 'inherit'] });
  ended.push(() => child.kill('SIGKILL'));
  const url = JSON.parse((await lines(child).next()).value).listening;
  await (await fetch(`${url}/health`)).text();
  const ms = Number(process.hrtime.bigint() - begun) / 1e6;
  const kill = () => new Promise((done) => { child.once('exit', done); child.kill('SIGKILL'); });
  return { url, port: Number(new URL(url).port), pid: child.pid, ms, kill };
}

let nginxes = 0;
async function startNginx(body, workers) {
  nginxes += 1;
  const [home, port] = [join(folder, `nginx${nginxes}`), 20000 + ((process.pid + nginxes) % 20000)];
  mkdirSync(join(home, 'www'), { recursive: true });
  writeFileSync(join(home, 'www/file'), body);
  writeFileSync(join(home, 'nginx.conf'), `worker_processes ${workers}; daemon off; pid ${home}/nginx.pid; error_log /dev/null;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
server { listen 127.0.0.1:${port} reuseport; keepalive_requests 100000000; location / { root ${home}/www; default_type application/json; } } }`);
  const child = spawn('nginx', ['-c', join(home, 'nginx.conf'), '-p', home], { stdio: 'ignore' });
  ended.push(() => child.kill());
  await sleep(500);
  // What works are its children.
  const pids = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number);
  return { name: 'nginx', url: `http://127.0.0.1:${port}/file`, pids };
}

function startNode(body) {
  const code = `require('http').createServer((q, r) => { r.writeHead(200, {'Content-Type': 'application/json'}); r.end(${JSON.stringify(body)}); })
    .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ['-e', code]);
  ended.push(() => child.kill());
  return new Promise((done) => child.stdout.once('data', (port) => done({ name: 'Node', url: `http://127.0.0.1:${Number(port)}/`, pids: [child.pid] })));
}

// wrk beside this process, which goes on meanwhile. `depth` requests are under way on each connection.
async function wrk(url, { connections = 32, seconds = 3, depth = 1 } = {}) {
  const script = depth > 1 ? ['-s', join(dirname(fileURLToPath(import.meta.url)), 'pipeline.lua')] : [];
  const child = spawn('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...script, url, ...(depth > 1 ? ['--', String(depth)] : [])]);
  let text = '';
  let busy = 0;
  child.stdout.on('data', (part) => (text += part));
  const looked = setTimeout(() => (busy = workOf(child.pid) / (seconds * 900_000)), seconds * 900);
  await new Promise((done) => child.on('close', done));
  clearTimeout(looked);
  const p99 = /99%\s+([\d.]+)(us|ms|s)/.exec(text);
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)[1]),
    requests: Number(/(\d+) requests in/.exec(text)[1]),
    busy,
    p99: Number(p99[1]) * { us: 0.001, ms: 1, s: 1000 }[p99[2]],
  };
}

// The best of some rounds, in turns: requests a second, how full wrk's core was then, and what one request takes of its server's
// processor time, in microseconds.
async function besides(servers, options) {
  const best = servers.map(() => ({ rate: 0, work: Infinity }));
  for (let round = 0; round < 3; round += 1) {
    for (const [i, { url, pids }] of servers.entries()) {
      const before = sum(pids.map(workOf));
      const { rate, requests, busy } = await wrk(url, options);
      if (rate > best[i].rate) Object.assign(best[i], { rate, busy });
      best[i].work = Math.min(best[i].work, (sum(pids.map(workOf)) - before) / requests);
    }
  }
  return best;
}

// Everything that belongs to a process and nobody else, in bytes.
const memoryOf = (pid) => Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

// The processor time that a process has used, in microseconds: what to look at when the machine is busy.
const workOf = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

// A model in the style of OpenAI that says a word every `every` milliseconds, or none behind the first.
function startModel(every) {
  const server = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const say = () => response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })}\n\n`);
      say();
      const timer = every ? setInterval(say, every) : undefined;
      response.on('close', () => clearInterval(timer));
    });
  });
  ended.push(() => { server.closeAllConnections(); server.close(); });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
}

// Turns that go on for as long as anybody looks, as the paths of their events.
async function startTurns(server, count) {
  const paths = [];
  for (let i = 0; i < count; i += 1) {
    const reply = await fetch(`${server.url}/api/v1/turns`,
      { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ session: `s${i}`, message: 'Go', stream: true }) });
    if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    paths.push(`/api/v1/sessions/s${i}/turns/${reply.headers.get('tertulia-turn')}/events`);
    const reader = reply.body.getReader();
    (async () => { while (!(await reader.read()).done); })().catch(() => {});
  }
  return paths;
}

async function readStreams(server, count, seconds, paths) {
  const child = spawn(join(bin, 'bench_stream_client'), [String(server.port), String(count), String(seconds), ...paths], { stdio: ['pipe', 'pipe', 'inherit'] });
  const out = lines(child);
  const open = JSON.parse((await out.next()).value);
  return { open, rest: async () => JSON.parse((await out.next()).value), close: () => child.stdin.end() };
}

const beside = (ours, other) => `${Math.round(ours.rate)} and ${Math.round(other.rate)} 1/s; wrk's one core was ${Math.round(100 * ours.busy)} and ${Math.round(100 * other.busy)} % full`;

// Two threads of ours and two workers of nginx on two cores, beside Node's one.
async function asUsual(servers) {
  const [ours, node, nginx] = await besides(servers);
  figure('small GET', ours.rate, '1/s', '', 'two threads, nginx has two workers, Node one thread');
  figure('small GET ÷ nginx', ours.rate / nginx.rate, 'ratio', '>= 0.6', `a file of the same size: ${beside(ours, nginx)}`);
  figure('small GET ÷ Node http', ours.rate / node.rate, 'ratio', '>= 2', beside(ours, node));
}

// One thread each, as Node's http has: what a request takes of the server, whatever wrk can do; and many under way on each
// connection, which is little work for wrk.
async function oneThreadEach(servers) {
  const [ours, node, nginx] = await besides(servers, { connections: 64 });
  const both = (other) => `processor time of the server, one thread: ${ours.work.toFixed(1)} and ${other.work.toFixed(1)} us`;
  figure('work of a small GET: Node http ÷ ours', node.work / ours.work, 'ratio', '>= 2', both(node));
  figure('work of a small GET: nginx ÷ ours', nginx.work / ours.work, 'ratio', '>= 0.6', both(nginx));
  const [deep, deepNode, deepNginx] = await besides(servers, { connections: 64, depth: 16 });
  figure('small GETs, 16 under way, ÷ Node http', deep.rate / deepNode.rate, 'ratio', '', `one thread each: ${beside(deep, deepNode)}`);
  figure('small GETs, 16 under way, ÷ nginx', deep.rate / deepNginx.rate, 'ratio', '', `one thread each: ${beside(deep, deepNginx)}`);
}

const measures = {
  async requests() {
    const body = '{"status":"ok"}';
    const node = await startNode(body);
    for (const threads of [2, 1]) {
      const server = await startServer({ config: `[server]\nthreads = ${threads}\n` });
      const servers = [{ url: `${server.url}/health`, pids: [server.pid] }, node, await startNginx(body, threads)];
      await (threads === 2 ? asUsual(servers) : oneThreadEach(servers));
      await server.kill();
    }
  },

  async turn() {
    process.stdout.write(execFileSync(join(bin, 'bench_server'), [], { stdio: ['ignore', 'pipe', 'inherit'] }));
  },

  async idle() {
    const server = await startServer({ config: `${await modelConfig(0)}[server]\nstreams = 20000\n` });
    const paths = await startTurns(server, 20);
    const warm = await readStreams(server, 200, 0, paths);
    await warm.rest();
    const before = memoryOf(server.pid);
    const count = 10_000;
    const streams = await readStreams(server, count, 0, paths);
    await streams.rest();
    await sleep(1000);
    figure('idle streams that are open', streams.open.open, '', `>= ${count}`);
    figure('memory of an idle stream', (memoryOf(server.pid) - before) / count / 1024, 'KiB', '<= 16');
    streams.close();
    warm.close();
    await server.kill();
  },

  async active() {
    const server = await startServer({ config: `${await modelConfig(50)}[server]\nstreams = 20000\n` });
    const [count, seconds] = [2_000, 10];
    const streams = await readStreams(server, count, seconds, await startTurns(server, 20));
    const before = workOf(server.pid);
    const { events, late_ms: late, lost } = await streams.rest();
    const work = workOf(server.pid) - before;
    figure('events/s at 2,000 active streams', events / seconds, '1/s', '>= 38000', '20 a second for each are 40,000; 20 turns, 100 readers each');
    figure('longest silence of an active stream, p99', late, 'ms', '', `one event in 50 ms; ${lost} streams lost`);
    figure('work for an event to a reader', work / events, 'us', '<= 25', 'processor time of the server; 40,000 a second fill one core at 25');
    streams.close();
    await server.kill();
  },

  async slow() {
    const server = await startServer();
    const url = `${server.url}/health`;
    await wrk(url, { connections: 8, seconds: 1 });
    const quiet = await wrk(url, { connections: 8, seconds: 4 });
    // Each sends a byte of a head that never ends; those that are cut come again.
    const sockets = new Set();
    let open = true;
    const dribble = () => {
      if (!open) return;
      const socket = net.connect(server.port, '127.0.0.1', () => socket.write('GET /health HTTP/1.1\r\nHost: loc'));
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => { sockets.delete(socket); setTimeout(dribble, 50); });
    };
    for (let i = 0; i < 2_000; i += 1) dribble();
    const timer = setInterval(() => { for (const socket of sockets) socket.write('a'); }, 1000);
    await sleep(2000);
    const busy = await wrk(url, { connections: 8, seconds: 4 });
    open = false;
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    figure('p99 of good clients beside 2,000 slow ones ÷ alone', busy.p99 / quiet.p99, 'ratio', '<= 2', `${quiet.p99} ms alone, ${busy.p99} ms beside them`);
    await server.kill();
  },

  async restart() {
    const data = join(folder, 'many');
    let server = await startServer({ data });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
    const create = () => new Promise((done, failed) => {
      const request = http.request(`${server.url}/api/v1/turns`, { method: 'POST', agent, headers: { 'Content-Type': 'application/json' } }, (reply) => {
        reply.resume();
        reply.on('end', done);
      });
      request.on('error', failed);
      request.end(JSON.stringify({ message: 'Hello' }));
    });
    for (let made = 0; made < 10_000; made += 500) await Promise.all(Array.from({ length: 500 }, create));
    agent.destroy();
    const starts = [];
    for (let round = 0; round < 5; round += 1) {
      await server.kill();
      server = await startServer({ data });
      starts.push(server.ms);
    }
    starts.sort((a, b) => a - b);
    figure('listening after a kill, 10,000 sessions', starts[2], 'ms', '<= 1000', 'from the start of the process to an answer of /health; the median of 5');
    await server.kill();
  },
};

async function modelConfig(every) {
  const port = await startModel(every);
  return `[models.words]\nprovider = "openai-compatible"\nmodel = "m"\nbase_url = "http://127.0.0.1:${port}/v1"\n[agents.default]\nmodel = "words"\n`;
}

try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(measures)) {
    await measures[name]();
    rmSync(join(folder, 'data'), { recursive: true, force: true });
  }
} finally {
  for (const end of ended) end();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
