// What a document links to, names as a path, or quotes as code is in the tree.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const slug = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replace(/ /g, '-');
const headings = (text) => text.split('\n').filter((line) => /^#{1,6} /.test(line)).map((line) => slug(line.replace(/^#+ /, '')));

// Every relative link leads to a file, and every #anchor to a heading.
function checkLinks(tree, name, prose) {
  let count = 0;
  for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    count += 1;
    const [path, anchor] = target.split('#');
    const file = path ? resolve(tree.root, dirname(name), path) : join(tree.root, name);
    if (!existsSync(file)) tree.wrong(name, `link to ${target}, which is not there`);
    else if (anchor && !statSync(file).isDirectory() && !headings(readFileSync(file, 'utf8')).includes(anchor)) {
      tree.wrong(name, `${relative(tree.root, file)} has no heading #${anchor}`);
    }
  }
  return count;
}

const folders = /^(?:libs|apps|docs|tests|bench|fuzz|scripts|examples|cmake|tools|clients|packaging)\/[\w./-]+$/;
export const sources = /^[\w./-]*\w\.(?:h|cc|mjs|tsx?|cmake|talk|cli|sh|py)$/;
const stands = (tree, name, path) => tree.has(path) || existsSync(resolve(tree.root, dirname(name), path));

// A path that begins with a folder of ours stands where it says; the name of a source file is that of one: in the
// README of a layer or an application, of one of its own.
function checkNames(tree, name, prose) {
  let count = 0;
  const [home] = /^(?:libs|apps|clients)\/\w+\/(?=README\.md$)/.exec(name) ?? [''];
  for (const [, path] of prose.matchAll(/`([^`\s]+)`/g)) {
    if (!folders.test(path) && !sources.test(path)) continue;
    count += 1;
    if (stands(tree, name, path)) continue;
    const known = !folders.test(path) && tree.files.some((file) => file.startsWith(home) && file.endsWith(`/${path}`));
    if (!known) tree.wrong(name, `\`${path}\` is not there${home ? ` (in ${home})` : ''}`);
  }
  return count;
}

// A block of C++ or CMake that follows `<!-- examples/x.cc -->` is in that file, word for word.
function checkQuotes(tree, name) {
  let count = 0;
  for (const [, quoted, block] of tree.read(name).matchAll(/<!-- (examples\/\S+) -->\n```(?:cpp|cmake)\n([\s\S]*?)```/g)) {
    count += 1;
    if (!tree.read(quoted).includes(block.trim())) tree.wrong(name, `the code block is not what ${quoted} says`);
  }
  return count;
}

export function checkPaths(tree) {
  let count = 0;
  for (const name of tree.documents) {
    const prose = tree.prose(name);
    count += checkLinks(tree, name, prose) + checkNames(tree, name, prose) + checkQuotes(tree, name);
  }
  return `${count} links and paths`;
}
