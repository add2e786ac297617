// The tree as the rules see it: its files, its documents, and what was found wrong.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export class Tree {
  constructor(root) {
    this.root = root;
    this.problems = [];
    const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
    this.files = listed.split('\n').filter((name) => name && existsSync(join(root, name)));
    this.documents = this.files.filter((name) => name.endsWith('.md'));
  }

  has(path) {
    return existsSync(join(this.root, path));
  }
  read(path) {
    return this.has(path) ? readFileSync(join(this.root, path), 'utf8') : '';
  }
  isFolder(path) {
    return this.has(path) && statSync(join(this.root, path)).isDirectory();
  }
  // Without its blocks of code.
  prose(document) {
    return this.read(document).replace(/```[\s\S]*?```/g, '');
  }
  wrong(document, what) {
    this.problems.push(`${document}: ${what}`);
  }
}

// The rows of the first table below a line, each as its cells. A row of dashes is none.
export function rowsBelow(text, line) {
  const from = text.indexOf(line);
  if (from < 0) return [];
  const rows = [];
  for (const one of text.slice(from).split('\n')) {
    if (one.startsWith('|')) rows.push(one.slice(1, -1).split('|').map((cell) => cell.trim()));
    else if (rows.length > 0) break;
  }
  return rows.filter((cells) => !cells.every((cell) => /^-*$/.test(cell)));
}
