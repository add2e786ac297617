// flip.mjs FOLDER TEXT: changes one bit of TEXT in the first file below FOLDER that holds it.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, text] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((name) => statSync(name).isFile());
for (const file of files.sort()) {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(text);
  if (at < 0) continue;
  bytes[at] ^= 1;
  writeFileSync(file, bytes);
  process.exit(0);
}
console.error(`nothing below ${folder} holds ${text}`);
process.exit(1);
