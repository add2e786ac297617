// check.mjs ROOT: fails when a document points at what is not there.
//  - every relative link in a Markdown file leads to a file, and every #anchor to a heading
//  - every `path/like/this` with a known folder in front exists
//  - every number in docs/limits.md is the value of the constant beside it
//  - a C++ block in README.md that follows `<!-- examples/x.cc -->` is the body of that file, word for word
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(process.argv[2]);
const problems = [];
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\n').filter((name) => name && existsSync(join(root, name)));

const slug = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replace(/ /g, '-');
const headings = (text) => text.split('\n').filter((line) => /^#{1,6} /.test(line)).map((line) => slug(line.replace(/^#+ /, '')));

let links = 0;
for (const name of files) {
  const text = readFileSync(join(root, name), 'utf8');
  const prose = text.replace(/```[\s\S]*?```/g, '');
  for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    links += 1;
    const [path, anchor] = target.split('#');
    const file = path ? resolve(root, dirname(name), path) : join(root, name);
    if (!existsSync(file)) problems.push(`${name}: link to ${target}, which is not there`);
    else if (anchor && !statSync(file).isDirectory() && !headings(readFileSync(file, 'utf8')).includes(anchor)) {
      problems.push(`${name}: ${relative(root, file)} has no heading #${anchor}`);
    }
  }
  for (const [, path] of prose.matchAll(/`((?:libs|apps|docs|tests|bench|fuzz|scripts|examples|cmake|tools)\/[\w./-]+)`/g)) {
    links += 1;
    if (!existsSync(join(root, path)) && !existsSync(resolve(root, dirname(name), path))) problems.push(`${name}: \`${path}\` is not there`);
  }
  for (const [, quoted, block] of text.matchAll(/<!-- (examples\/\S+) -->\n```cpp\n([\s\S]*?)```/g)) {
    links += 1;
    const source = existsSync(join(root, quoted)) ? readFileSync(join(root, quoted), 'utf8') : '';
    if (!source.includes(block.trim())) problems.push(`${name}: the code block is not what ${quoted} says`);
  }
}

// `| what | 16,384 bytes | `kName` in `file` | …`: the constant is written as products, shifts and differences of numbers.
const limits = readFileSync(join(root, 'docs/limits.md'), 'utf8');
let numbers = 0;
for (const [, number, name, file] of limits.matchAll(/\| ([\d,]+)(?: bytes)? \| `(k\w+)` in `([^`]+)`/g)) {
  numbers += 1;
  const source = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '';
  const value = (constant) => {
    const text = source.match(new RegExp(`constexpr [\\w: ]+ ${constant} = ([^;]+);`))?.[1]
      .replace(/std::uint64_t\{1\}/g, '1').replace(/'/g, '').replace(/(\d)U/g, '$1').replace(/\bk\w+/g, value);
    return text && /^[\d\s()*<+-]+$/.test(text) ? Function(`return ${text}`)() : NaN;
  };
  if (value(name) !== Number(number.replaceAll(',', ''))) problems.push(`docs/limits.md: ${name} in ${file} is ${value(name)}, not ${number}`);
}
if (numbers < 10) problems.push(`docs/limits.md: only ${numbers} numbers could be compared`);

for (const problem of problems) console.error(problem);
console.log(`${files.length} documents, ${links} links and paths, ${numbers} limits, ${problems.length} problems`);
process.exit(problems.length === 0 && files.length > 0 ? 0 : 1);
