// check.mjs ROOT: fails when a document says what is not so in the tree. Each rule stands in a file of its own:
//  - paths.mjs: links, anchors, paths and names of source files, quoted code
//  - limits.mjs: the numbers of docs/limits.md
//  - architecture.mjs: layers, applications, names of functions and types
//  - commands.mjs: commands of the program and their flags
//  - lists.mjs: decisions, the proofs of the promises, the changelog's form, the README's map
import { resolve } from 'node:path';

import { checkArchitecture } from './architecture.mjs';
import { checkCommands } from './commands.mjs';
import { checkLimits } from './limits.mjs';
import { checkLists } from './lists.mjs';
import { checkPaths } from './paths.mjs';
import { Tree } from './tree.mjs';

const tree = new Tree(resolve(process.argv[2]));
const counted = [checkPaths, checkLimits, checkArchitecture, checkCommands, checkLists].map((rule) => rule(tree));
for (const problem of tree.problems) console.error(problem);
console.log(`${tree.documents.length} documents, ${counted.join(', ')}, ${tree.problems.length} problems`);
process.exit(tree.problems.length === 0 && tree.documents.length > 0 ? 0 : 1);
