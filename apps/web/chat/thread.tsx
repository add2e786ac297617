// The messages of a branch. Only those in sight are elements; the others are a height. Messages are read from the server as
// they come into sight. Whoever is at the end stays at the end.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualizerOptions } from '@tanstack/virtual-core';
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { LiveAnswer, SaidRow } from './live_rows.tsx';
import { MessageRow } from './message_row.tsx';
import type { Conversation } from './state/conversation.ts';
import { aim } from './state/place.ts';

// So long what is scrolled is what somebody wants, in milliseconds.
const kWishLasts = 1_000;

type Options = VirtualizerOptions<HTMLDivElement, HTMLElement>;

function useVirtualizer(options: Pick<Options, 'count' | 'getScrollElement' | 'estimateSize' | 'getItemKey'>) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const all: Options = {
    ...options,
    overscan: 6,
    anchorTo: 'end',
    scrollEndThreshold: 80,
    paddingStart: 24,
    paddingEnd: 24,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer(all));
  virtualizer.setOptions(all);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

export function Thread({ here }: { here: Conversation }) {
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const total = here.total.value;
  const live = here.live.value;
  void here.version.value;
  const count = total + live.length * 2;
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    // Tool results take no room: they are shown with their calls.
    estimateSize: (index) => (here.at(index)?.role === 'tool' ? 0 : 110),
    getItemKey: (index) => index,
  });
  // Whoever is at the end stays there while it grows; only moving up leaves it. Rows that turn out smaller than they were
  // thought to be move it up as well, and so does a box that changes its size: that is nobody's wish.
  const pinned = useRef(true);
  const wished = useRef(false);
  const wishedAt = useRef(-Infinity);
  const top = useRef(0);
  const sizes = useRef('');
  const scrolled = () => {
    // The browser tells of a scroll a moment later, when the list may be gone.
    if (!box.current) return;
    const { scrollTop: now, scrollHeight, clientHeight } = box.current;
    const end = scrollHeight - now - clientHeight < 80;
    const sizesNow = `${scrollHeight} ${clientHeight}`;
    if (end) {
      pinned.current = true;
      wished.current = false;
    } else if (now < top.current - 1 && (wished.current || sizesNow === sizes.current)) {
      pinned.current = false;
    }
    top.current = now;
    sizes.current = sizesNow;
    setAtEnd(end);
  };
  const wish = () => {
    wished.current = true;
    wishedAt.current = performance.now();
  };

  // Opens at the message that was aimed at, else at the end.
  useLayoutEffect(() => {
    if (aim.value !== undefined && aim.value < count) {
      pinned.current = false;
      virtualizer.scrollToIndex(aim.value, { align: 'start' });
    } else {
      virtualizer.scrollToEnd();
    }
    aim.value = undefined;
  }, []);

  // A message of one's own is always brought into sight.
  const latest = live.at(-1)?.key;
  useLayoutEffect(() => {
    if (latest !== undefined) pinned.current = true;
  }, [latest]);
  const height = virtualizer.getTotalSize();
  useLayoutEffect(() => {
    if (pinned.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [height, latest]);
  // Rows that change their size are made up for by moving what is in sight, also after this: that is nobody's wish either.
  useLayoutEffect(() => {
    const resting = performance.now() - wishedAt.current > kWishLasts;
    if (pinned.current && resting && box.current) box.current.scrollTop = box.current.scrollHeight;
  });

  // The list becomes smaller when more is written below it, when a keyboard comes up, when a word stands above it.
  useLayoutEffect(() => {
    const sized = new ResizeObserver(([box]) => {
      if (pinned.current) box!.target.scrollTop = box!.target.scrollHeight;
    });
    sized.observe(box.current!);
    return () => sized.disconnect();
  }, []);

  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useLayoutEffect(() => here.ensure(first, last), [first, last, here.version.value, total]);

  return (
    <div class="thread-place">
      <div
        class="thread"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        onScroll={scrolled}
        onWheel={wish}
        onTouchMove={wish}
        onKeyDown={wish}
        onPointerDown={(event) => event.target === box.current && wish()}
      >
        <div class="thread-size" style={{ height: `${height}px` }}>
          {items.map((item) => (
            <div
              key={item.key}
              data-index={item.index}
              ref={virtualizer.measureElement}
              class="thread-row"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Row here={here} index={item.index} />
            </div>
          ))}
        </div>
      </div>
      {!atEnd && (
        <button type="button" class="to-end" aria-label="To the latest message" title="To the end" onClick={() => virtualizer.scrollToEnd({ behavior: 'smooth' })}>
          <Icon name="down" />
        </button>
      )}
      <Announcer here={here} />
    </div>
  );
}

function Row({ here, index }: { here: Conversation; index: number }) {
  const total = here.total.value;
  if (index < total) return <MessageRow here={here} index={index} />;
  const exchange = here.live.value[Math.floor((index - total) / 2)];
  if (!exchange) return null;
  return (index - total) % 2 === 0 ? <SaidRow here={here} exchange={exchange} /> : <LiveAnswer here={here} exchange={exchange} />;
}

// A screen reader hears that an answer has begun, what is asked, and the whole answer once, not each word of it.
function Announcer({ here }: { here: Conversation }) {
  const running = here.running();
  const blocks = running?.turn.blocks ?? [];
  const asked = blocks.find((block) => block.kind === 'tool' && block.asked);
  const message = here.at(here.total.value - 1);
  let words = '';
  if (asked?.kind === 'tool') words = `Permission is asked for the tool ${asked.tool}.`;
  else if (running) words = 'The answer is being written.';
  else if (message?.role === 'assistant') words = message.text ?? 'The answer is complete.';
  return (
    <div class="unseen" role="status" aria-live="polite">
      {words.slice(0, 2000)}
    </div>
  );
}
