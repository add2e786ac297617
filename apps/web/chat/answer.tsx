// What an answer is made of: text, thoughts, tools, files.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Block } from '../shared/blocks.ts';
import { CodeBlock } from '../shared/code_block.tsx';
import { Formula } from '../shared/formula.tsx';
import { Icon } from '../shared/icons.tsx';
import { MarkdownText } from '../shared/markdown.ts';
import { server } from './state/server.ts';
import { settings } from './state/settings.ts';
import type { Conversation } from './state/conversation.ts';
import { ToolCard } from './tool_card.tsx';

export function Answer({ here, blocks, turn }: { here: Conversation; blocks: readonly Block[]; turn: string | undefined }) {
  return (
    <>
      {blocks.map((block, index) => {
        if (block.kind === 'text') return <Prose key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind === 'reasoning') return <Thoughts key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind === 'tool') return <ToolCard key={index} here={here} block={block} turn={turn} />;
        return <AssetChip key={index} here={here} block={block} />;
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

type AssetBlock = Extract<Block, { kind: 'asset' }>;

export function Attachments({ here, blocks }: { here: Conversation; blocks: readonly Block[] }) {
  const assets = blocks.filter((block): block is AssetBlock => block.kind === 'asset');
  if (assets.length === 0) return null;
  return (
    <div class="attachments">
      {assets.map((block, index) => (
        <AssetChip key={index} here={here} block={block} />
      ))}
    </div>
  );
}

// Pictures that browsers draw without running anything in them.
const kDrawn = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

function AssetChip({ here, block }: { here: Conversation; block: AssetBlock }) {
  const [address, setAddress] = useState<string>();
  const drawn = block.media === 'image' && kDrawn.has(block.mediaType) && block.asset !== undefined;
  useEffect(() => {
    if (!drawn) return;
    let made: string | undefined;
    let wanted = true;
    server.asset(here.id, block.asset!).then(
      (bytes) => wanted && setAddress((made = URL.createObjectURL(bytes))),
      () => {},
    );
    return () => {
      wanted = false;
      if (made) URL.revokeObjectURL(made);
    };
  }, [block.asset]);
  const name = block.name || block.mediaType;
  if (address) return <img class="picture" src={address} alt={name} />;
  const save = async () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await server.asset(here.id, block.asset!));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <button type="button" class="file-chip" disabled={!block.asset} onClick={() => void save()} title="Save the file">
      <Icon name="file" size={16} /> {name}
    </button>
  );
}
