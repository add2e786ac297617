export { Tertulia, freshKey, type ClientOptions } from './client.ts';
export { TertuliaError } from './error.ts';
export { TurnStream, type Connection, type StreamOptions } from './stream.ts';
export type * from './types.ts';
