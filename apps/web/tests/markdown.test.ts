import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSX } from 'preact';
import { CodeBlock } from '../shared/code_block.tsx';
import { Formula } from '../shared/formula.tsx';
import { kMarkdownLimit, MarkdownText, safeAddress } from '../shared/markdown.ts';
import { kHostile } from './hostile.mjs';

type Child = JSX.Element | string | number | null | undefined | boolean | Child[];

function* elements(children: Child): Generator<JSX.Element> {
  if (Array.isArray(children)) for (const child of children) yield* elements(child);
  else if (children && typeof children === 'object') {
    yield children;
    yield* elements((children.props as { children?: Child }).children);
  }
}

const words = (children: Child): string =>
  Array.isArray(children)
    ? children.map(words).join('')
    : children && typeof children === 'object'
      ? words((children.props as { children?: Child }).children)
      : String(children ?? '');

const render = (text: string, streaming = false) => new MarkdownText({ code: CodeBlock, formula: Formula }).render(text, streaming);
const tags = (text: string) => [...elements(render(text))].map((element) => element.type);

test('a paragraph, a list and a heading become their elements', () => {
  assert.deepEqual(tags('# Title\n\ntext **bold**\n\n- one\n- two'), ['div', 'h2', 'div', 'p', 'strong', 'div', 'ul', 'li', 'li']);
});

test('headings leave no level out', () => {
  assert.deepEqual(tags('### a\n\n# b\n\n#### c\n\n###### d').filter((tag) => tag !== 'div'), ['h2', 'h2', 'h3', 'h4']);
});

test('a fence becomes a block of code with its language', () => {
  const [code] = [...elements(render('```python\nx = 1\n```'))].filter((element) => element.type === CodeBlock);
  assert.deepEqual({ ...(code!.props as object) }, { code: 'x = 1\n', language: 'python', plain: false });
});

test('what is to do has its boxes, and a text runs as its first letters do', () => {
  const list = [...elements(render('- [ ] open\n- [x] done\n- [y] neither'))];
  assert.deepEqual(list.filter((element) => element.type === 'li').map((item) => [words(item), (item.props as { class?: string }).class]), [
    ['☐ open', 'task'],
    ['☑ done', 'task'],
    ['[y] neither', undefined],
  ]);
  for (const [text, tag] of [['שלום', 'p'], ['# שלום', 'h2'], ['> שלום', 'blockquote'], ['1. שלום', 'ol']]) {
    const found = [...elements(render(text!))].find((element) => element.type === tag);
    assert.equal((found?.props as { dir?: string }).dir, 'auto', tag);
  }
});

test('formulas are found, prices are not', () => {
  const formulas = (text: string) =>
    [...elements(render(text))].filter((element) => element.type === Formula).map((element) => (element.props as { tex: string }).tex);
  assert.deepEqual(formulas('Euler: $e^{i\\pi}+1=0$ and \\(x^2\\).'), ['e^{i\\pi}+1=0', 'x^2']);
  assert.deepEqual(formulas('$$\n\\frac{a}{b}\n$$'), ['\\frac{a}{b}']);
  assert.deepEqual(formulas('\\[ a + b \\]'), ['a + b']);
  assert.deepEqual(formulas('It costs $5 and then $10.'), []);
  assert.deepEqual(formulas('`$x$` and \\$y\\$'), []);
});

test('addresses that run something are refused, however they are written', () => {
  for (const bad of ['javascript:alert(1)', 'JaVa\tScRiPt:alert(1)', ' data:text/html,x', 'vbscript:x', '//evil.example', 'file:///etc/passwd', '\u0001javascript:x', 'blob:x']) {
    assert.equal(safeAddress(bad), undefined, bad);
  }
  assert.equal(safeAddress('https://example.org/a'), 'https://example.org/a');
});

const kAllowedTags = new Set([
  'div', 'p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'strong', 'em', 's',
  'hr', 'br', 'code', 'pre', 'a', 'span',
]);
const kAllowedProps = new Set(['children', 'class', 'href', 'target', 'rel', 'title', 'start', 'tabIndex', 'role', 'aria-label', 'dir']);

test('hostile text makes no element and no attribute that is not on the list', () => {
  for (const { name, text } of kHostile) {
    for (const streaming of [true, false]) {
      for (const element of elements(render(text, streaming))) {
        if (typeof element.type !== 'string') {
          assert.ok(element.type === CodeBlock || element.type === Formula, name);
          continue;
        }
        assert.ok(kAllowedTags.has(element.type), `${name}: <${element.type}>`);
        for (const [prop, value] of Object.entries(element.props)) {
          assert.ok(kAllowedProps.has(prop), `${name}: ${prop}`);
          if (prop === 'href') assert.match(String(value), /^(https?:\/\/|mailto:)/i, name);
        }
      }
    }
  }
});

test('a text beyond the limit is shown as it is', () => {
  const text = '# x\n'.repeat(kMarkdownLimit / 4 + 1);
  const [element] = render(text);
  assert.equal(element!.type, 'pre');
  assert.equal(words(element), text);
});

test('a text that grows keeps the elements of the blocks that have not changed', () => {
  const markdown = new MarkdownText({ code: CodeBlock, formula: Formula });
  const before = markdown.render('first\n\nsecond', true);
  const after = markdown.render('first\n\nsecond and more', true);
  assert.equal(after[0], before[0]);
  assert.notEqual(after[1], before[1]);
  assert.equal(words(after[1]), 'second and more');
});
