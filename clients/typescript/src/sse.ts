// Server-sent events out of a stream of bytes. Comments and fields that are not known are passed over.

export interface Frame {
  event: string;
  data: string;
  id: string;
}

// `silence`: milliseconds without a byte after which the stream is taken for cut; an error then.
export async function* readFrames(bytes: ReadableStream<Uint8Array>, silence?: number): AsyncGenerator<Frame> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let frame: Frame = { event: '', data: '', id: '' };
  let hasData = false;
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silence);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      let begin = 0;
      for (;;) {
        const end = rest.indexOf('\n', begin);
        if (end < 0) break;
        const line = rest.slice(begin, end > begin && rest[end - 1] === '\r' ? end - 1 : end);
        begin = end + 1;
        if (line === '') {
          if (hasData) yield frame;
          frame = { event: '', data: '', id: '' };
          hasData = false;
          continue;
        }
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (name === 'data') {
          frame.data = hasData ? `${frame.data}\n${text}` : text;
          hasData = true;
        } else if (name === 'event') {
          frame.event = text;
        } else if (name === 'id') {
          frame.id = text;
        }
      }
      rest = rest.slice(begin);
    }
  } finally {
    // Whoever stops reading early lets the connection go; it stops nothing at the server.
    reader.cancel().catch(() => {});
  }
}

async function within<T>(work: Promise<T>, milliseconds: number | undefined): Promise<T> {
  if (milliseconds === undefined) return work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing was heard for ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
