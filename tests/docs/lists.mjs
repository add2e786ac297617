// Lists that are complete and in form: the decisions, what proves each promise, the changelog, and the README's short map.
import { dirname, join, normalize } from 'node:path';

import { rowsBelow } from './tree.mjs';

function checkDecisions(tree) {
  const index = 'docs/decisions/README.md';
  const pages = tree.documents.map((name) => /^docs\/decisions\/(\d{4})-[\w-]+\.md$/.exec(name)).filter(Boolean);
  const rows = rowsBelow(tree.read(index), '| | what it decides |').slice(1);
  const listed = rows.map(([first]) => /^\[(\d{4})\]\((\1-[\w-]+\.md)\)$/.exec(first)?.[2] ?? first);
  const there = pages.map(([name]) => name.slice('docs/decisions/'.length)).sort();
  if (listed.join(' ') !== there.join(' ')) {
    const lost = there.filter((name) => !listed.includes(name));
    const extra = listed.filter((name) => !there.includes(name));
    tree.wrong(index, `not listed: ${lost.join(' ') || '-'}; not there: ${extra.join(' ') || '-'}; each stands once, in order`);
  }
  for (const [name, number] of pages) {
    if (!tree.read(name).startsWith(`# ${number}`)) tree.wrong(name, `does not begin with "# ${number}"`);
    if (pages.filter(([, other]) => other === number).length > 1) tree.wrong(name, `there are two decisions ${number}`);
  }
  for (const [, what] of rows) {
    if (!what) tree.wrong(index, 'a decision has no line that says what it decides');
  }
  return pages.length;
}

// "1. …" to "10. …", each with a link to a test or a suite. That the links lead somewhere is checked with all links.
function checkPromises(tree) {
  const page = 'docs/promises.md';
  const isTest = (target) => /^(tests\/|libs\/\w+\/tests\/|apps\/\w+\/tests\/|libs\/store\/(src|include\/tertulia\/store)\/testing\/|fuzz\/)/.test(target);
  const items = tree.read(page).split(/^## /m)[0].split(/^(?=\d+\. )/m).map((text) => [text, Number(/^(\d+)\. /.exec(text)?.[1])]);
  for (let number = 1; number <= 10; ++number) {
    const item = items.filter(([, its]) => its === number);
    if (item.length !== 1) tree.wrong(page, `promise ${number} stands there ${item.length} times`);
    const proofs = [...(item[0]?.[0] ?? '').matchAll(/\]\(([^)\s#]+)/g)].map(([, target]) => normalize(join(dirname(page), target)));
    if (!proofs.some((target) => isTest(target) && tree.has(target))) tree.wrong(page, `nothing proves promise ${number}`);
  }
}

// "## [Unreleased]" or "## [1.2.3] - date", below it the sections of Keep a Changelog, in their order, with short entries.
function checkChangelog(tree) {
  const page = 'CHANGELOG.md';
  const sections = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  const [, ...versions] = tree.read(page).split(/^## /m);
  if (versions.length === 0) tree.wrong(page, 'has no version');
  for (const version of versions) {
    if (!/^\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)/.test(version)) tree.wrong(page, `"${version.split('\n')[0]}" is no version`);
    const [head, ...parts] = version.split(/^### /m);
    if (/^- /m.test(head)) tree.wrong(page, 'an entry stands in no section');
    const names = parts.map((part) => part.split('\n')[0]);
    if (names.join() !== sections.filter((name) => names.includes(name)).join()) tree.wrong(page, `sections ${names.join(', ')}: they are ${sections.join(', ')}, each once`);
    for (const [entry] of parts.join('\n').matchAll(/^- .*(?:\n  .*)*/gm)) {
      if (entry.length > 400) tree.wrong(page, `an entry of ${entry.length} characters; 400 are enough: ${entry.slice(0, 60)}…`);
    }
  }
}

function checkMap(tree) {
  const rows = rowsBelow(tree.read('README.md'), '## The map').slice(1);
  if (rows.length === 0 || rows.length > 10) tree.wrong('README.md', `the map has ${rows.length} rows; one to ten are one screen`);
}

export function checkLists(tree) {
  const decisions = checkDecisions(tree);
  checkPromises(tree);
  checkChangelog(tree);
  checkMap(tree);
  return `${decisions} decisions`;
}
