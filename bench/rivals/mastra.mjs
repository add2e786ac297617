// Mastra's memory on libsql. A turn is one saveMessages of the question and of the answer with its tool call; a fork is
// cloneThread. The store opens its database with synchronous NORMAL, which does not sync a turn: FULL is set here.
import { LibSQLStore } from '@mastra/libsql';
import { Memory } from '@mastra/memory';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { measure, turnOf } from './measure.mjs';

await measure({
  name: 'mastra',
  async open(dir) {
    const storage = new LibSQLStore({ id: 'rival', url: `file:${path.join(dir, 'mastra.db')}` });
    await storage.init();
    await storage.client.execute('PRAGMA synchronous=FULL');
    const memory = new Memory({ storage, options: { lastMessages: false, semanticRecall: false, workingMemory: { enabled: false } } });
    let time = 1_763_000_000_000;
    const message = (thread, role, parts) => ({
      id: randomUUID(), role, threadId: thread.id, resourceId: 'owner', createdAt: new Date(time++), content: { format: 2, parts },
    });
    const messages = (thread, n) => {
      const { user, call, input, output, answer } = turnOf(n);
      return [
        message(thread, 'user', [{ type: 'text', text: user }]),
        message(thread, 'assistant', [
          { type: 'tool-invocation', toolInvocation: { state: 'result', toolCallId: call, toolName: 'search', args: input, result: output } },
          { type: 'text', text: answer },
        ]),
      ];
    };
    return {
      session: (id) => memory.createThread({ threadId: id, resourceId: 'owner', title: id }),
      turn: (thread, n) => memory.saveMessages({ messages: messages(thread, n) }),
      async fill(thread, count) {
        for (let n = 0; n < count; n += 250) {
          await memory.saveMessages({ messages: Array.from({ length: 250 }, (_, i) => messages(thread, n + i)).flat() });
        }
      },
      load: async (thread) => (await memory.recall({ threadId: thread.id, resourceId: 'owner', perPage: false })).messages,
      fork: (thread) => memory.cloneThread({ sourceThreadId: thread.id }),
      close: async () => {},
    };
  },
});
