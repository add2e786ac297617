// Markdown as elements, built one by one from a list of what is allowed.
//
// What a model says is hostile. Nothing here parses HTML: tags in the text are shown as text. An element has the name and
// the attributes that this file gives it and no others; addresses are followed only by a click, and only http, https
// and mailto; pictures are never fetched, their place is taken by a word about them.
import MarkdownIt from 'markdown-it';
import { h, type ComponentChildren, type ComponentType, type JSX } from 'preact';
import { mathRule } from './math_rule.ts';

// Parsed beyond this many characters, an answer would hold up the page; it is shown as it is.
export const kMarkdownLimit = 400_000;

const parser = new MarkdownIt({ html: false, linkify: true, typographer: false, breaks: false, maxNesting: 40 });
parser.use(mathRule);
// Bare words such as "example.md" are no addresses.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// Lists of what is to do: their boxes are drawn as letters, for nobody can tick them.
parser.core.ruler.push('tasks', ({ tokens }) => {
  tokens.forEach((token, index) => {
    const [item, first] = [tokens[index - 2], token.children?.[0]];
    const box = token.type === 'inline' && item?.type === 'list_item_open' && first?.type === 'text' ? /^\[([ xX])\]\s/.exec(first.content) : null;
    if (!box) return;
    first!.content = `${box[1] === ' ' ? '☐' : '☑'} ${first!.content.slice(box[0].length)}`;
    item!.meta = { task: true };
  });
});

// What draws code and formulas. The page loads a lot for it, the widget nothing.
export interface MarkdownParts {
  code: ComponentType<{ code: string; language: string; plain: boolean }>;
  formula: ComponentType<{ tex: string; display: boolean }>;
}

type Token = ReturnType<typeof parser.parse>[number];

const attribute = (token: Token, name: string): string => String(token.attrGet(name) ?? '');

const kPlainTags = new Set([
  'p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td',
  'strong', 'em', 's', 'hr',
]);

export function safeAddress(address: string): string | undefined {
  // Browsers pass over control characters and spaces within the scheme.
  const plain = address.replace(/[\u0000-\u0020\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202f\u2060\ufeff]/g, '');
  return /^(https?:\/\/|mailto:)/i.test(plain) ? plain : undefined;
}

interface Frame {
  tag: string;
  props: Record<string, unknown>;
  children: ComponentChildren[];
}

// Elements out of the tokens of one block or one line.
function build(tokens: readonly Token[], parts: MarkdownParts, streaming: boolean): ComponentChildren[] {
  const root: Frame = { tag: '', props: {}, children: [] };
  const stack: Frame[] = [root];
  const add = (child: ComponentChildren) => stack[stack.length - 1]!.children.push(child);
  const open = (tag: string, props: Record<string, unknown> = {}) => stack.push({ tag, props, children: [] });
  const close = () => {
    if (stack.length < 2) return;
    const frame = stack.pop()!;
    if (frame.tag === '') return frame.children.forEach(add);
    const element = h(frame.tag, frame.props, ...frame.children);
    add(frame.tag === 'table' ? h('div', { class: 'table-scroll', tabIndex: 0, role: 'region', 'aria-label': 'Table' }, element) : element);
  };
  for (const token of tokens) {
    switch (token.type) {
      case 'inline':
        build(token.children ?? [], parts, streaming).forEach(add);
        continue;
      case 'text':
      case 'text_special':
        add(token.content);
        continue;
      case 'softbreak':
        add('\n');
        continue;
      case 'hardbreak':
        add(h('br', null));
        continue;
      case 'code_inline':
        add(h('code', null, token.content));
        continue;
      case 'fence':
      case 'code_block':
        add(h(parts.code, { code: token.content, language: token.info.trim().split(/\s+/)[0] ?? '', plain: streaming }));
        continue;
      case 'math_inline':
      case 'math_block':
        add(h(parts.formula, { tex: token.content, display: !!token.meta?.['display'] }));
        continue;
      case 'image':
        add(imageWord(token));
        continue;
      case 'link_open': {
        const href = safeAddress(attribute(token, 'href'));
        if (href) open('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc', title: href });
        else open('');
        continue;
      }
      case 'link_close':
        close();
        continue;
      case 'hr':
        add(h('hr', null));
        continue;
    }
    if (token.hidden) {
      if (token.nesting === 1) open('');
      else if (token.nesting === -1) close();
    } else if (token.nesting === 1) {
      open(kPlainTags.has(token.tag) ? String(token.meta?.['tag'] ?? token.tag) : '', propsOf(token));
    } else if (token.nesting === -1) {
      close();
    } else if (token.content) {
      add(token.content);
    }
  }
  while (stack.length > 1) close();
  return root.children;
}

