// A command of `tertulia` that a document shows exists, and so do its flags, and docs/guides/cli.md lists every command.
// Whether they work, the tests of the program say.
import { rowsBelow } from './tree.mjs';

const groups = new Set(['audit', 'branches', 'config', 'keys', 'memory', 'messages', 'sessions', 'tools', 'workflow']);

// The words and flags that the sources of the command line have as texts.
function known(tree) {
  const sources = tree.files.filter((file) => /^apps\/cli\/.*\.cc$/.test(file)).map((file) => tree.read(file)).join('\n');
  const words = new Set([...sources.matchAll(/"([a-z][a-z-]*)"/g)].map(([, word]) => word));
  const flags = new Set([...sources.matchAll(/"(?:-\w,)?(--[a-z-]+)[",]/g)].map(([, flag]) => flag));
  const commands = new Set([...sources.matchAll(/\bapp\.add_subcommand\(\s*"([a-z-]+)"/g)].map(([, word]) => word));
  return { words, commands, flags: flags.add('--help').add('--version') };
}

// Each line of a block that calls the program, and each `tertulia …` in the prose; without what follows a pipe or a #.
function calls(text) {
  const lines = [...text.matchAll(/```[\s\S]*?```/g)].flatMap(([block]) => block.split('\n'));
  const quoted = [...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code);
  return [...lines, ...quoted].map((line) => /(?:^|\| *|&& *|\$ )(?:tertulia|scripts\/run)((?: +\S+)*)/.exec(line.split(/ #|;/)[0])?.[1])
    .filter(Boolean).map((words) => words.split(/ [|<>] /)[0].trim().split(/ +/));
}

export function checkCommands(tree) {
  const { words, commands, flags } = known(tree);
  let count = 0;
  for (const document of tree.documents.filter((name) => !name.startsWith('docs/decisions/'))) {
    for (const call of calls(tree.read(document))) {
      const [first, second = ''] = call.join(' ').replace(/^(?:--(?:config|data|owner|tenant) \S+ |--\S+ )+/, '').split(' ');
      const wanted = [first, ...(groups.has(first) ? [second] : [])].filter((word) => /^[a-z][a-z-]*$/.test(word));
      count += 1;
      for (const word of wanted) if (!words.has(word)) tree.wrong(document, `\`tertulia ${call.join(' ')}\`: there is no command ${word}`);
      for (const [flag] of call.join(' ').matchAll(/(?<=^| )--[a-z-]+/g)) {
        if (!flags.has(flag)) tree.wrong(document, `\`tertulia ${call.join(' ')}\`: there is no flag ${flag}`);
      }
    }
  }
  const page = 'docs/guides/cli.md';
  const rows = rowsBelow(tree.read(page), '| command |').slice(1);
  const listed = new Set(rows.flatMap(([cell]) => [...cell.matchAll(/`([a-z][a-z-]*)/g)].map(([, word]) => word)));
  for (const [flag] of rows.flat().join(' ').matchAll(/(?<=[` ])--[a-z-]+/g)) if (!flags.has(flag)) tree.wrong(page, `there is no flag ${flag}`);
  for (const word of commands) if (!listed.has(word)) tree.wrong(page, `\`${word}\` is not listed`);
  for (const word of listed) if (!commands.has(word)) tree.wrong(page, `there is no command ${word}`);
  return `${count} uses of ${commands.size} commands`;
}
