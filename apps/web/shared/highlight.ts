// Loaded with the first block of code: colours for a small set of languages, as a tree of spans.
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { h, type ComponentChildren } from 'preact';

const lowlight = createLowlight({
  bash, cpp, css, diff, go, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml,
});

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

export function highlighted(code: string, language: string): ComponentChildren | undefined {
  if (!lowlight.registered(language)) return undefined;
  return lowlight.highlight(language, code).children.map(elementOf);
}

function elementOf(node: Node): ComponentChildren {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return null;
  const names = node.properties['className'];
  return h('span', { class: Array.isArray(names) ? names.join(' ') : '' }, node.children.map(elementOf));
}
