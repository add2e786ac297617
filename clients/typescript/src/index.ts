export { Tertulia, freshKey, type Ask, type ClientOptions } from './client.ts';
export { errorFrom, TertuliaError } from './error.ts';
export { readFrames, type Frame } from './sse.ts';
export { TurnStream, type Connection, type StreamOptions } from './stream.ts';
export type * from './types.ts';
