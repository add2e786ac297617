// build.mjs MODULES OUT: builds the chat page and the widget with the packages of MODULES/node_modules, and writes
// OUT/web_assets_table.cc, which holds every file of them as it is and compressed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import { stage } from './stage.mjs';

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out) {
  console.error('usage: node build.mjs MODULES OUT');
  process.exit(2);
}

const kTypes = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const place = stage(modules, out);
for (const part of ['chat', 'widget']) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn'], {
    cwd: place,
    env: { ...process.env, TERTULIA_WEB_PART: part },
    encoding: 'utf8',
  });
  if (status !== 0) {
    console.error(`${stdout}${stderr}\nThe ${part} could not be built.`);
    process.exit(1);
  }
}

const files = [];
for (const part of ['chat', 'widget']) {
  const dist = join(place, 'dist', part);
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    const name = file.slice(dist.length).replaceAll('\\', '/');
    files.push({ path: name === '/index.html' ? '/' : name, file, bytes: readFileSync(file) });
  }
}
// What the API can do, for programs and for people who look.
const described = join(dirname(fileURLToPath(import.meta.url)), '../../docs/api/openapi.json');
files.push({ path: '/openapi.json', file: described, bytes: readFileSync(described) });
// The page has a name of its own, too.
files.push({ ...files.find(({ path }) => path === '/'), path: '/chat' });
files.sort((a, b) => (a.path < b.path ? -1 : 1));

// The bytes of all files, one behind the other: each as it is, then compressed.
const blob = [];
let size = 0;
const put = (bytes) => {
  const at = size;
  blob.push(bytes);
  size += bytes.length;
  return at;
};
const rows = files.map(({ path, file, bytes }) => {
  const type = kTypes[extname(file)];
  if (!type) throw new Error(`${path}: its type is not known`);
  const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });
  const worth = gzip.length < bytes.length * 0.9;
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const whole = `text_at(${put(bytes)}, ${bytes.length})`;
  const packed = worth ? `text_at(${put(gzip)}, ${gzip.length})` : '{}';
  const fixed = path.startsWith('/assets/');
  return `    {"${path}", "${type}", "\\"${etag}\\"", ${whole}, ${packed}, ${fixed}},`;
});

mkdirSync(out, { recursive: true });
const hash = createHash('sha256').update(Buffer.concat(blob)).digest('hex').slice(0, 16);
const bytes = join(out, `web_assets.bin`);
writeFileSync(bytes, Buffer.concat(blob));
const made = join(out, 'web_assets_table.cc');
writeFileSync(
  `${made}.new`,
  `// Made by apps/web/build.mjs. ${hash}
#include <array>
#include <cstddef>

#include "web_assets.h"

// The assembler takes the bytes in as they are; as an array of numbers they would take a compiler seconds.
asm(".section .rodata\\n"
    ".balign 16\\n"
    "tertulia_web_bytes:\\n"
    ".incbin \\"${bytes}\\"\\n"
    ".byte 0\\n"
    ".previous\\n");
extern "C" const char tertulia_web_bytes[] __attribute__((visibility("hidden")));

namespace tertulia {
namespace {

std::string_view text_at(std::size_t begin, std::size_t size) { return {tertulia_web_bytes + begin, size}; }

const std::array<WebAsset, ${rows.length}> kAssets{{
${rows.join('\n')}
}};

}  // namespace

std::span<const WebAsset> web_assets() { return kAssets; }

}  // namespace tertulia
`,
);
renameSync(`${made}.new`, made);
// What a page of somebody else has to load, in bytes, compressed.
const kWidgetLimit = 60_000;
for (const { path, bytes } of files) {
  if (path === '/widget.js' && gzipSync(bytes).length > kWidgetLimit) throw new Error(`the widget has more than ${kWidgetLimit} bytes`);
  console.log(`${String(gzipSync(bytes).length).padStart(8)} bytes gzipped  ${path}`);
}
