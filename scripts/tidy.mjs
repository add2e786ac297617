// tidy.mjs BUILD_DIR: runs clang-tidy over the libraries and programs of a build, a file for each core.
//
// A file that was found clean is not looked at again while nothing that clang-tidy saw has changed: the file, every
// header it includes, its command line, .clang-tidy and clang-tidy itself. Clean results are remembered by hash under
// $XDG_CACHE_HOME/tertulia/tidy (or ~/.cache), so a second checkout knows them too. Findings are never remembered.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { availableParallelism, homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const build = realpathSync(process.argv[2]);
const root = process.cwd();
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tertulia', 'tidy');
mkdirSync(cache, { recursive: true });

const sha = (text) => createHash('sha256').update(text).digest('hex');
const hashes = new Map();
function hash_of(path) {
  if (!hashes.has(path)) hashes.set(path, sha(readFileSync(path)));
  return hashes.get(path);
}

// What each object file was made from, as ninja knows it: "object: #deps …" and then one indented path a line.
function dependencies() {
  const found = new Map();
  let files;
  for (const line of execFileSync('ninja', ['-C', build, '-t', 'deps'], { encoding: 'utf8', maxBuffer: 1 << 30 }).split('\n')) {
    if (line.startsWith('    ')) files?.push(resolve(build, line.trim()));
    else if (line.includes(': #deps')) found.set(line.slice(0, line.indexOf(': #deps')), (files = []));
  }
  return found;
}

const tool = execFileSync('clang-tidy-19', ['--version'], { encoding: 'utf8' }) + readFileSync('.clang-tidy', 'utf8');
const known = dependencies();
function key_of(unit) {
  const files = known.get(unit.output) ?? [];
  if (files.length === 0) throw new Error(`${unit.output} is not built: build it first`);
  // Of the system's headers by their whole path: a checkout may stand at any depth.
  const lines = [...new Set(files)].sort().map((file) => `${file.startsWith(`${root}/`) ? relative(root, file) : file} ${hash_of(file)}`);
  return sha([tool, unit.command.replaceAll(root, '.'), ...lines].join('\n'));
}

const units = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8'))
  .map((unit) => ({ ...unit, name: relative(root, unit.file), output: / -o (\S+)/.exec(unit.command)[1] }))
  .map((unit) => ({ ...unit, batch: /\/tertulia_\w+\.dir\/Unity\//.test(unit.name) }))
  .filter((unit) => unit.batch || /^(libs\/\w+\/src|apps)\/.*\.cc$/.test(unit.name));
const todo = units.map((unit) => ({ ...unit, mark: join(cache, key_of(unit)) })).filter((unit) => !existsSync(unit.mark));
console.log(`${units.length} files, ${units.length - todo.length} known to be clean`);

const count = todo.length;
let failed = 0;
let done = 0;
function look_at(unit) {
  // A batch includes its sources: they are what is looked at, and that they are included is meant.
  const batch = ['--checks=-bugprone-suspicious-include', '--header-filter=include/tertulia/.*|/(libs/\\w+/src|apps)/.*\\.cc$'];
  const options = ['--quiet', '-p', build, ...(unit.batch ? batch : []), unit.file];
  return new Promise((ready) => execFile('clang-tidy-19', options, { maxBuffer: 1 << 28 }, (problem, out, err) => {
    done += 1;
    if (problem) {
      failed += 1;
      console.log(`${out}${err.replace(/^\d+ warnings?.*\n/gm, '')}`);
    } else {
      writeFileSync(unit.mark, `${unit.name}\n`);
    }
    console.log(`[${done}/${count}] ${unit.name}${problem ? ': findings' : ''}`);
    ready();
  }));
}
async function worker() {
  for (let unit = todo.shift(); unit; unit = todo.shift()) await look_at(unit);
}
const jobs = availableParallelism();
await Promise.all(Array.from({ length: jobs }, worker));
if (failed > 0) console.log(`clang-tidy has something to say about ${failed} files`);
process.exit(failed > 0 ? 1 : 0);
