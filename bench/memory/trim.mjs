// trim.mjs: 10,000 messages cut to a budget of 8,000 tokens, by Tertulia and by trimMessages of @langchain/core with a
// tiktoken counter (o200k_base), one after the other in the same run.
import { execFileSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const { HumanMessage, AIMessage, trimMessages } = await import(resolve(root, 'bench/rivals/node_modules/@langchain/core/messages.js'));
const { getEncoding } = await import(resolve(root, 'bench/rivals/node_modules/js-tiktoken/dist/index.js'));

const subjects = ['garden', 'invoice', 'train', 'violin', 'harbour', 'recipe', 'tax', 'dog'];
const sentence = (n) => `Note ${n} about the ${subjects[n % 8]} and the ${subjects[Math.floor(n / 8) % 8]} that was mentioned on day ${n % 365}.`;
const messages = [];
for (let n = 0; messages.length < 10_000; n += 3) {
  messages.push(new HumanMessage(`${sentence(n)} What do you make of it?`));
  messages.push(new AIMessage(`${sentence(n + 1)} ${sentence(n + 2)}`));
}

const encoding = getEncoding('o200k_base');
// trimMessages counts the whole list again for each message that it leaves out. Remembering what a message costs favours
// it, and lets the run end.
const costs = new Map();
const costOf = (text) => {
  if (!costs.has(text)) costs.set(text, 4 + encoding.encode(text).length);
  return costs.get(text);
};
const tokenCounter = (list) => list.reduce((sum, message) => sum + costOf(message.content), 0);
const start = performance.now();
const kept = await trimMessages(messages, { maxTokens: 8_000, strategy: 'last', tokenCounter, startOn: 'human' });
const theirs = (performance.now() - start) / 1000;
if (kept.length === 0 || tokenCounter(kept) > 8_000) throw new Error('trimMessages kept the wrong messages');
const ours = Number(execFileSync(resolve(root, 'build/release/bin/bench_view'), ['--trim', '10000'], { encoding: 'utf8' }));
console.log(JSON.stringify({ figure: 'view.trim_10000_messages', value: theirs / ours, unit: 'x', goal: '>= 50',
  against: `trimMessages of @langchain/core: ${(theirs * 1000).toFixed(0)} ms, ours ${(ours * 1e6).toFixed(0)} us` }));
