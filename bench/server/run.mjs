// run.mjs PROGRAM: small requests beside nginx and Node's http, idle streams, and what HTTP adds to a turn. One JSON line a figure.
//
// Needs wrk; nginx is compared with where it is installed (Debian: wrk, nginx-light). Each pair is measured in turns, so that what
// else the machine does hits both.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const program = resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'tertulia-bench-'));
const ended = [];
const figure = (name, value, unit, goal = '', against = '') =>
  console.log(JSON.stringify({ figure: name, value, unit, goal, against }));
const has = (command) => spawnSync('which', [command]).status === 0;

async function startServer() {
  const child = spawn(program, ['--json', '--data', join(folder, 'data'), 'serve', '--port', '0'], { env: { PATH: process.env.PATH, HOME: folder } });
  ended.push(() => child.kill('SIGKILL'));
  const line = await new Promise((done) => child.stdout.once('data', (bytes) => done(String(bytes))));
  return { url: JSON.parse(line).listening, pid: child.pid };
}

function startNginx(body) {
  const port = 20000 + (process.pid % 20000);
  mkdirSync(join(folder, 'www'));
  writeFileSync(join(folder, 'www/file'), body);
  writeFileSync(join(folder, 'nginx.conf'), `worker_processes 2; daemon off; pid ${folder}/nginx.pid; error_log /dev/null;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
server { listen 127.0.0.1:${port} reuseport; keepalive_requests 100000000; location / { root ${folder}/www; default_type application/json; } } }`);
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder], { stdio: 'ignore' });
  ended.push(() => child.kill());
  return `http://127.0.0.1:${port}/file`;
}

function startNode(body) {
  const code = `require('http').createServer((q, r) => { r.writeHead(200, {'Content-Type': 'application/json'}); r.end(${JSON.stringify(body)}); })
    .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ['-e', code]);
  ended.push(() => child.kill());
  return new Promise((done) => child.stdout.once('data', (port) => done(`http://127.0.0.1:${Number(port)}/`)));
}

const wrk = (url) => Number(/Requests\/sec:\s+([\d.]+)/.exec(execFileSync('wrk', ['-t1', '-c32', '-d3s', url], { encoding: 'utf8' }))[1]);

// The best of several rounds of each, in turns.
function rates(urls) {
  const best = urls.map(() => 0);
  for (let round = 0; round < 3; round += 1) urls.forEach((url, i) => (best[i] = Math.max(best[i], wrk(url))));
  return best;
}

const memoryOf = (pid) => Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

function post(url, body) {
  return new Promise((done, failed) => {
    const request = http.request(url, { method: 'POST', agent: post.agent, headers: { 'Content-Type': 'application/json' } }, (reply) => {
      reply.resume();
      reply.on('end', done);
    });
    request.on('error', failed);
    request.end(JSON.stringify(body));
  });
}
post.agent = new http.Agent({ keepAlive: true });

const server = await startServer();
const body = '{"status":"ok"}';
if (has('wrk')) {
  const urls = [`${server.url}/health`, await startNode(body)];
  if (has('nginx')) urls.push(startNginx(body));
  await new Promise((done) => setTimeout(done, 500));
  const [ours, nodes, nginxs] = rates(urls);
  figure('small GET', ours, '1/s');
  figure('small GET ÷ Node http', ours / nodes, '', '>= 2', `Node: ${Math.round(nodes)} 1/s`);
  if (nginxs) figure('small GET ÷ nginx', ours / nginxs, '', '>= 0.6', `nginx: ${Math.round(nginxs)} 1/s`);
} else {
  console.error('wrk is not installed: requests a second are not measured');
}

// A turn with the offline model, one after the other in one session.
await post(`${server.url}/api/v1/turns`, { session: 'bench', message: 'warm' });
const begin = process.hrtime.bigint();
const turns = 200;
for (let i = 0; i < turns; i += 1) await post(`${server.url}/api/v1/turns`, { session: 'bench', message: 'Hello' });
figure('turn through HTTP', Number(process.hrtime.bigint() - begin) / turns / 1000, 'µs');

// Connections that wait, each with a request behind it.
const before = memoryOf(server.pid);
const count = 2000;
const sockets = [];
for (let i = 0; i < count; i += 1) {
  sockets.push(await new Promise((done) => {
    const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'));
    socket.once('data', () => done(socket));
  }));
}
figure('memory of an idle connection', (memoryOf(server.pid) - before) / count / 1024, 'KiB', '<= 16');
for (const socket of sockets) socket.destroy();
for (const end of ended) end();
rmSync(folder, { recursive: true, force: true });
