// The AI SDK with files: the documented pattern, all messages of a chat as one JSON file that is written anew after each
// turn. `--plain` writes as the documentation does, without syncing and without protection against a crash; otherwise the
// new file is synced and renamed over the old one, which is what the others promise.
import { isToolUIPart } from 'ai';
import fs from 'node:fs/promises';
import path from 'node:path';
import { measure, turnOf } from './measure.mjs';

const plain = process.argv.includes('--plain');

async function sync(name) {
  const handle = await fs.open(name);
  await handle.sync();
  await handle.close();
}

async function write(name, text) {
  if (plain) return fs.writeFile(name, text);
  await fs.writeFile(`${name}.new`, text, { flush: true });
  await fs.rename(`${name}.new`, name);
  await sync(path.dirname(name));
}

const messages = (n) => {
  const { user, call, input, output, answer } = turnOf(n);
  return [
    { id: `u-${n}`, role: 'user', parts: [{ type: 'text', text: user }] },
    { id: `a-${n}`, role: 'assistant', parts: [
      { type: 'step-start' },
      { type: 'tool-search', toolCallId: call, state: 'output-available', input, output },
      { type: 'step-start' },
      { type: 'text', text: answer, state: 'done' },
    ] },
  ];
};
if (!isToolUIPart(messages(0)[1].parts[1])) throw new Error('the form of a tool call has changed');

await measure({
  name: plain ? 'ai_sdk_unsynced' : 'ai_sdk',
  async open(dir) {
    let forks = 0;
    const save = (chat) => write(chat.file, JSON.stringify(chat.messages, null, 2));
    return {
      session: async (id) => ({ file: path.join(dir, `${id}.json`), messages: [] }),
      turn(chat, n) {
        chat.messages.push(...messages(n));
        return save(chat);
      },
      fill(chat, count) {
        chat.messages = Array.from({ length: count }, (_, n) => messages(n)).flat();
        return save(chat);
      },
      load: async (chat) => JSON.parse(await fs.readFile(chat.file, 'utf8')),
      async fork(chat) {
        const copy = path.join(dir, `fork-${forks++}.json`);
        await fs.copyFile(chat.file, copy);
        if (plain) return;
        await sync(copy);
        await sync(dir);
      },
      close: async () => {},
    };
  },
});
