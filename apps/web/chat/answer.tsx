// What an answer is made of: text, thoughts, tools, files.
import { useRef } from 'preact/hooks';
import type { Block } from '../shared/blocks.ts';
import { CodeBlock } from '../shared/code_block.tsx';
import { Formula } from '../shared/formula.tsx';
import { MarkdownText } from '../shared/markdown.ts';
import { SentFile } from './attachments.tsx';
import type { Conversation } from './state/conversation.ts';
import { settings } from './state/settings.ts';
import { ToolCard } from './tool_card.tsx';

export function Answer({ here, blocks, turn }: { here: Conversation; blocks: readonly Block[]; turn: string | undefined }) {
  // People are asked about one call after the other; those behind it have not begun.
  const asked = blocks.findIndex((block) => block.kind === 'tool' && block.asked && !block.wanted);
  return (
    <>
      {blocks.map((block, index) => {
        if (block.kind === 'text') return <Prose key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind === 'reasoning') return <Thoughts key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind === 'tool') return <ToolCard key={index} here={here} block={block} turn={turn} held={asked >= 0 && index > asked} />;
        return <SentFile key={index} session={here.id} part={{ kind: block.media, media_type: block.mediaType, asset: block.asset, address: block.name }} />;
      })}
    </>
  );
}

export function Prose({ text, streaming }: { text: string; streaming: boolean }) {
  const markdown = useRef<MarkdownText>(null);
  markdown.current ??= new MarkdownText({ code: CodeBlock, formula: Formula });
  return <div class={streaming ? 'prose streaming' : 'prose'}>{markdown.current.render(text, streaming)}</div>;
}

function Thoughts({ text, streaming }: { text: string; streaming: boolean }) {
  return (
    <details class="thoughts" open={settings.value.showReasoning}>
      <summary>{streaming ? 'Thinking…' : 'Thought about it'}</summary>
      <Prose text={text} streaming={streaming} />
    </details>
  );
}
