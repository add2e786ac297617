// A command of `tertulia` that a document shows exists, and so do its flags: whether it works, the tests of the program say.
const groups = new Set(['audit', 'branches', 'config', 'keys', 'memory', 'messages', 'sessions', 'tools', 'workflow']);

// The words and flags that the sources of the command line have as texts.
function known(tree) {
  const sources = tree.files.filter((file) => /^apps\/cli\/.*\.cc$/.test(file)).map((file) => tree.read(file)).join('\n');
  const words = new Set([...sources.matchAll(/"([a-z][a-z-]*)"/g)].map(([, word]) => word));
  const flags = new Set([...sources.matchAll(/"(?:-\w,)?(--[a-z-]+)[",]/g)].map(([, flag]) => flag));
  return { words, flags: flags.add('--help').add('--version') };
}

// Each line of a block that calls the program, and each `tertulia …` in the prose; without what follows a pipe or a #.
function calls(text) {
  const lines = [...text.matchAll(/```[\s\S]*?```/g)].flatMap(([block]) => block.split('\n'));
  const quoted = [...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code);
  return [...lines, ...quoted].map((line) => /(?:^|\| *|&& *|\$ )(?:tertulia|scripts\/run)((?: +\S+)*)/.exec(line.split(/ #|;/)[0])?.[1])
    .filter(Boolean).map((words) => words.split(/ [|<>] /)[0].trim().split(/ +/));
}

export function checkCommands(tree) {
  const { words, flags } = known(tree);
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
  return `${count} commands`;
}
