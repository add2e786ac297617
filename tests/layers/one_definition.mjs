// one_definition.mjs ROOT: finds two types of one name. The linker takes such types for one and the same, and destroys
// values of the one as if they were values of the other. Types without linkage (in an unnamed namespace) may share a
// name; so may those inside of a class.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = process.argv[2];

function* sources(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!['tests', 'web', 'node_modules'].includes(entry.name)) yield* sources(path);
    } else if (/\.(h|cc)$/.test(entry.name)) {
      yield path;
    }
  }
}

// Without comments and the content of texts: what is left can be read brace by brace.
const bare = (text) => text
  .replace(/R"(\w*)\((?:.|\n)*?\)\1"/g, '""')
  .replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|\/\/[^\n]*|\/\*(?:.|\n)*?\*\//g, (found) => (found[0] === '/' ? ' ' : '""'));

const kToken = /\bnamespace\s*([\w:]*)\s*\{|\b(?:class|struct|union)\s+(?:\[\[.*?\]\]\s*)?([\w:]+)(?:\s+final)?\s*(?::[^;{}()]*)?\{|[{}]/g;

const places = new Map();
for (const layer of ['libs', 'apps']) {
  for (const path of sources(join(root, layer))) {
    // One entry for each brace that is open: the name of a namespace, '' for an unnamed one, or nothing.
    const open = [];
    for (const [token, space, type] of bare(readFileSync(path, 'utf8')).matchAll(kToken)) {
      if (token === '}') {
        open.pop();
        continue;
      }
      if (type && !type.includes(':') && open.every((one) => one)) {
        const name = [...open, type].join('::');
        places.set(name, new Set([...(places.get(name) ?? []), relative(root, path)]));
      }
      open.push(space);
    }
  }
}

const twice = [...places].filter(([, files]) => files.size > 1);
for (const [name, files] of twice) console.error(`${name} is defined more than once: ${[...files].join(', ')}`);
if (places.size < 500) console.error(`only ${places.size} types were found: this script no longer understands the sources`);
console.log(`${places.size} types`);
process.exit(twice.length > 0 || places.size < 500 ? 1 : 0);
