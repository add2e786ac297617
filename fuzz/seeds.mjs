// seeds.mjs FOLDER: writes FOLDER/<target>/…, what each fuzzer begins with. Without a valid example to change, a
// fuzzer of JSON forms never gets past the first brace.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
function seed(target, name, bytes) {
  mkdirSync(join(folder, target), { recursive: true });
  writeFileSync(join(folder, target, name), bytes);
}

// The examples of docs/formats/json.md, under the heading of their form. The first byte chooses the form.
const header = readFileSync('libs/conversation/include/tertulia/conversation/json_forms.h', 'utf8');
const list = /#define TERTULIA_FORMS\(X\)([^]*?)\n\n/.exec(header)[1];
const forms = [...list.matchAll(/X\((\w+)\)/g)].map((match) => match[1]);
let count = 0;
for (const section of readFileSync('docs/formats/json.md', 'utf8').split(/^## /m).slice(1)) {
  const form = forms.indexOf(section.slice(0, section.indexOf('\n')));
  for (const [, example] of section.matchAll(/^```json\n([^]*?)^```/gm)) {
    count += 1;
    seed('json', `example-${count}`, example);
    if (form >= 0) seed('conversation_json', `example-${count}`, Buffer.concat([Buffer.from([form]), Buffer.from(example)]));
  }
}

// Phrases in many languages, for both vocabularies; the second byte chooses cuts and chunk sizes.
const phrases = readFileSync('bench/text/corpus/phrases.txt', 'utf8');
for (const vocabulary of [0, 1]) {
  for (let at = 0; at < phrases.length; at += 500) {
    const text = Buffer.from(phrases.slice(at, at + 500));
    seed('tokenizer', `phrases-${vocabulary}-${at}`, Buffer.concat([Buffer.from([vocabulary, at % 251]), text]));
  }
}

// Addresses in the spellings that an attacker would try, and plain ones.
const hosts = ['example.com', '127.0.0.1', '0x7f.1', '2130706433', '[::ffff:a9fe:a9fe]', '[2606:4700::1111]', 'user@example.com',
  'localhost', '8.8.8.8:443', 'xn--bcher-kva.example', '１２７.0.0.1', 'a%00b'];
hosts.forEach((host, i) => seed('url', `host-${i}`, `http${i % 2 ? 's' : ''}://${host}/a?b=c#d`));
seed('url', 'page', '<title>T</title><script>x</script><p a="b>c">&amp;&#8364;<a href="/x">y</a><!-- z -->');

// Frames of a WebSocket: a message, one in fragments around a ping, and a close. The first byte is the size of the pieces.
const frame = (first, text) => {
  const bytes = Buffer.from(text);
  const mask = [1, 2, 3, 4];
  return Buffer.from([first, 0x80 | bytes.length, ...mask, ...bytes.map((byte, i) => byte ^ mask[i % 4])]);
};
const key = '{"type":"authenticate","key":"tk_1"}';
seed('web_socket', 'message', Buffer.concat([Buffer.from([3]), frame(0x81, key), frame(0x88, '\x03\xe8')]));
seed('web_socket', 'fragments', Buffer.concat([Buffer.from([1]), frame(0x01, 'He'), frame(0x89, 'ping'), frame(0x80, 'llo')]));

// A turn with a tool that a crash cuts: two bytes an event.
seed('sse_resume', 'turn', Buffer.from([4, 0, 0, 1, 0, 8, 1, 9, 2, 10, 3, 1, 0, 2, 0, 3, 5, 11, 0xf0, 2, 0, 3, 6, 4, 0, 14, 0]));
seed('http_head', 'upgrade', '\x05GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n');
