// headers.mjs WORK_DIR COMPILER LAYER=INCLUDE_DIR:INCLUDE_DIR… …: compiles each public header of the layers on its own.
//
// Most of the time goes to what all of them include. A header that includes one of the BEGINNINGS, itself or through
// others, begins with that one compiled already: it sees nothing that it does not ask for, only earlier. There are few of
// them, because it takes seconds to write one.
// One that compiled is not compiled again while it, what it includes of ours, the compiler and this script are the same.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const BEGINNINGS = ['base/result.h', 'base/id.h', 'model/language_model.h'].map((name) => `tertulia/${name}`);

const [work, compiler, ...layers] = process.argv.slice(2);
const FLAGS = ['-std=gnu++20', '-x'];
mkdirSync(work, { recursive: true });
const sha = (text) => createHash('sha256').update(text).digest('hex');

// By the name that an #include has: the text, the names that it includes, where its layer may look.
const headers = new Map();
for (const layer of layers) {
  const [name, path] = layer.split('=');
  const places = path.split(':');
  const own = places.find((place) => place.endsWith(`/libs/${name}/include`));
  for (const file of readdirSync(own, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.h'))) {
    const text = readFileSync(join(own, file), 'utf8');
    const includes = [...text.matchAll(/^\s*#\s*include\s*[<"](tertulia\/[^>"]+)[>"]/gm)].map((match) => match[1]);
    headers.set(file, { name: file, text, includes, options: places.map((place) => `-I${place}`) });
  }
}
function reach(header, seen = new Set()) {
  for (const name of header.includes) {
    if (seen.has(name) || !headers.has(name)) continue;
    seen.add(name);
    reach(headers.get(name), seen);
  }
  return seen;
}
const version = execFileSync(compiler, ['--version'], { encoding: 'utf8' }) + readFileSync(process.argv[1], 'utf8');
for (const header of headers.values()) {
  header.reaches = reach(header);
  const parts = [...header.reaches].sort().map((name) => name + headers.get(name).text);
  header.key = sha([version, ...header.options, header.text, ...parts].join('\0'));
}
const beginnings = BEGINNINGS.filter((name) => headers.has(name)).sort((a, b) => headers.get(a).reaches.size - headers.get(b).reaches.size);
for (const header of headers.values()) header.begins = beginnings.filter((name) => header.reaches.has(name)).at(-1);

const remembered = join(work, 'compiled.json');
const compiled = existsSync(remembered) ? JSON.parse(readFileSync(remembered, 'utf8')) : {};
const todo = [...headers.values()].filter((header) => compiled[header.name] !== header.key);
const place_of = (name) => join(work, name.replaceAll('/', '-'));
let failed = 0;
let done = 0;

function compile(header, ...options) {
  return new Promise((ready) => execFile(compiler, [...header.options, ...FLAGS, ...options], { maxBuffer: 1 << 28 }, (problem, out, err) => {
    if (problem) failed += 1;
    if (problem) console.log(`${header.name} does not compile on its own:\n${err}`);
    ready(!problem);
  }));
}

async function check(header) {
  const first = header.begins ? ['-include', place_of(header.begins)] : [];
  const fine = await compile(header, 'c++', ...first, '-include', header.name, '-S', '-o', '/dev/null', '/dev/null');
  done += 1;
  console.log(`[${done}/${todo.length}] ${header.name}`);
  if (fine) compiled[header.name] = header.key;
}

// The compiler finds the compiled form by its name, beside a header that includes the beginning.
async function prepare(name) {
  writeFileSync(place_of(name), `#include <${name}>\n`);
  await compile(headers.get(name), 'c++-header', place_of(name), '-o', `${place_of(name)}.gch`);
}

async function all(list, work_on) {
  const rest = [...list];
  await Promise.all(Array.from({ length: availableParallelism() }, async () => {
    while (rest.length > 0) await work_on(rest.shift());
  }));
}

await all(new Set(todo.map((header) => header.begins).filter(Boolean)), prepare);
await all(todo, check);
writeFileSync(remembered, JSON.stringify(compiled));
console.log(`${headers.size} headers, ${todo.length} compiled now, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
