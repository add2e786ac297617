// tls.mjs PROGRAM: TLS with certificates of our own, and what SIGHUP reads again.
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import tls from 'node:tls';
import { check, equal, folder, moment, program, provider, run, Server, tertulia, test, until } from '../api/support.mjs';

const place = folder();
function certificate(name) {
  const [crt, key] = [join(place, `${name}.crt`), join(place, `${name}.key`)];
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-keyout', key, '-out', crt], { encoding: 'utf8' });
  check(made.status === 0, made.stderr);
  return { crt, key, ca: readFileSync(crt, 'utf8') };
}
const first = certificate('first');
const second = certificate('second');
const settings = (files, more = '') => `[server]\ntls_certificate = "${files.crt}"\ntls_key = "${files.key}"\n${more}`;

// The answer, with its body as it comes.
function ask(server, path, { ca = first.ca, method = 'GET', body } = {}) {
  return new Promise((done, failed) => {
    const request = https.request({ host: '127.0.0.1', port: server.port, path, method, ca, agent: false, headers: body && { 'Content-Type': 'application/json' } }, (reply) => {
      let text = '';
      const seen = moment();
      reply.on('data', (part) => { text += part; seen.happen(); });
      const end = new Promise((ended) => reply.on('end', () => ended(text)));
      done({ status: reply.statusCode, headers: reply.headers, seen: seen.happened, end });
    });
    request.on('error', failed);
    request.end(body);
  });
}
const nameOf = (server) => new Promise((done, failed) => {
  const socket = tls.connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }, () => {
    done(socket.getPeerCertificate().subject.CN);
    socket.destroy();
  });
  socket.on('error', failed);
});
const protocolWith = (server, maxVersion) => new Promise((done) => {
  const socket = tls.connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, minVersion: maxVersion, maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }, () => {
    done(socket.getProtocol());
    socket.destroy();
  });
  socket.on('error', () => done('refused'));
});

test('Requests and streams are served over TLS 1.2 and 1.3, and nothing older', async () => {
  const gate = moment();
  const config = await provider(() => ['One ', () => gate.happened, 'two']);
  const server = await Server.start({ config: settings(first) + config });
  check(server.url.startsWith('https://'), server.url);
  const health = await ask(server, '/health');
  equal([health.status, health.headers['strict-transport-security']], [200, 'max-age=31536000']);
  const stream = await ask(server, '/api/v1/turns', { method: 'POST', body: '{"session":"t","message":"Go","stream":true}' });
  equal(stream.headers['content-type'], 'text/event-stream');
  await stream.seen;
  gate.happen();
  check((await stream.end).includes('One two'), 'the whole answer came');
  equal(await protocolWith(server, 'TLSv1.3'), 'TLSv1.3');
  equal(await protocolWith(server, 'TLSv1.2'), 'TLSv1.2');
  equal(await protocolWith(server, 'TLSv1.1'), 'refused');
  // Whoever speaks plainly, or not at all, disturbs nobody.
  await server.raw('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await server.raw('', { end: true });
  equal((await ask(server, '/health')).status, 200);
});

test('A WebSocket is opened and closed over TLS', async () => {
  const server = await Server.start({ config: settings(first) });
  const came = await new Promise((done, failed) => {
    const socket = tls.connect({ host: '127.0.0.1', port: server.port, ca: first.ca }, () => {
      socket.write('GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
      socket.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0, 0x88, 0x82, 0, 0, 0, 0, 3, 232]));
    });
    const parts = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('close', () => done(Buffer.concat(parts)));
    socket.on('error', failed);
  });
  check(came.toString('latin1').startsWith('HTTP/1.1 101 '), came.toString('latin1'));
  equal([...came.subarray(came.indexOf('\r\n\r\n') + 4)], [0x8a, 0, 0x88, 2, 3, 232]);
});

test('openssl agrees: the handshake is sound and the certificate ours', async () => {
  const server = await Server.start({ config: settings(first) });
  const said = spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${server.port}`, '-CAfile', first.crt, '-verify_return_error', '-quiet'],
    { input: 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', encoding: 'utf8' });
  check(said.stdout.startsWith('HTTP/1.1 200'), said.stdout + said.stderr);
});

test('SIGHUP shows the new certificate to whoever comes, and keeps the old one if the new is none', async () => {
  const files = { crt: join(place, 'used.crt'), key: join(place, 'used.key') };
  const use = (from) => { copyFileSync(from.crt, files.crt); copyFileSync(from.key, files.key); };
  use(first);
  const server = await Server.start({ config: settings(files) });
  equal(await nameOf(server), 'first');
  const becomes = async (name) => { while ((await nameOf(server)) !== name); };
  use(second);
  server.process.kill('SIGHUP');
  await becomes('second');
  writeFileSync(files.crt, 'no certificate');
  const before = server.errors.length;
  server.process.kill('SIGHUP');
  while (!server.errors.slice(before).includes('used.crt')) await new Promise((done) => setTimeout(done, 10));
  equal(await nameOf(server), 'second');
});

test('A certificate that cannot be used stops the start, and says which and why', async () => {
  const broken = join(place, 'broken.crt');
  writeFileSync(broken, 'no certificate');
  for (const [files, words] of [
    [{ crt: broken, key: first.key }, 'broken.crt'],
    [{ crt: join(place, 'absent.crt'), key: first.key }, 'absent.crt'],
    [{ crt: first.crt, key: second.key }, 'second.key'],
  ]) {
    const config = join(folder(), 'config.toml');
    writeFileSync(config, settings(files), { mode: 0o600 });
    const ended = spawnSync(program, ['--data', folder(), '--config', config, 'serve', '--port', '0'], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
    equal(ended.status, 78, words);
    check(ended.stderr.includes(words), ended.stderr);
  }
});

test('SIGHUP takes over who may call from where and how often, and names what waits for a restart', async () => {
  const data = folder();
  const { key } = JSON.parse(tertulia(data, '--json', '--tenant', 'acme', 'keys', 'create'));
  const config = (more) => `[log]\nlevel = "info"\n[server]\nkey_required = true\n${more}`;
  const server = await Server.start({ data, config: config('') });
  const from = async (origin) => (await server.call('GET', '/api/v1/me', { key, headers: { Origin: origin } })).status;
  equal([await from('https://one.example'), await from('https://two.example')], [403, 403]);
  const renew = async (text, said) => {
    server.errors = '';
    writeFileSync(server.config, text, { mode: 0o600 });
    server.process.kill('SIGHUP');
    await until(() => server.errors.includes(said));
  };
  await renew(config('origins = ["https://one.example"]\nhead_timeout = "3s"\n'), 'read again');
  check(/waits for a restart.*server\.head_timeout/.test(server.errors) && !/restart.*server\.origins/.test(server.errors), server.errors);
  equal([await from('https://one.example'), await from('https://two.example')], [200, 403]);
  await renew(config('origins = ["https://two.example"]\nprices = ["gpt"]\n'), 'nothing was changed');
  await renew('[server]\norigins = 7\n', 'nothing was changed');
  equal([await from('https://one.example'), await from('https://two.example')], [200, 403]);
  await renew(config('origins = ["https://two.example"]\nrequests_per_minute = 1\n'), 'read again');
  equal([await from('https://one.example'), await from('https://two.example'), await from('https://two.example')], [403, 200, 429]);
});

await run();
