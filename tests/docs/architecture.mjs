// docs/architecture.md names the layers and applications that CMakeLists.txt builds, in their order, the page of a layer has
// all of its public headers, and nothing in any of them has a name that the sources do not have.
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { sources } from './paths.mjs';
import { rowsBelow } from './tree.mjs';

const page = 'docs/architecture.md';
const same = (some, others) => some.join(' ') === others.join(' ');
const names = (rows) => rows.slice(1).map(([first]) => /^\[(\w+)\]/.exec(first)?.[1] ?? first);

function checkLayers(tree, build) {
  const built = /tertulia_layers\(([^)]+)\)/.exec(build)?.[1].trim().split(/\s+/) ?? [];
  const told = names(rowsBelow(tree.read(page), '| layer |'));
  if (built.length === 0 || !same(built, told)) tree.wrong(page, `the layers are ${built.join(' ')}, not ${told.join(' ')}`);
  const drawn = [...(/\nlibs\/([\s\S]*?)```/.exec(tree.read(page))?.[1] ?? '').matchAll(/^ +(\w+) {2,}\S/gm)].map(([, name]) => name).reverse();
  if (!same(built, drawn)) tree.wrong(page, `the layers are drawn as ${drawn.join(' ')}`);
  const present = readdirSync(join(tree.root, 'libs')).filter((name) => tree.isFolder(`libs/${name}`)).sort();
  if (!same([...built].sort(), present)) tree.wrong('libs', `holds ${present.join(' ')}, and CMakeLists.txt builds ${built.join(' ')}`);
  for (const layer of built) {
    const readme = `libs/${layer}/README.md`;
    const headers = tree.files.filter((file) => file.startsWith(`libs/${layer}/include/`) && file.endsWith('.h') && !file.includes('/testing/'));
    for (const header of headers) if (!tree.read(readme).includes(`\`${basename(header)}\``)) tree.wrong(readme, `says nothing of ${header}`);
  }
  return built;
}

function checkApplications(tree, build) {
  const built = [...build.matchAll(/add_subdirectory\(apps\/(\w+)\)/g)].map(([, name]) => name).sort();
  const told = names(rowsBelow(tree.read(page), '| application |')).sort();
  if (built.length === 0 || !same(built, told)) tree.wrong(page, `the applications are ${built.join(' ')}, not ${told.join(' ')}`);
}

// "- **store**: … `src/sqlite` …" is a folder of that layer.
function checkParts(tree) {
  for (const [, layer, text] of tree.read(page).matchAll(/^- \*\*(\w+)\*\*: ([\s\S]*?)(?=^- |\n\n)/gm)) {
    for (const [, path] of text.matchAll(/`(src\/[\w./-]+)`/g)) {
      if (!tree.has(`libs/${layer}/${path}`)) tree.wrong(page, `libs/${layer}/${path} is not there`);
    }
  }
}

// `name`, `Type::name`, `name()`: each word of it stands in a source. `TERTULIA_STORE_KIND` is the setting `store.kind`.
function checkIdentifiers(tree, documents) {
  const words = new Set();
  for (const file of tree.files) {
    if (!/\.(h|cc|mjs|ts|tsx|cmake|in|json|sh|txt|toml|talk)$|^scripts\/\w+$/.test(file) || /package-lock|\/corpus\//.test(file)) continue;
    for (const [word] of tree.read(file).matchAll(/[A-Za-z_]\w+/g)) words.add(word);
  }
  let count = 0;
  for (const document of documents) {
    for (const [, name] of tree.prose(document).matchAll(/`([A-Za-z]\w*(?:(?:::|\.)\w+)*)(?:\(\))?`/g)) {
      if (sources.test(name) || /^E[A-Z]+$/.test(name)) continue;  // EIO and the like are the system's
      count += 1;
      const missing = (/^TERTULIA_/.test(name) && !words.has(name) ? name.toLowerCase().split('_') : name.split(/::|\./)).filter((word) => word.length > 1 && !words.has(word));
      if (missing.length > 0) tree.wrong(document, `\`${name}\`: nothing in the sources is called ${missing.join(', ')}`);
    }
  }
  return count;
}

export function checkArchitecture(tree) {
  const build = tree.read('CMakeLists.txt');
  const layers = checkLayers(tree, build);
  checkApplications(tree, build);
  checkParts(tree);
  const documents = [page, 'docs/life-of-a-turn.md', 'docs/promises.md', 'CONTRIBUTING.md', ...tree.documents.filter((name) => /^(libs|apps)\/\w+\/README\.md$/.test(name)),
    ...tree.documents.filter((name) => /^docs\/(contracts|formats|guides)\//.test(name)), 'docs/faults.md', 'docs/limits.md', 'docs/words.md'];
  return `${layers.length} layers, ${checkIdentifiers(tree, documents)} names`;
}
