import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tertulia, TertuliaError, type TurnEvent } from '../shared/client.ts';
import { readFrames } from '../../../clients/typescript/src/sse.ts';

const frame = (number: number, text: string) =>
  `id: t.${number}\nevent: text_delta\ndata: ${JSON.stringify({ turn: 't', number, time: '', kind: 'text_delta', text })}\n\n`;
const kOutcome = 'event: outcome\ndata: {"turn":"t","session":"s","branch":"main","status":"committed","revision":2}\n\n';

interface Asked {
  path: string;
  body?: string;
  key: string | null;
}

// A server in one function: each answer is the text of a stream, an error, or a connection that cannot be made.
function client(answers: (string | ReadableStream | { status: number; body: unknown } | undefined)[]) {
  const asked: Asked[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    asked.push({ path: String(input), body: init.body as string, key: new Headers(init.headers).get('Idempotency-Key') });
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError('no connection');
    if (typeof answer === 'object' && 'status' in answer) return Response.json(answer.body, { status: answer.status });
    return new Response(answer, { headers: { 'Tertulia-Session': 's', 'Tertulia-Turn': 't' } });
  };
  return { asked, tertulia: new Tertulia({ base: 'http://x', fetch: fetch as typeof globalThis.fetch }) };
}

async function textOf(stream: AsyncIterable<TurnEvent>): Promise<string> {
  let text = '';
  for await (const event of stream) text += event.text;
  return text;
}
const kAtOnce = { backoff: () => 0 };

test('frames are read whatever the pieces they come in', async () => {
  const bytes = new TextEncoder().encode(': beat\r\nevent: a\r\ndata: ü1\ndata: 2\n\nretry: 5\n\nid: 7\ndata:x\n\n');
  for (const size of [1, 2, 3, 7, 100]) {
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const frames = [];
    for await (const one of readFrames(pieces)) frames.push(one);
    assert.deepEqual(frames, [{ event: 'a', data: 'ü1\n2', id: '' }, { event: '', data: 'x', id: '7' }]);
  }
});

test('a connection on which nothing is heard any more is taken for cut', async () => {
  const endless = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new TextEncoder().encode(frame(0, 'a'))) });
  const { asked, tertulia } = client([endless, frame(1, 'b') + kOutcome]);
  const states: string[] = [];
  const stream = tertulia.send({ session: 's', branch: 'main', message: 'hi' }, { ...kAtOnce, silence: 1, onConnection: (state) => states.push(state) });
  assert.equal(await textOf(stream), 'ab');
  assert.equal(asked.length, 2);
  assert.deepEqual(states, ['connecting', 'open', 'lost', 'lost', 'open']);
});

test('a stream that is cut is read on behind its last event, without gap and duplicate', async () => {
  const { asked, tertulia } = client([frame(0, 'a') + frame(1, 'b'), undefined, frame(1, 'b') + frame(2, 'c') + kOutcome]);
  const stream = tertulia.send({ session: 's', branch: 'main', message: 'hi' }, kAtOnce);
  assert.equal(await textOf(stream), 'abc');
  assert.equal(stream.outcome?.revision, 2);
  assert.deepEqual(asked.map(({ path }) => path), [
    'http://x/api/v1/turns',
    'http://x/api/v1/sessions/s/turns/t/events?branch=main&after=1',
    'http://x/api/v1/sessions/s/turns/t/events?branch=main&after=1',
  ]);
});

test('a message whose answer was lost is sent again with the same key', async () => {
  const { asked, tertulia } = client([undefined, { status: 503, body: { error: { code: 'shutting_down', message: '…' } } }, frame(0, 'a') + kOutcome]);
  assert.equal(await textOf(tertulia.send({ message: 'hi' }, kAtOnce)), 'a');
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map(({ key }) => key)).size, 1);
  assert.match(asked[0]!.key!, /^[0-9a-f]{32}$/);
});

test('what the server refuses is thrown with its code and its facts', async () => {
  const { tertulia } = client([{ status: 409, body: { error: { code: 'turn_running', message: 'busy', turn: 't9' } } }]);
  await assert.rejects(textOf(tertulia.send({ message: 'hi' }, kAtOnce)), (error: TertuliaError) => {
    assert.deepEqual([error.code, error.status, error.facts['turn'], error.transient], ['turn_running', 409, 't9', false]);
    return true;
  });
});

test('a turn that failed is thrown when its stream says so', async () => {
  const { tertulia } = client([frame(0, 'a') + 'event: failed\ndata: {"error":{"code":"model_unavailable","message":"m","turn":"t"}}\n\n']);
  await assert.rejects(textOf(tertulia.send({ message: 'hi' }, kAtOnce)), { code: 'model_unavailable' });
});

test('whoever aborts waits no longer', async () => {
  const { tertulia } = client([]);
  const stop = new AbortController();
  const reading = textOf(tertulia.send({ message: 'hi' }, { signal: stop.signal, backoff: () => 60_000 }));
  setImmediate(() => stop.abort(new Error('left')));
  await assert.rejects(reading, /left/);
});

test('an answer in no known form is an error and not a crash', async () => {
  const { tertulia } = client([{ status: 500, body: 'not ours' }]);
  await assert.rejects(tertulia.version(), { code: 'bad_answer', status: 500 });
});
