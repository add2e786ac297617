// npm tiktoken (wasm) on the same files as tokens_bench: one line of JSON, megabytes a second of CPU time by corpus.
//
//   node bench/text/tokens_rival.mjs PACKAGE_DIR CORPUS_DIR
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const [packageDir, corpusDir] = process.argv.slice(2);
const {get_encoding: getEncoding} = createRequire(import.meta.url)(path.resolve(packageDir, 'tiktoken.cjs'));
const encoder = getEncoding('o200k_base');
encoder.encode_ordinary('warm up');
const speeds = {};
for (const file of fs.readdirSync(corpusDir).filter((name) => name.endsWith('.txt'))) {
  const text = fs.readFileSync(path.join(corpusDir, file), 'utf8');
  let best = Infinity;
  let tokens = 0;
  for (let round = 0; round < 2; ++round) {
    const start = process.cpuUsage();
    tokens = encoder.encode_ordinary(text).length;
    const used = process.cpuUsage(start);
    best = Math.min(best, (used.user + used.system) / 1e6);
  }
  speeds[path.basename(file, '.txt')] = {speed: Buffer.byteLength(text) / best / 1e6, tokens};
}
console.log(JSON.stringify(speeds));
