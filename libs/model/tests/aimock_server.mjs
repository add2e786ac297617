// aimock_server.mjs PACKAGE: an OpenAI- and Anthropic-style upstream on a free port, which it prints. Ends when its
// standard input does.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { LLMock } = await import(pathToFileURL(join(process.argv[2], 'dist/index.js')).href);
const mock = new LLMock({ port: 0, chunkSize: 4 });
mock.onToolResult('call_clock', { content: 'The sum is 30.' });
mock.onMessage('Hello', { content: 'Good evening, ¿qué tal? 日本' });
mock.onMessage('Add 10 and 20', {
  toolCalls: [
    { id: 'call_add', name: 'add', arguments: '{"a":10,"b":20}' },
    { id: 'call_clock', name: 'clock', arguments: '{}' },
  ],
});
await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
