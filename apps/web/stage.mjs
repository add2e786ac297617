// Lays the sources out beside the packages that they import, without writing into the source tree.
import { cpSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');

// `modules`: the folder that holds node_modules. Returns the folder that stands for apps/web.
export function stage(modules, out) {
  const place = join(out, 'stage');
  const link = join(place, 'apps/web/node_modules');
  if (existsSync(link) || lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  rmSync(place, { recursive: true, force: true });
  for (const part of ['apps/web', 'clients/typescript']) {
    mkdirSync(join(place, part), { recursive: true });
    const skipped = (path) => /^(node_modules|dist)$/.test(path.slice(join(root, part).length + 1).split(sep)[0]);
    cpSync(join(root, part), join(place, part), { recursive: true, filter: (path) => !skipped(path) });
  }
  symlinkSync(join(modules, 'node_modules'), link, 'dir');
  return join(place, 'apps/web');
}