// The page has its own first heading, and whoever listens to headings finds no level left out, whatever a model wrote.
// Returns the level of the heading, or of the one before.
function settleHeading(token: Token, before: number): number {
  if (token.type !== 'heading_open') return before;
  const level = Math.min(6, Number(token.tag.slice(1)) + 1, before + 1);
  token.meta = { tag: `h${level}` };
  return level;
}

// A text runs as its first letters do: from the right in Arabic and Hebrew.
const kRuns = { dir: 'auto' } as const;

function propsOf(token: Token): Record<string, unknown> {
  if (token.type === 'ordered_list_open') {
    const start = Number(attribute(token, 'start') || 1);
    return start === 1 ? kRuns : { ...kRuns, start };
  }
  if (token.type === 'th_open' || token.type === 'td_open') {
    const align = /text-align:(left|right|center)/.exec(attribute(token, 'style'))?.[1];
    return align ? { class: `align-${align}` } : {};
  }
  if (token.meta?.['task']) return { class: 'task' };
  const level = /^h([1-6])$/.exec(token.tag)?.[1];
  if (level) return { ...kRuns, class: `level-${level}` };
  return ['p', 'ul', 'blockquote', 'table'].includes(token.tag) ? kRuns : {};
}

function imageWord(token: Token): JSX.Element {
  const href = safeAddress(attribute(token, 'src'));
  const alt = token.content || 'picture';
  const word = h('span', { class: 'image-word' }, `Picture: ${alt}`);
  if (!href) return word;
  const title = `Not loaded: ${href}`;
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc', title }, word);
}

interface Piece {
  source: string;
  element: JSX.Element;
}

// Renders a text that grows. Blocks that have not changed keep their elements, so that a long answer costs what is new
// in it and not all of it at each word.
export class MarkdownText {
  private pieces: Piece[] = [];
  private last: { text: string; streaming: boolean; elements: JSX.Element[] } | undefined;

  constructor(private readonly parts: MarkdownParts) {}

  render(text: string, streaming: boolean): JSX.Element[] {
    if (this.last?.text === text && this.last.streaming === streaming) return this.last.elements;
    if (text.length > kMarkdownLimit) return [h('pre', { class: 'too-long', key: 0 }, text)];
    const tokens = parser.parse(text, {});
    const lines = text.split('\n');
    const pieces: Piece[] = [];
    let level = 1;
    for (let begin = 0; begin < tokens.length; ) {
      let end = begin;
      let depth = 0;
      do depth += tokens[end++]!.nesting;
      while (depth > 0 && end < tokens.length);
      const last = end >= tokens.length;
      const open = streaming && last;
      level = settleHeading(tokens[begin]!, level);
      const map = tokens[begin]!.map;
      const source = (map ? lines.slice(map[0], map[1]).join('\n') : String(begin)) + (open ? '\u0000' : '') + level;
      const before = this.pieces[pieces.length];
      if (before?.source === source) {
        pieces.push(before);
      } else {
        const children = build(tokens.slice(begin, end), this.parts, open);
        pieces.push({ source, element: h('div', { class: 'block', key: pieces.length }, children) });
      }
      begin = end;
    }
    this.pieces = pieces;
    const elements = pieces.map((piece) => piece.element);
    this.last = { text, streaming, elements };
    return elements;
  }
}
