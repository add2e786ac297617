// Every number in docs/limits.md is the value of the constant beside it:
// `| what | 16,384 bytes | `kName` in `file` | …`. The constant is written as products, shifts and differences of numbers.
export function checkLimits(tree) {
  const document = 'docs/limits.md';
  let count = 0;
  for (const [, number, name, file] of tree.read(document).matchAll(/\| ([\d,]+)(?: bytes)? \| `(k\w+)` in `([^`]+)`/g)) {
    count += 1;
    const source = tree.read(file);
    const value = (constant) => {
      const text = source.match(new RegExp(`constexpr [\\w: ]+ ${constant} = ([^;]+);`))?.[1]
        .replace(/std::uint64_t\{1\}/g, '1').replace(/'/g, '').replace(/(\d)U/g, '$1').replace(/\bk\w+/g, value);
      return text && /^[\d\s()*<+-]+$/.test(text) ? Function(`return ${text}`)() : NaN;
    };
    if (value(name) !== Number(number.replaceAll(',', ''))) tree.wrong(document, `${name} in ${file} is ${value(name)}, not ${number}`);
  }
  if (count < 10) tree.wrong(document, `only ${count} numbers could be compared`);
  return `${count} limits`;
}
