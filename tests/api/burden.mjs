// burden.mjs PROGRAM [rss]: what many large bodies together may take, and that their memory is given back.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { check, equal, run, Server, test, until } from './support.mjs';

test('Bodies share a budget; beyond it the next is refused before it is read, and it is there again when they have gone', async () => {
  const server = await Server.start();
  // Each says how long it will be and sends nothing of it.
  const announce = (length) =>
    new Promise((done, failed) => {
      const socket = net.connect(server.port, '127.0.0.1');
      socket.on('error', failed);
      socket.write(`POST /api/v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
      let text = '';
      socket.on('data', (part) => {
        text += part;
        if (text.includes('\r\n\r\n')) done({ status: Number(text.split(' ')[1]), text, socket });
      });
    });
  const open = [];
  let refused;
  for (let i = 0; i < 1000 && !refused; i += 1) {
    const one = await announce(4 << 20);
    if (one.status === 100) open.push(one.socket);
    else refused = one;
  }
  equal(refused?.status, 503, 'no announced body was refused;');
  check(/\r\nRetry-After: 1\r\n/.test(refused.text) && refused.text.includes('too_many_bytes'), refused.text);
  check(open.length >= 8, `only ${open.length} bodies of 4 MiB fit`);
  // Short ones are not in their way.
  await server.expect(200, 'POST', '/api/v1/turns', { body: { session: 'short', message: 'Hello' } });
  refused.socket.destroy();
  for (const socket of open) socket.destroy();
  await until(async () => {
    const again = await announce(4 << 20);
    again.socket.destroy();
    return again.status === 100;
  });
});

// Sanitizers keep what was freed.
if (process.argv[3] === 'rss') {
  test('After 200 refused messages of 1 MB the program is as small as before', async () => {
    const server = await Server.start();
    const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))[1]);
    const refuse = async (words, i) => {
      const { error } = await server.expect(413, 'POST', '/api/v1/turns', { body: { session: `r${i}`, message: words } });
      equal(error.code, 'message_exceeds_context');
    };
    // What it makes at its first turns, and keeps, is there by then.
    for (let round = 0; round < 8; round += 1) {
      await Promise.all(Array.from({ length: 16 }, (_, i) => server.expect(200, 'POST', '/api/v1/turns', { body: { session: `s${round}-${i}`, message: 'Hello' } })));
    }
    await refuse('many words '.repeat(80_000), 'first');
    const base = rss();
    const kinds = ['word '.repeat(200_000), 'x'.repeat(1_000_000), Array.from({ length: 150_000 }, (_, i) => i.toString(36)).join(' '), 'Straße '.repeat(125_000)];
    let left = 200;
    let most = 0;
    await Promise.all(Array.from({ length: 16 }, async () => {
      while (left > 0) {
        left -= 1;
        const i = left;
        await refuse(kinds[i % kinds.length], i);
        most = Math.max(most, rss());
      }
    }));
    const after = rss();
    let now = after;
    await until(() => (now = rss()) <= base * 1.2).catch(() => {});
    console.log(`RSS: ${base} KiB before, at most ${most}, ${after} after, ${now} then`);
    check(now <= base * 1.2, `the program has ${now} KiB, and had ${base} before`);
  });
}

await run();
